package workerassign

import (
	"context"
	"fmt"
	"time"
)

// Static returns an assigner of the one worker ID that it is told. Who uses it sees to it
// that no two processes, and no two generators in one, use the same ID at the same time.
//
// Because a restart uses the ID again, its leases begin after the instant of Assign and grant
// no future: UIDs get no time before the start and none ahead of the generator's clock. After a
// restart that is safe as long as the wall clock does not show an earlier time than the last
// UID's: a step back that the last process rode out must be over by then.
//
// A negative worker ID is an error of Assign, which wraps ErrOption. Assign never blocks.
func Static(workerID int64) Assigner { return static(workerID) }

type static int64

// Assign implements Assigner.
func (s static) Assign(_ context.Context, r Request) (Lease, error) {
	if s < 0 {
		return nil, fmt.Errorf("%w: static worker ID %d is below 0", ErrOption, int64(s))
	}
	return &staticLease{id: int64(s), begin: r.now(), now: r.now}, nil
}

// staticLease is the span after its beginning up to now, whenever that is. A unit that begins
// at that very instant is the last process's, which may have stamped it, and one that begins
// now is this one's; so both ends lie a nanosecond later.
type staticLease struct {
	id    int64
	begin time.Time
	now   func() time.Time
}

func (l *staticLease) WorkerID() int64      { return l.id }
func (l *staticLease) NotBefore() time.Time { return l.begin.Add(1) }

func (l *staticLease) Reserve(_ context.Context, until time.Time) (time.Time, error) {
	if now := l.now().Add(1); now.Before(until) {
		return now, nil
	}
	return until, nil
}

func (l *staticLease) Release(context.Context, time.Time) error { return nil }
