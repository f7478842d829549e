package uid

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/ringbuffer"
)

func TestStatsJSON(t *testing.T) {
	for _, st := range []Stats{
		{},
		newCached(t, new(disposableAssigner)).Stats(),
		newDefault(t, new(disposableAssigner), WithTwitterLayout()).Stats(),
		newCached(t, new(disposableAssigner), WithLayout(layout(t, 50, 6, 7))).Stats(), // it ends in the year 35,679,578
		{Ahead: -time.Hour, WorkerID: 1 << 60, Issued: 1<<64 - 1},
	} {
		text, err := json.Marshal(st)
		var back struct {
			WorkerID int64         `json:"worker_id"`
			Issued   uint64        `json:"issued"`
			Ahead    time.Duration `json:"ahead"`
			Format   Format        `json:"format"`
			End      string        `json:"end"`
			Ring     *struct {
				Fill uint64 `json:"fill"`
			} `json:"ring"`
		}
		if err != nil || json.Unmarshal(text, &back) != nil || back.WorkerID != st.WorkerID || back.Issued != st.Issued || back.Ahead != st.Ahead || back.Format != st.Format {
			t.Errorf("Marshal(%v) = %s, %v", st, text, err)
		}
		if hasRing := st.Ring.CapacityRuns > 0; (back.Ring != nil) != hasRing || hasRing && back.Ring.Fill != st.Ring.Fill {
			t.Errorf("the ring %v has the JSON %s", st.Ring, text)
		}
		if !st.End.IsZero() && back.End != st.End.Format(time.RFC3339Nano) {
			t.Errorf("the end %v has the JSON %s", st.End, text)
		}
	}
	text, err := json.Marshal(filled(t))
	want := `{"worker_id":11,"format":"1-41-10-12 2026-01-01T00:00:00Z 1ms","end":"2095-09-07T15:47:35.552Z",` +
		`"lease_since":"2026-01-01T00:00:00Z","lease_until":"2026-01-01T00:01:00Z","lease_bounded":true,"worker_ids_remaining":17,"worker_ids_total":18,` +
		`"reserve_ahead":19,"lost_leases":20,"void_leases":21,"issued":22,"rejected_takes":23,"ahead":1500000000,"rollbacks":25,"rollovers":26,"borrowed":27,"borrow_limit":28,` +
		`"ring":{"taken":30,"dropped":31,"rejected_takes":32,"rejected_puts":33,"paddings":{"initial":1,"immediate":2,"scheduled":3,"caller":4},` +
		`"failed_paddings":35,"fill":36,"fill_level":0.25,"fill_runs":2,"capacity_runs":8,"oldest":39,"newest":40,` +
		`"last_failure":"2026-01-01T01:00:00Z","last_error":"no database"}}`
	if err != nil || string(text) != want {
		t.Errorf("Marshal() = %s, %v; want\n%s", text, err, want)
	}
}

// An error with an empty text is one all the same.
func TestStatsJSONOfErrors(t *testing.T) {
	text, err := json.Marshal(Stats{Ring: ringbuffer.Stats{LastError: errors.New("")}})
	if err != nil || !strings.Contains(string(text), `"last_error":""`) {
		t.Errorf("Marshal() = %s, %v", text, err)
	}
}

// A time beyond the year 9999 has the digits that it needs.
func TestStatsJSONYears(t *testing.T) {
	for year, want := range map[int]string{1: "0001-", 9999: "9999-", 10000: "10000-"} {
		b, err := json.Marshal(Stats{LeaseSince: time.Date(year, 5, 6, 7, 8, 9, 0, time.UTC)})
		if err != nil || !strings.Contains(string(b), `"lease_since":"`+want) {
			t.Errorf("the year %d: %s, %v", year, b, err)
		}
	}
}
