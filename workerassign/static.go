package workerassign

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ringuid/ringuid/internal/millis"
	"github.com/ringuid/ringuid/internal/safelog"
)

// Static returns an assigner that assigns the given worker ID.
//
// The assigner leases the worker ID to one generator at a time. Until that lease is released, Assign
// returns an error that wraps ErrInUse. The assigner does not know other processes, or other
// assigners that Static returned for the same number. The caller must make sure that no two of them
// use the worker ID at the same time.
//
// After a restart, the same worker ID is used again, so uniqueness depends on the clock. A lease begins
// after the time of its Assign, and Reserve grants no time in the future. So no UID has a time before
// the start, or a time ahead of the generator's clock. This is safe if, after a restart, the clock does
// not show an earlier time than that of the last UID. The generator's clock can be ahead of the wall
// clock, because the wall clock was set back or the monotonic clock is faster. In that case, do not
// restart the process before the wall clock has caught up.
//
// Within the process, the assigner remembers the time that its leases were granted or used. A later
// lease begins no earlier than that, and the generator waits until its clock reaches that time. If the
// wait is longer than a second, the assigner logs a warning.
//
// If the worker ID is negative, Assign returns an error that wraps ErrOption. For a renewal (uid.Cached.Renew) it returns
// one that wraps ErrRenewal, because a copy of the process has the worker ID too. Assign never blocks.
func Static(workerID int64) Assigner { return &staticAssigner{id: workerID} }

type staticAssigner struct {
	id int64

	mu        sync.Mutex
	current   *staticLease // the lease that is not released; nil if there is none
	usedUntil time.Time    // the end of all time that was granted or used
}

// aheadWarningDelay is how far ahead of the clock a lease may begin without a warning in the log.
const aheadWarningDelay = time.Second

// Assign implements Assigner.
func (s *staticAssigner) Assign(_ context.Context, r Request) (Lease, error) {
	if s.id < 0 {
		return nil, fmt.Errorf("%w: static worker ID is %d; must be at least 0", ErrOption, s.id)
	}
	if r.Renewal {
		return nil, fmt.Errorf("%w: static worker ID %d may have been copied with this process: close the generator, and create one with another worker ID", ErrRenewal, s.id)
	}
	now := r.Time().Round(0) // without a lock, because the clock is the user's
	l, err := s.newLease(r, now)
	if err != nil {
		return nil, err
	}
	if ahead := l.notBefore.Sub(now); ahead > aheadWarningDelay {
		// A queue, because the log handler may block, or wait for a lock of Divide that this
		// goroutine holds.
		safelog.NewQueue(r.Logger).Log(slog.LevelWarn, "workerassign: a static worker ID was used up to a time that the clock has not reached; check whether the clock was set back",
			"worker_id", s.id, "used", l.notBefore, "ahead", ahead)
	}
	return l, nil
}

// newLease returns a lease that begins after now, and not before the end of earlier leases.
func (s *staticAssigner) newLease(r Request, now time.Time) (*staticLease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil {
		return nil, fmt.Errorf("%w: static worker ID %d is leased to another generator of this process since %s: "+
			"close that generator first, or give each generator a different worker ID",
			ErrInUse, s.id, s.current.assignedAt.Format(time.RFC3339))
	}
	// The previous process may have used a time unit that begins exactly now, so the lease begins
	// one nanosecond later.
	l := &staticLease{assigner: s, assignedAt: now, notBefore: millis.Later(now.Add(1), s.usedUntil), request: r}
	s.current = l
	return l, nil
}

// staticLease is a lease from notBefore up to the present, which moves on. Its times have no monotonic
// clock reading, because comparisons of monotonic readings do not show that the wall clock was set
// back.
type staticLease struct {
	assigner   *staticAssigner
	assignedAt time.Time
	notBefore  time.Time
	request    Request
}

func (l *staticLease) WorkerID() int64      { return l.assigner.id }
func (l *staticLease) NotBefore() time.Time { return l.notBefore }

// Reserve grants the time units that have begun. These include a unit that begins exactly now, so the
// granted time is at most one nanosecond after the present.
func (l *staticLease) Reserve(_ context.Context, until time.Time) (Grant, error) {
	granted := l.request.Time().Round(0).Add(1)
	if until = until.Round(0); until.Before(granted) {
		granted = until
	}
	s := l.assigner
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != l {
		return Grant{}, fmt.Errorf("%w: static worker ID %d may be in use by another generator", ErrReleased, s.id)
	}
	s.usedUntil = millis.Later(s.usedUntil, granted)
	return Grant{Until: granted}, nil
}

// Release frees the worker ID. All granted time counts as used, so that no time unit is used twice
// even if a caller passes the zero time by mistake.
func (l *staticLease) Release(_ context.Context, used time.Time) error {
	s := l.assigner
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == l {
		s.current, s.usedUntil = nil, millis.Later(s.usedUntil, used.Round(0))
	}
	return nil
}
