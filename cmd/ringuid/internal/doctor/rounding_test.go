package doctor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/connect"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

func TestRoughly(t *testing.T) {
	for x, want := range map[float64]string{399999.8: "400000", 400000: "400000", 1234: "1200", 99.6: "100", 12: "12", 1.26: "1.3", 1: "1", 1.0 / 30: "0.033", 4e12: "4000000000000"} {
		if got := roughly(x); got != want {
			t.Errorf("%v is roughly %s, want %s", x, got, want)
		}
	}
}

// The store has read its clock at an unknown moment of the round trip: a slow one is no reason for a warning.
func TestClockLevels(t *testing.T) {
	store, err := connect.Open(t.Context(), "redis://127.0.0.1:1", connect.Options{ClockBound: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, tt := range []struct {
		ahead, roundTrip time.Duration // ahead of the middle of the round trip
		want             Level
		text             string
	}{
		{0, 0, OK, "0s ahead of this host's (give or take 0s)"},
		{2 * time.Second, 0, OK, "2s ahead of"},
		{2001 * time.Millisecond, 0, Warning, "2.001s ahead of"},
		{-2001 * time.Millisecond, 0, Warning, "2.001s behind"},
		{10 * time.Second, 0, Warning, "allow 10s"},
		{10001 * time.Millisecond, 0, Fault, "allow 10s"},
		{-10001 * time.Millisecond, 0, Fault, "allow 10s"},
		{7 * time.Second, 10 * time.Second, OK, "(give or take 5s)"},
		{-7 * time.Second, 10 * time.Second, OK, "(give or take 5s)"},
		{7001 * time.Millisecond, 10 * time.Second, Warning, "7.001s ahead of"},
		{20 * time.Second, 10 * time.Second, Warning, "20s ahead of"},
		{20001 * time.Millisecond, 10 * time.Second, Fault, "20.001s ahead of"},
	} {
		var got []Finding
		e := &examination{store: store, report: func(f Finding) { got = append(got, f) }}
		sent := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
		e.clock(sent.Add(tt.roundTrip/2+tt.ahead), sent, sent.Add(tt.roundTrip))
		if len(got) != 1 || got[0].Level != tt.want || !strings.Contains(got[0].Text, tt.text) {
			t.Errorf("%+v: %+v", tt, got)
		}
	}
}

// The wait after a failover is explained by what each part of it is for.
func TestHistoryWait(t *testing.T) {
	var got []Finding
	e := &examination{store: new(connect.Store), report: func(f Finding) { got = append(got, f) }}
	e.history(recycled.State{History: "a", Pool: recycled.Pool{History: "a", Horizon: 75 * time.Second, Fencing: 30 * time.Second, Skew: 5 * time.Second}})
	const want = "new leases begin 1m50s later: 30s until the former server accepts no writes (fencing), 1m15s that it may have granted ahead (horizon), " +
		"and 5s for the difference of the clocks (skew)"
	if len(got) != 1 || !strings.Contains(got[0].Text, want) {
		t.Errorf("%+v, want %q", got, want)
	}
	// A process declares what its store's address says, and the floor follows from the greater one.
	store, err := connect.Open(t.Context(), "redis://127.0.0.1:1?horizon=10m", connect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	e.store = store
	e.poolState(recycled.State{HostClock: true}, time.Time{}, time.Time{})
	e.history(recycled.State{History: "a", Pool: recycled.Pool{History: "b", Horizon: time.Second, Fencing: time.Hour, Skew: 5 * time.Second}})
	if text := fmt.Sprint(got[1:]); !strings.Contains(text, "the first leases begin 10m35s later") || !strings.Contains(text, "leases begin 1h10m5s later") {
		t.Errorf("with a horizon of 10m: %s", text)
	}
}
