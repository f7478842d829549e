package uid

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// testdata/parse.csv holds what the original's parse prints, in UTC.
func TestParseAgreesWithTheOriginal(t *testing.T) {
	data, err := os.ReadFile("testdata/parse.csv")
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(rows) != 145 {
		t.Fatalf("%d rows, want 145 with the heading", len(rows))
	}
	for _, line := range rows[1:] {
		row := strings.SplitN(line, ";", 6)
		number := func(i int) int {
			n, err := strconv.Atoi(row[i])
			if err != nil {
				t.Fatalf("%v: %v", row, err)
			}
			return n
		}
		epoch, err := time.Parse(time.DateOnly, row[3])
		if err != nil {
			t.Fatal(err)
		}
		f, err := NewFormat(WithLayout(layout(t, number(0), number(1), number(2))), WithEpoch(epoch))
		if err != nil {
			t.Fatal(err)
		}
		id, err := ParseID(row[4])
		if err != nil {
			t.Fatal(err)
		}
		p := f.Parse(id)
		got, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != row[5] || p.String() != row[5] {
			t.Errorf("%v:\n got %s\nwant %s", row[:5], got, row[5])
		}
		back, err := f.Compose(p.Time, p.WorkerID, p.Sequence)
		if err != nil || back != id {
			t.Errorf("Compose(%v) = %d, %v; want %d", p, back, err, id)
		}
	}
}

// D10: the original reads the epoch in the local time zone, so that hosts in different
// zones disagree about every UID. Here an epoch is an instant, whatever zone it comes in,
// and times come in UTC.
func TestD10EpochIsAnInstant(t *testing.T) {
	instant := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	want, err := NewFormat(WithEpoch(instant))
	if err != nil {
		t.Fatal(err)
	}
	for _, zone := range []*time.Location{time.FixedZone("east", 8*3600), time.FixedZone("west", -7*3600), time.Local} {
		f, err := NewFormat(WithEpoch(instant.In(zone)))
		if err != nil {
			t.Fatal(err)
		}
		if f != want {
			t.Errorf("in zone %v the format is %+v, want %+v", zone, f, want)
		}
		if p := f.Parse(1 << 35); p.Time.Location() != time.UTC || !p.Time.Equal(instant.Add(time.Second)) {
			t.Errorf("in zone %v the time is %v", zone, p.Time)
		}
	}
	if e := DefaultEpoch(); e.Location() != time.UTC || e.Format(time.RFC3339) != "2026-01-01T00:00:00Z" {
		t.Errorf("the default epoch is %v", e)
	}
}

// Invariant 5, of Compose: a part that does not fit is an error.
func TestComposeRefusesWhatDoesNotFit(t *testing.T) {
	f, err := NewFormat()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name             string
		at               time.Time
		worker, sequence int64
		want             string
	}{
		{"before the epoch", f.Epoch().Add(-1), 1, 0, "2025-12-31T23:59:59.999999999Z"},
		{"at the end", f.End(), 1, 0, f.End().Format(time.RFC3339)},
		{"far beyond the end", time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), 1, 0, "9999-01-01"},
		{"negative worker ID", f.Epoch(), -1, 0, "-1"},
		{"worker ID beyond the layout", f.Epoch(), 1 << 22, 0, "4194304"},
		{"negative sequence", f.Epoch(), 1, -1, "-1"},
		{"sequence beyond the layout", f.Epoch(), 1, 1 << 13, "8192"},
	} {
		id, err := f.Compose(tt.at, tt.worker, tt.sequence)
		if !errors.Is(err, ErrRange) || !strings.Contains(err.Error(), tt.want) || id != 0 {
			t.Errorf("%s: Compose() = %d, %v; want 0, ErrRange with %q", tt.name, id, err, tt.want)
		}
	}
	first, err := f.Compose(f.Epoch(), 0, 0)
	if err != nil || first != 0 {
		t.Errorf("the first UID is %d, %v", first, err)
	}
	last, err := f.Compose(f.End().Add(-1), 1<<22-1, 1<<13-1)
	if err != nil || last != math.MaxInt64 {
		t.Errorf("the last UID is %d, %v; want %d", last, err, int64(math.MaxInt64))
	}
}

func TestIDText(t *testing.T) {
	for _, id := range []ID{0, 1, 1<<53 + 1, math.MaxInt64} {
		if back, err := ParseID(id.String()); err != nil || back != id {
			t.Errorf("ParseID(%q) = %d, %v", id.String(), back, err)
		}
		text, err := json.Marshal(id)
		if err != nil || string(text) != `"`+id.String()+`"` {
			t.Errorf("Marshal(%d) = %s, %v; want a string, which JavaScript does not round", id, text, err)
		}
		var back ID
		if err := json.Unmarshal(text, &back); err != nil || back != id {
			t.Errorf("Unmarshal(%s) = %d, %v", text, back, err)
		}
		if err := json.Unmarshal([]byte(id.String()), &back); err != nil || back != id {
			t.Errorf("Unmarshal of the number %d = %d, %v", id, back, err)
		}
	}
	for _, bad := range []string{"", "-1", "+1", "1e3", "0x1", " 1", "1_000", "9223372036854775808", "١"} {
		id := ID(42)
		err := id.UnmarshalText([]byte(bad))
		if !errors.Is(err, ErrRange) || !strings.Contains(err.Error(), strconv.Quote(bad)) || id != 42 {
			t.Errorf("UnmarshalText(%q) left %d, %v; want 42, ErrRange with the text", bad, id, err)
		}
	}
	var kept struct{ A, B ID }
	kept.A = 7
	if err := json.Unmarshal([]byte(`{"A":null,"B":"8"}`), &kept); err != nil || kept.A != 7 || kept.B != 8 {
		t.Errorf("Unmarshal of null and 8 = %v, %v", kept, err)
	}
	for _, bad := range []string{`"`, `""`, `true`, `[1]`, `1.0`, `-1`} {
		var id ID
		if err := json.Unmarshal([]byte(bad), &id); err == nil {
			t.Errorf("Unmarshal(%s) = %d, want an error", bad, id)
		}
	}
}

func FuzzParseID(f *testing.F) {
	for _, s := range []string{"0", "1", "9223372036854775807", "9223372036854775808", "-1", "007", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParseID(s)
		if err != nil {
			if id != 0 || !errors.Is(err, ErrRange) {
				t.Errorf("ParseID(%q) = %d, %v", s, id, err)
			}
			return
		}
		if id < 0 || s != id.String() {
			t.Errorf("ParseID(%q) = %d", s, id)
		}
	})
}
