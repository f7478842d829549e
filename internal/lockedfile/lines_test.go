package lockedfile

import (
	"math"
	"testing"
)

// What an Encoder writes, a Decoder reads, and nothing else.
func TestLines(t *testing.T) {
	var e Encoder
	e.Out = append(e.Out, "header v1"...)
	e.Texts("", "a b", "q\"\\\n\xff é")
	e.Begin("line")
	e.Numbers(0, -5, math.MaxInt64)
	data := AppendChecksum(append(e.Out, '\n'))
	lines, ok := CutChecksum(data)
	if !ok {
		t.Fatalf("CutChecksum(%q) failed", data)
	}
	d := Decoder{Rest: string(lines)}
	d.Prefix("header v1")
	if a, b, c := d.Text(), d.Text(), d.Text(); a != "" || b != "a b" || c != "q\"\\\n\xff é" {
		t.Errorf("texts %q %q %q", a, b, c)
	}
	d.Prefix("\nline")
	if a, b, c := d.Number(), d.Number(), d.Number(); a != 0 || b != -5 || c != math.MaxInt64 {
		t.Errorf("numbers %d %d %d", a, b, c)
	}
	if d.Prefix("\n"); d.Failed || d.Rest != "" {
		t.Errorf("failed %v, rest %q", d.Failed, d.Rest)
	}
	for n := range data {
		if _, ok := CutChecksum(data[:n]); ok {
			t.Errorf("the first %d bytes have the right checksum", n)
		}
		changed := append([]byte(nil), data...)
		changed[n] ^= 4
		if _, ok := CutChecksum(changed); ok {
			t.Errorf("the content is accepted with another byte %d", n)
		}
	}
	for _, wrong := range []string{"", " ", " x", " 9223372036854775808", `"a"`} {
		d := Decoder{Rest: wrong}
		if n := d.Number(); !d.Failed || n != 0 {
			t.Errorf("Number of %q = %d, failed %v", wrong, n, d.Failed)
		}
		d = Decoder{Rest: wrong}
		if s := d.Text(); !d.Failed || s != "" {
			t.Errorf("Text of %q = %q, failed %v", wrong, s, d.Failed)
		}
	}
}
