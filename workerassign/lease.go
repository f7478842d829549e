package workerassign

import (
	"context"
	"time"
)

// disposableLease is a lease on a worker ID that was never used before and is never used again. It
// has no start and no end, and Release does nothing.
type disposableLease struct {
	workerID    int64
	maxWorkerID int64 // of the request; 0 if it is not known
}

func (l disposableLease) WorkerID() int64      { return l.workerID }
func (l disposableLease) NotBefore() time.Time { return time.Time{} }

func (l disposableLease) Reserve(context.Context, time.Time) (Grant, error) {
	return Grant{Until: Unbounded(), Remaining: max(l.maxWorkerID-l.workerID, 0), Total: l.maxWorkerID}, nil
}

func (l disposableLease) Release(context.Context, time.Time) error { return nil }
