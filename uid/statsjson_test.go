package uid

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// sameStats compares statistics; of errors, the texts.
func sameStats(a, b Stats) bool {
	same := fmt.Sprint(a.LastError) == fmt.Sprint(b.LastError)
	a.LastError, b.LastError = nil, nil
	return same && a == b
}

func TestStatsJSON(t *testing.T) {
	for _, st := range []Stats{
		filled(t),
		{},
		(*Default)(nil).Stats(),
		newCached(t, new(disposableAssigner)).Stats(),
		newDefault(t, new(disposableAssigner), WithTwitterLayout()).Stats(),
		newCached(t, new(disposableAssigner), WithLayout(layout(t, 50, 6, 7))).Stats(), // it ends in the year 35,679,578
		{Ahead: -time.Hour, WorkerID: 1 << 60, Issued: 1<<64 - 1},
	} {
		text, err := json.Marshal(st)
		if err != nil {
			t.Errorf("Marshal(%v): %v", st, err)
			continue
		}
		back := filled(t) // of which nothing is left
		if err := json.Unmarshal(text, &back); err != nil || !sameStats(back, st) {
			t.Errorf("%s\nbecame %+v, %v;\nwant %+v", text, back, err, st)
		}
	}
	text, err := json.Marshal(filled(t))
	want := `{"worker_id":11,"format":"1-41-10-12 2026-01-01T00:00:00Z 1ms","end":"2095-09-07T15:47:35.552Z",` +
		`"lease_since":"2026-01-01T00:00:00Z","lease_until":"2026-01-01T00:01:00Z","lease_bounded":true,"worker_ids_remaining":17,"worker_ids_total":18,` +
		`"reserve_ahead":19,"lost_leases":20,"issued":21,"rejected_takes":22,` +
		`"ahead":1500000000,"rollbacks":24,"rollovers":25,"rejected_puts":26,"paddings":{"initial":28,"immediate":29,"scheduled":30,"caller":31},` +
		`"failed_paddings":32,"last_failure":"2026-01-01T01:00:00Z","dropped":34,"fill":35,"fill_level":0.25,"borrowed":37,"borrow_limit":38,` +
		`"last_error":"no database"}`
	if err != nil || string(text) != want {
		t.Errorf("Marshal() = %s, %v; want\n%s", text, err, want)
	}
}

// An error with an empty text is one all the same; the text of an error is all that is left of it.
func TestStatsJSONOfErrors(t *testing.T) {
	for _, last := range []error{errors.New(""), errNotMade} {
		text, err := json.Marshal(Stats{LastError: last})
		if err != nil {
			t.Fatal(err)
		}
		var back Stats
		if err := json.Unmarshal(text, &back); err != nil || back.LastError == nil || back.LastError.Error() != last.Error() || errors.Is(back.LastError, last) {
			t.Errorf("Unmarshal(%s): %#v, %v", text, back.LastError, err)
		}
	}
}

func TestStatsFromBadJSON(t *testing.T) {
	want := filled(t)
	for _, text := range []string{"{", `[]`, `7`, `{"issued":-1}`, `{"issued":"7"}`, `{"paddings":7}`, `{"last_error":7}`, `{"format":"x"}`, `{"format":""}`, `{"worker_id":1.5}`} {
		got := want
		if err := got.UnmarshalJSON([]byte(text)); err == nil || got != want {
			t.Errorf("UnmarshalJSON(%s) left %+v, %v", text, got, err)
		}
	}
	got := want
	if err := json.Unmarshal([]byte(`{"format":"1-28-22-13"}`), &got); !errors.Is(err, ErrOption) || got != want {
		t.Errorf("a bad format left %v, %v; want ErrOption", got, err)
	}
	if err := json.Unmarshal([]byte("null"), &got); err != nil || got != want {
		t.Errorf("null left %v, %v", got, err)
	}
	if err := json.Unmarshal([]byte(`{"issued":7,"other":[]}`), &got); err != nil || got != (Stats{Issued: 7}) {
		t.Errorf("a field alone: %+v, %v; want the others to be zero", got, err)
	}
	var none *Stats
	if err := none.UnmarshalJSON([]byte("{}")); !errors.Is(err, ErrOption) {
		t.Errorf("into nil Stats: %v, want ErrOption", err)
	}
}

// FuzzStatsJSON: what reads as statistics is written and read again as the same.
func FuzzStatsJSON(f *testing.F) {
	f.Add(`{}`)
	f.Add(`{"worker_id":11,"format":"1-41-10-12 2026-01-01T00:00:00Z 1ms","end":"x","ahead":-1,"paddings":{"initial":21},"fill_level":0.25,"last_error":""}`)
	f.Add(`{"format":"1-61-1-1 9999-01-01T00:00:00Z 1s","fill_level":1e300}`)
	f.Fuzz(func(t *testing.T, text string) {
		var st, back Stats
		if err := json.Unmarshal([]byte(text), &st); err != nil {
			if st != (Stats{}) {
				t.Errorf("Unmarshal(%q) left %+v, %v", text, st, err)
			}
			return
		}
		again, err := json.Marshal(st)
		if err != nil {
			t.Fatalf("Unmarshal(%q) = %+v, and Marshal: %v", text, st, err)
		}
		if err := json.Unmarshal(again, &back); err != nil || !sameStats(back, st) {
			t.Errorf("%s became %+v, %v; want %+v", again, back, err, st)
		}
	})
}

// A time in the years 1 to 9999 has a JSON form, and is left out in other years.
func TestStatsJSONYears(t *testing.T) {
	for year, want := range map[int]bool{0: false, 1: true, 9999: true, 10000: false} {
		b, err := json.Marshal(Stats{LeaseSince: time.Date(year, 5, 6, 7, 8, 9, 0, time.UTC)})
		if err != nil || strings.Contains(string(b), `"lease_since":`) != want {
			t.Errorf("the year %d: %s, %v", year, b, err)
		}
	}
}
