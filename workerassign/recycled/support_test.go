package recycled

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"
)

// quiet discards log records.
var quiet = WithLogger(slog.New(slog.DiscardHandler))

// start is the start time of the clocks of tests.
var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

var errCrash = errors.New("crash")

// mustReadSlots reads from a store that works.
func mustReadSlots(t testing.TB, s Store, q Query) State {
	t.Helper()
	state, err := s.Read(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return state
}
