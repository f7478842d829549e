package uid

import (
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/workerassign"
)

var (
	_ encoding.TextAppender    = Format{}
	_ encoding.TextMarshaler   = Format{}
	_ encoding.TextUnmarshaler = (*Format)(nil)
	_ fmt.Stringer             = Format{}
)

// newFormat makes a format of options that are known to be good.
func newFormat(tb testing.TB, opts ...any) Format {
	tb.Helper()
	f, err := NewFormat(accepted[FormatOption](opts)...)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// A format's text reads back as an equal format, by each way there is.
func TestFormatText(t *testing.T) {
	for _, tt := range []struct {
		text string
		opts []any
	}{
		{"1-28-22-13 2026-01-01T00:00:00Z 1s", nil},
		{"1-41-10-12 2026-01-01T00:00:00Z 1ms", []any{WithTwitterLayout()}},
		{"1-40-2-8 2016-05-20T13:14:15Z 10ms", []any{WithLayout(layout(t, 40, 2, 8)), WithTimeUnit(10 * time.Millisecond),
			WithEpoch(time.Date(2016, 5, 20, 21, 14, 15, 0, time.FixedZone("east", 8*3600)))}},
		{"1-61-1-1 0001-01-01T00:00:01Z 1s", []any{WithLayout(layout(t, 61, 1, 1)), WithEpoch(time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC))}},
		{"1-1-1-61 9999-12-31T23:59:59Z 500ms", []any{WithLayout(layout(t, 1, 1, 61)), WithTimeUnit(time.Second / 2),
			WithEpoch(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC))}},
		{"1-28-22-13 2026-01-01T00:00:00Z 1.953125ms", []any{WithTimeUnit(time.Second / 512)}},
	} {
		f := newFormat(t, tt.opts...)
		if s := f.String(); s != tt.text || fmt.Sprint(f) != s {
			t.Errorf("String() = %q, want %q", s, tt.text)
		}
		if b, err := f.AppendText([]byte("format=")); err != nil || string(b) != "format="+tt.text {
			t.Errorf("AppendText() = %q, %v; want it with %q", b, err, tt.text)
		}
		if back, err := ParseFormat(tt.text); err != nil || back != f {
			t.Errorf("ParseFormat(%q) = %v, %v; want an equal format", tt.text, back, err)
		}
		text, err := json.Marshal(f)
		if err != nil || string(text) != strconv.Quote(tt.text) {
			t.Errorf("Marshal() = %s, %v; want the string %q", text, err, tt.text)
		}
		var back Format
		if err := json.Unmarshal(text, &back); err != nil || back != f {
			t.Errorf("Unmarshal(%s) = %v, %v", text, back, err)
		}
	}
}

// Every time unit that WithTimeUnit accepts reads back.
func TestFormatTextOfEveryUnit(t *testing.T) {
	units := 0
	for n := time.Duration(1); n <= 1000; n++ {
		if time.Second%n != 0 {
			continue
		}
		units++
		f := newFormat(t, WithTimeUnit(time.Second/n))
		if back, err := ParseFormat(f.String()); err != nil || back != f {
			t.Errorf("ParseFormat(%q) = %v, %v", f, back, err)
		}
	}
	if units < 16 {
		t.Errorf("%d units were tried", units)
	}
}

func TestParseFormatIsStrict(t *testing.T) {
	const form = "1-28-22-13 2026-01-01T00:00:00Z 1s"
	for _, tt := range []struct{ text, part string }{
		{"", `""`},
		{" ", `" "`},
		{"1-28-22-13", `"1-28-22-13"`},
		{"1-28-22-13 2026-01-01T00:00:00Z", "form"},
		{form + " ", "form"},
		{" " + form, "form"},
		{form + "\n", `"1s\n"`},
		{strings.Replace(form, " ", "  ", 1), "form"},
		{strings.ReplaceAll(form, " ", "\t"), "form"},
		{form + "; divided by 2 bits", "form"},

		{"28-22-13 2026-01-01T00:00:00Z 1s", `"28-22-13"`},
		{"1-028-22-13 2026-01-01T00:00:00Z 1s", `"028"`},
		{"1-28-22-14 2026-01-01T00:00:00Z 1s", "14 sequence bits"},
		{"1-0-22-13 2026-01-01T00:00:00Z 1s", "0 time"},

		{"1-28-22-13 2026-01-01 1s", `epoch "2026-01-01"`},
		{"1-28-22-13 2026-01-01T00:00:00 1s", `epoch "2026-01-01T00:00:00"`},
		{"1-28-22-13 2026-01-01T00:00:00+00:00 1s", "+00:00"},
		{"1-28-22-13 2026-01-01T08:00:00+08:00 1s", "+08:00"},
		{"1-28-22-13 2026-01-01T00:00:00z 1s", "00z"},
		{"1-28-22-13 2026-01-01T00:00:00.0Z 1s", "00.0Z"},
		{"1-28-22-13 2026-01-01T00:00:00.5Z 1s", "00.5Z"},
		{"1-28-22-13 2026-01-01T00:00:00,5Z 1s", "00,5Z"},
		{"1-28-22-13 2026-02-29T00:00:00Z 1s", "02-29"},
		{"1-28-22-13 2026-01-01T24:00:00Z 1s", "24:"},
		{"1-28-22-13 2026-01-01T0:00:00Z 1s", "T0:"},
		{"1-28-22-13 0000-01-01T00:00:00Z 1s", "0000-01-01"},
		{"1-28-22-13 0001-01-01T00:00:00Z 1s", "epoch"}, // the zero time
		{"1-28-22-13 10000-01-01T00:00:00Z 1s", "10000-"},
		{"1-28-22-13 -001-01-01T00:00:00Z 1s", "-001"},

		{"1-28-22-13 2026-01-01T00:00:00Z 1", `time unit "1"`},
		{"1-28-22-13 2026-01-01T00:00:00Z 1000ms", `time unit "1000ms"`},
		{"1-28-22-13 2026-01-01T00:00:00Z 1.0s", `time unit "1.0s"`},
		{"1-28-22-13 2026-01-01T00:00:00Z +1s", `time unit "+1s"`},
		{"1-28-22-13 2026-01-01T00:00:00Z -1s", "time unit"},
		{"1-28-22-13 2026-01-01T00:00:00Z 0s", "time unit"},
		{"1-28-22-13 2026-01-01T00:00:00Z 2s", "time unit"},
		{"1-28-22-13 2026-01-01T00:00:00Z 7ms", "time unit"},
		{"1-28-22-13 2026-01-01T00:00:00Z 100µs", "time unit"},
		{"1-28-22-13 2026-01-01T00:00:00Z 1e3ms", `time unit "1e3ms"`},
		{"1-28-22-13 2026-01-01T00:00:00Z ", `time unit ""`},
	} {
		f, err := ParseFormat(tt.text)
		if f != (Format{}) || !errors.Is(err, ErrOption) {
			t.Errorf("ParseFormat(%q) = %v, %v; want ErrOption", tt.text, f, err)
			continue
		}
		for _, want := range []string{strconv.Quote(tt.text), tt.part, `"` + form + `"`} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("ParseFormat(%q): %v; want it to have %s", tt.text, err, want)
			}
		}
		kept := newFormat(t, WithTwitterLayout())
		if err := kept.UnmarshalText([]byte(tt.text)); !errors.Is(err, ErrOption) || kept != newFormat(t, WithTwitterLayout()) {
			t.Errorf("UnmarshalText(%q) left %v, %v", tt.text, kept, err)
		}
	}
	if _, err := ParseFormat("1-28-22-14 2026-01-01T00:00:00Z 1s"); !errors.Is(err, bitsalloc.ErrLayout) {
		t.Errorf("a bad layout: %v, want bitsalloc.ErrLayout too", err)
	}
}

