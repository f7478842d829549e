package workerassign

import (
	"context"
	"time"
)

// disposableLease is a lease on a worker ID that was never used before and is never used again. It
// has no start and no end, and Release does nothing.
type disposableLease int64

func (l disposableLease) WorkerID() int64      { return int64(l) }
func (l disposableLease) NotBefore() time.Time { return time.Time{} }

func (l disposableLease) Reserve(context.Context, time.Time) (time.Time, error) {
	return Unbounded(), nil
}

func (l disposableLease) Release(context.Context, time.Time) error { return nil }

func (l disposableLease) Remaining(maxWorkerID int64) (remaining, total int64) {
	return max(maxWorkerID-int64(l), 0), maxWorkerID
}
