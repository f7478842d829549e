//go:build unix

// Package slottabletests tests slot tables of workerassign against servers that fail: it takes long, and so
// runs next to the tests of workerassign.
package slottabletests

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

func TestMain(m *testing.M) { testkit.RunParallel(m, 6) }

// recycledRequest returns a request to an assigner of recycled worker IDs.
func recycledRequest() workerassign.Request {
	return workerassign.Request{MaxWorkerID: 1023, Format: "test"}
}

// mustLease takes a lease and reserves time up to d from now.
func mustLease(t *testing.T, r *recycled.Assigner, d time.Duration) (workerassign.Lease, time.Time) {
	t.Helper()
	l, err := r.Assign(t.Context(), recycledRequest())
	if err != nil {
		t.Fatal(err)
	}
	until, err := l.Reserve(t.Context(), time.Now().Add(d))
	if err != nil {
		t.Fatal(err)
	}
	return l, until.Until
}

// mustRead reads a pool.
func mustRead(t *testing.T, s recycled.Store, q recycled.Query) recycled.State {
	t.Helper()
	state, err := s.Read(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(state.Slots, func(a, b recycled.Slot) int { return int(a.WorkerID - b.WorkerID) })
	return state
}

// wantWritten makes a write and checks its result.
func wantWritten(t *testing.T, s recycled.Store, want bool, w recycled.Write) {
	t.Helper()
	if ok, err := s.Write(t.Context(), w); ok != want || err != nil {
		t.Errorf("Write() = %v, %v; want %v", ok, err, want)
	}
}

// testPool returns a pool whose fields all differ from their zero values.
func testPool(history string) recycled.Pool {
	return recycled.Pool{Revision: 1, Format: "1-28-22-13 é 主 \\ ' \" % ", First: 5, Slots: 2, History: history, Since: at(1_800_000_000_001),
		Floor: at(1_800_000_000_002), Horizon: 75 * time.Second, Fencing: 30 * time.Second, Skew: 5001 * time.Millisecond}
}

func testSlot(history string, workerID int64) recycled.Slot {
	return recycled.Slot{WorkerID: workerID, Revision: 1, Token: fmt.Sprint("token", workerID), From: at(9_800_000_000_001), Until: at(9_800_000_000_999),
		History: history, Written: at(1_800_000_000_003), FreeAt: at(1_800_000_000_004),
		Holder: recycled.Holder{Name: "naïve 'name' \\ 主机 ", Host: "host", Process: "1 2", Since: at(1_800_000_000_005)}}
}

// discardLog returns an option that discards log records, for tests that cause warnings.
func discardLog() workerassign.Option { return workerassign.WithLogger(slog.New(slog.DiscardHandler)) }

// at returns the time of Unix milliseconds.
func at(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
