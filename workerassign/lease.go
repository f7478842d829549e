package workerassign

import (
	"context"
	"time"
)

// disposableLease is a worker ID that was never used before and never will be again: it has
// neither a beginning nor an end, and nothing to give back.
type disposableLease int64

func (l disposableLease) WorkerID() int64      { return int64(l) }
func (l disposableLease) NotBefore() time.Time { return time.Time{} }

func (l disposableLease) Reserve(context.Context, time.Time) (time.Time, error) {
	return Unbounded(), nil
}

func (l disposableLease) Release(context.Context, time.Time) error { return nil }

func (l disposableLease) Remaining(most int64) (remaining, all int64) {
	return max(most-int64(l), 0), most
}