// The zero Format has no text, and is left out of JSON where its field says omitzero.
func TestZeroFormatText(t *testing.T) {
	var f Format
	if s := f.String(); s != "" {
		t.Errorf("String() = %q, want none", s)
	}
	if b, err := f.MarshalText(); b != nil || !errors.Is(err, ErrOption) {
		t.Errorf("MarshalText() = %q, %v; want ErrOption", b, err)
	}
	if b, err := f.AppendText([]byte("x")); string(b) != "x" || !errors.Is(err, ErrOption) {
		t.Errorf("AppendText() = %q, %v; want ErrOption and what was there", b, err)
	}
	if _, err := json.Marshal(f); !errors.Is(err, ErrOption) {
		t.Errorf("Marshal(): %v, want ErrOption", err)
	}
	type settings struct {
		Format Format `json:"format,omitzero"`
	}
	if text, err := json.Marshal(settings{}); err != nil || string(text) != "{}" {
		t.Errorf("Marshal() with omitzero = %s, %v", text, err)
	}
	var none *Format
	if err := none.UnmarshalText([]byte("1-28-22-13 2026-01-01T00:00:00Z 1s")); !errors.Is(err, ErrOption) {
		t.Errorf("into a nil Format: %v, want ErrOption", err)
	}
	kept := settings{newFormat(t)}
	if err := json.Unmarshal([]byte(`{"format":null}`), &kept); err != nil || kept.Format != newFormat(t) {
		t.Errorf("null left %v, %v", kept.Format, err)
	}
	if err := json.Unmarshal([]byte(`{"format":7}`), &kept); err == nil || kept.Format != newFormat(t) {
		t.Errorf("a number left %v, %v", kept.Format, err)
	}
}

// What a generator says of itself to an assigner is its format's text.
func TestRequestHasTheFormat(t *testing.T) {
	for _, mode := range modes {
		a := &formatSeen{Assigner: new(disposableAssigner)}
		g, err := mode.make(t.Context(), a, WithTwitterLayout())
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		if f, err := ParseFormat(a.format); err != nil || f != newFormat(t, WithTwitterLayout()) {
			t.Errorf("%s: the request's format is %q: %v", mode.name, a.format, err)
		}
	}
}

// FuzzParseFormat: what is a format is written as it was read.
func FuzzParseFormat(f *testing.F) {
	for _, s := range []string{
		"", "1-28-22-13 2026-01-01T00:00:00Z 1s", "1-41-10-12 9999-12-31T23:59:59Z 1ms", "1-61-1-1 0001-01-01T00:00:01Z 1.25ms",
		"1-28-22-13 2026-01-01T00:00:00+00:00 1s", "1-28-22-13 2026-01-01T00:00:00.000Z 1000ms", "1-28-22-13 2026-1-1T00:00:00Z 01s",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseFormat(s)
		if err != nil {
			if got != (Format{}) || !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), strconv.Quote(s)) {
				t.Errorf("ParseFormat(%q) = %v, %v", s, got, err)
			}
			return
		}
		if got.String() != s {
			t.Errorf("ParseFormat(%q).String() = %q", s, got)
		}
		if back := newFormat(t, WithLayout(got.Layout()), WithEpoch(got.Epoch()), WithTimeUnit(got.Unit())); back != got {
			t.Errorf("ParseFormat(%q) = %v, and its parts make %v", s, got, back)
		}
	})
}

// formatSeen keeps the format of the last request.
type formatSeen struct {
	workerassign.Assigner
	format string
}

func (a *formatSeen) Assign(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
	a.format = r.Format
	return a.Assigner.Assign(ctx, r)
}
