package uid

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestStatsJSON(t *testing.T) {
	for _, st := range []Stats{
		{},
		(*Default)(nil).Stats(),
		newCached(t, new(disposableAssigner)).Stats(),
		newDefault(t, new(disposableAssigner), WithTwitterLayout()).Stats(),
		newCached(t, new(disposableAssigner), WithLayout(layout(t, 50, 6, 7))).Stats(), // it ends in the year 35,679,578
		{Ahead: -time.Hour, WorkerID: 1 << 60, Issued: 1<<64 - 1},
	} {
		text, err := json.Marshal(st)
		var back statsJSON
		if err != nil || json.Unmarshal(text, &back) != nil || back.WorkerID != st.WorkerID || back.Issued != st.Issued || back.Ahead != st.Ahead || back.Format != st.Format {
			t.Errorf("Marshal(%v) = %s, %v", st, text, err)
		}
	}
	text, err := json.Marshal(filled(t))
	want := `{"worker_id":11,"format":"1-41-10-12 2026-01-01T00:00:00Z 1ms","end":"2095-09-07T15:47:35.552Z",` +
		`"lease_since":"2026-01-01T00:00:00Z","lease_until":"2026-01-01T00:01:00Z","lease_bounded":true,"worker_ids_remaining":17,"worker_ids_total":18,` +
		`"reserve_ahead":19,"lost_leases":20,"issued":21,"rejected_takes":22,` +
		`"ahead":1500000000,"rollbacks":24,"rollovers":25,"paddings":{"initial":27,"immediate":28,"scheduled":29,"caller":30},` +
		`"failed_paddings":31,"last_failure":"2026-01-01T01:00:00Z","dropped":33,"fill":34,"fill_level":0.25,"borrowed":36,"borrow_limit":37,` +
		`"last_error":"no database"}`
	if err != nil || string(text) != want {
		t.Errorf("Marshal() = %s, %v; want\n%s", text, err, want)
	}
}

// An error with an empty text is one all the same.
func TestStatsJSONOfErrors(t *testing.T) {
	text, err := json.Marshal(Stats{LastError: errors.New("")})
	if err != nil || !strings.Contains(string(text), `"last_error":""`) {
		t.Errorf("Marshal() = %s, %v", text, err)
	}
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
