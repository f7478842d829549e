package workerassign

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ringuid/ringuid/internal/safelog"
)

// Static returns an assigner of one worker ID, which the caller chooses.
//
// The assigner leases it to one generator at a time: until the lease is released, Assign returns
// an error that wraps ErrInUse. It knows nothing of other processes, nor of other values that
// Static returned for the same number: the caller must not let two of them use the same worker
// ID at the same time.
//
// A worker ID that is used again after a restart relies on the clock. So a lease begins after
// the instant of Assign and is granted no future: no UID has a time before the start or ahead of
// the generator's clock. That is safe as long as the clock, after a restart, does not show an
// earlier time than the last UID's. The generator's clock may be ahead of the wall clock,
// because the wall clock was set back or the monotonic clock is faster; then the process must
// not be restarted before the wall clock has caught up.
//
// Within the process the assigner remembers: a lease begins no earlier than the time that
// earlier leases of the same assigner were granted or used, and the generator waits for its
// clock to reach that. A wait of more than a second is logged.
//
// A negative worker ID is an error of Assign, which wraps ErrOption. Assign never blocks.
func Static(workerID int64) Assigner { return &staticAssigner{id: workerID} }

type staticAssigner struct {
	id int64

	mu        sync.Mutex
	current   *staticLease // the one that is not released; nil if there is none
	usedUntil time.Time    // the end of all that was granted or used
}

// aheadWarning is how far ahead of the clock a lease may begin without a word in the log.
const aheadWarningDelay = time.Second

// Assign implements Assigner.
func (s *staticAssigner) Assign(_ context.Context, r Request) (Lease, error) {
	if s.id < 0 {
		return nil, fmt.Errorf("%w: static worker ID %d is below 0, must be at least 0", ErrOption, s.id)
	}
	now := wallTime(r) // before the lock: the clock is the user's
	l, err := s.newLease(r, now)
	if err != nil {
		return nil, err
	}
	if ahead := l.notBefore.Sub(now); ahead > aheadWarningDelay {
		// A queue: the handler may block, or wait for a lock of Divide's that this goroutine holds.
		safelog.NewQueue(r.Logger).Log(slog.LevelWarn, "workerassign: a static worker ID was used up to a time that the clock has not reached; was the clock set back?",
			"worker_id", s.id, "used", l.notBefore, "ahead", ahead)
	}
	return l, nil
}

// lease returns a lease that begins after now and after all leases before it.
func (s *staticAssigner) newLease(r Request, now time.Time) (*staticLease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil {
		return nil, fmt.Errorf("%w: static worker ID %d is leased to another generator of this process since %s: "+
			"close that one first, or give each generator a worker ID of its own",
			ErrInUse, s.id, s.current.assignedAt.Format(time.RFC3339))
	}
	// A unit that begins at this very instant is the last process's, which may have stamped it.
	l := &staticLease{assigner: s, assignedAt: now, notBefore: laterOf(now.Add(1), s.usedUntil), request: r}
	s.current = l
	return l, nil
}

// staticLease is the span from its beginning up to now, whenever that is. Its times have no
// monotonic reading, which would hide that the wall clock was set back.
type staticLease struct {
	assigner   *staticAssigner
	assignedAt time.Time // when it was assigned
	notBefore  time.Time
	request    Request
}

func (l *staticLease) WorkerID() int64      { return l.assigner.id }
func (l *staticLease) NotBefore() time.Time { return l.notBefore }

// Reserve grants what has begun. That includes a unit that begins just now, so the end lies a
// nanosecond later.
func (l *staticLease) Reserve(_ context.Context, until time.Time) (time.Time, error) {
	granted := wallTime(l.request).Add(1)
	if until = until.Round(0); until.Before(granted) {
		granted = until
	}
	s := l.assigner
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != l {
		return time.Time{}, fmt.Errorf("%w: static worker ID %d may be another's", ErrReleased, s.id)
	}
	s.usedUntil = laterOf(s.usedUntil, granted)
	return granted, nil
}

// Release frees the worker ID. What was granted counts as used, so that no unit comes twice even
// if a caller leaves used at zero by mistake.
func (l *staticLease) Release(_ context.Context, used time.Time) error {
	s := l.assigner
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == l {
		s.current, s.usedUntil = nil, laterOf(s.usedUntil, used.Round(0))
	}
	return nil
}

// wall returns the time on the request's clock, without a monotonic reading.
func wallTime(r Request) time.Time { return r.now().Round(0) }

// latest returns the later of two times.
func laterOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
