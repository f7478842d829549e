//go:build !race

package opaque

import "testing"

// Neither direction allocates. With the race detector, a sync.Pool drops some of what is put.
func TestAllocations(t *testing.T) {
	c := newCodec(t, "orders", testKey(t, 'a'))
	b := make([]byte, 0, 64)
	text := encode(t, c, 7)
	if n := testing.AllocsPerRun(1000, func() { b = must(c.Append(b[:0], 7)) }); n != 0 {
		t.Errorf("Append allocates %v times", n)
	}
	if n := testing.AllocsPerRun(1000, func() { _, _ = c.Decode(text) }); n != 0 {
		t.Errorf("Decode allocates %v times", n)
	}
}
