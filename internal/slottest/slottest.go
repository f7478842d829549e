// Package slottest has what tests of pools of recycled worker IDs have in common.
package slottest

import (
	"context"
	"errors"
	"testing"

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
