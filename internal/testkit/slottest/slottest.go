// Package slottest has what tests of pools of recycled worker IDs have in common.
package slottest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// New returns an assigner on a pool that CreatePool has created, now or before.
func New(tb testing.TB, s recycled.Store, opts ...recycled.Option) *recycled.Assigner {
	tb.Helper()
	testkit.Retry(tb, "the pool is created", func() error { // a primary may have no replicas yet, which must acknowledge it
		err := recycled.CreatePool(context.Background(), s, opts...)
		if errors.Is(err, recycled.ErrPoolExists) {
			return nil
		}
		return err
	})
	return recycled.New(s, opts...)
}

// Swap returns the write of a pool, unless it is nil, and of slots that replaces the records of a state that was read.
func Swap(s recycled.State, pool *recycled.Pool, slots ...recycled.Slot) recycled.Write {
	w := recycled.Write{History: s.History, Pool: pool, ReplacedPool: &s.Pool, Slots: slots, Replaced: make([]recycled.Slot, len(slots))}
	for i, slot := range slots {
		for _, old := range s.Slots {
			if old.WorkerID == slot.WorkerID && slot.Revision > 1 {
				w.Replaced[i] = old
			}
		}
	}
	return w
}

// Read reads from a store that works, and sorts the slots.
func Read(tb testing.TB, s recycled.Store, q recycled.Query) recycled.State {
	tb.Helper()
	state, err := s.Read(context.Background(), q)
	if err != nil {
		tb.Fatal(err)
	}
	slices.SortFunc(state.Slots, func(a, b recycled.Slot) int { return cmp.Compare(a.WorkerID, b.WorkerID) })
	return state
}

// WantWritten makes a write, and fails the test unless that returns want.
func WantWritten(tb testing.TB, s recycled.Store, want bool, w recycled.Write) {
	tb.Helper()
	if written, err := s.Write(context.Background(), w); written != want || err != nil {
		tb.Fatalf("Write(%+v) = %v, %v; want %v", w, written, err, want)
	}
}

// Pool returns a pool whose fields all differ from their zero values.
func Pool(history string) recycled.Pool {
	return recycled.Pool{Revision: 1, Format: "1-28-22-13 é 主 \\ ' \" % ", First: 5, Slots: 2, History: history, Since: at(1_800_000_000_001),
		Floor: at(1_800_000_000_002), Horizon: 75 * time.Second, Fencing: 30 * time.Second, Skew: 5001 * time.Millisecond}
}

// Slot returns a slot whose fields all differ from their zero values.
func Slot(history string, workerID int64) recycled.Slot {
	return recycled.Slot{WorkerID: workerID, Revision: 1, Token: fmt.Sprint("token", workerID), From: at(9_800_000_000_001), Until: at(9_800_000_000_999),
		History: history, Written: at(1_800_000_000_003), FreeAt: at(1_800_000_000_004),
		Holder: recycled.Holder{Name: "naïve 'name' \\ 主机 ", Host: "host", Process: "1 2", Since: at(1_800_000_000_005)}}
}

// at returns the time of Unix milliseconds.
func at(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// A Queue is a store whose server executes one call after the other. The calls of all clients of the server wait for each other.
type Queue struct {
	recycled.Store
	Server chan struct{} // has capacity 1: the call that has filled it is being executed
	Call   time.Duration // how long a call takes
}

// execute waits for the calls before this one, and for this one.
func (q Queue) execute(ctx context.Context) error {
	select {
	case q.Server <- struct{}{}:
		time.Sleep(q.Call)
		<-q.Server
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Read implements recycled.Store.
func (q Queue) Read(ctx context.Context, query recycled.Query) (recycled.State, error) {
	if err := q.execute(ctx); err != nil {
		return recycled.State{}, err
	}
	return q.Store.Read(ctx, query)
}

// Write implements recycled.Store.
func (q Queue) Write(ctx context.Context, w recycled.Write) (bool, error) {
	if err := q.execute(ctx); err != nil {
		return false, err
	}
	return q.Store.Write(ctx, w)
}
