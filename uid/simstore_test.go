package uid

import (
	"context"
	"errors"
	"time"

	"github.com/ringuid/ringuid/internal/fakeclock"
	"github.com/ringuid/ringuid/workerassign"
)

// simStore assigns worker IDs: disposable ones, or a few over and over, in disjoint spans. It
// may be down, or do what it is asked for while its reply is lost; and a failover may lose such
// writes as nobody was told of.
type simStore struct {
	s           *simulation
	recycles    bool
	horizon     time.Duration    // if not 0, no span is granted further beyond the store's clock
	clock       *fakeclock.Clock // the store's
	down        bool
	lostReplies int // so many of its next replies are lost
	lastID      int64
	maxWorkerID int64
	latest      map[int64]*simLease // of each worker ID that has spans, who has its latest one
}

// Assign implements workerassign.Assigner.
func (a *simStore) Assign(context.Context, workerassign.Request) (workerassign.Lease, error) {
	if a.down {
		return nil, errSimStoreDown
	}
	a.s.leases++
	err := a.reply()
	if !a.recycles {
		if a.lastID >= a.maxWorkerID {
			return nil, errSimExhausted
		}
		if a.s.brokenInvariant != 1 || a.lastID < 3 {
			a.lastID++ // else the store has lost its last write, and gives it out again
		}
		return &simLease{store: a, id: a.lastID}, err
	}
	// The holder of a span need not be alive, nor know that another was given the next one.
	l := &simLease{store: a, id: 1 + int64(a.s.rnd.IntN(5))}
	if before := a.latest[l.id]; before != nil {
		l.notBefore = before.granted
		if a.s.brokenInvariant == 1 {
			l.notBefore = before.granted.Add(-5 * time.Second)
		}
	}
	l.granted, l.acknowledged = l.notBefore, l.notBefore
	a.latest[l.id] = l
	return l, err
}

// reply fails where the store's reply is lost.
func (a *simStore) reply() error {
	if a.lostReplies == 0 {
		return nil
	}
	a.lostReplies--
	a.s.lost++
	return errSimReplyLost
}

// failover loses the writes that nobody was told of.
func (a *simStore) failover() {
	for _, l := range a.latest {
		l.granted = l.acknowledged
	}
}

type simLease struct {
	store        *simStore
	id           int64
	notBefore    time.Time
	granted      time.Time // up to here
	acknowledged time.Time // as its holder knows
}

func (l *simLease) WorkerID() int64 { return l.id }

func (l *simLease) NotBefore() time.Time { return l.notBefore }

// Release gives back what was not used of a span, if it is the latest one of its worker ID.
func (l *simLease) Release(_ context.Context, used time.Time) error {
	switch {
	case !l.store.recycles:
		return nil
	case l.store.down:
		return errSimStoreDown
	case l.store.latest[l.id] != l:
		return nil
	}
	if l.store.s.brokenInvariant == 6 {
		used = used.Add(-l.store.s.format.Unit()) // the generator says that it used one unit less
	}
	if used.Before(l.notBefore) {
		used = l.notBefore
	}
	if used.Before(l.granted) {
		l.granted, l.acknowledged = used, used
		l.store.s.released++
	}
	return l.store.reply()
}

func (l *simLease) Reserve(_ context.Context, until time.Time) (time.Time, error) {
	switch {
	case !l.store.recycles:
		return workerassign.Unbounded(), nil
	case l.store.down:
		return time.Time{}, errSimStoreDown
	case l.store.latest[l.id] == l:
		if most := l.store.clock.Now().Add(l.store.horizon); l.store.horizon > 0 && until.After(most) {
			until = most
		}
		if until.After(l.granted) {
			l.granted = until
		}
	}
	if err := l.store.reply(); err != nil {
		return l.granted, err
	}
	l.acknowledged = l.granted
	return l.granted, nil
}

// simStatics is how many worker IDs, the greatest ones, are not the store's.
const staticWorkerIDs = 16

var (
	errSimStoreDown = errors.New("the store is down")
	errSimReplyLost = errors.New("the store's reply was lost")
	errSimExhausted = errors.New("the store has no more worker IDs")
)
