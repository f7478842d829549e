package uid

import (
	"context"
	"errors"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/fakeclock"
	"github.com/ringuid/ringuid/workerassign"
)

// simStore assigns worker IDs: each one once, or a few again and again for disjoint spans of time. It
// may be down. Its reply to a request that it has done may be lost. A failover may lose writes that it
// has not acknowledged.
type simStore struct {
	s           *simulation
	recycles    bool
	horizon     time.Duration    // if not 0, nothing is granted further ahead of the store's clock
	clock       *fakeclock.Clock // the store's
	down        bool
	lostReplies int // how many of the next replies are lost
	lastID      int64
	maxWorkerID int64
	latest      map[int64]*simLease // the latest lease of each recycled worker ID
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
			a.lastID++ // otherwise the store has lost its last write, and assigns the worker ID again
		}
		return &simLease{store: a, id: a.lastID}, err
	}
	// The holder of the previous lease may still run, and does not know of the new lease.
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

// reply returns an error if the store's reply is lost.
func (a *simStore) reply() error {
	if a.lostReplies == 0 {
		return nil
	}
	a.lostReplies--
	a.s.lost++
	return errSimReplyLost
}

// failover loses the writes that the store has not acknowledged.
func (a *simStore) failover() {
	for _, l := range a.latest {
		l.granted = l.acknowledged
	}
}

type simLease struct {
	store        *simStore
	id           int64
	notBefore    time.Time
	granted      time.Time // the end of the grant
	acknowledged time.Time // the end of the grant that the holder knows
}

func (l *simLease) WorkerID() int64 { return l.id }

func (l *simLease) NotBefore() time.Time { return l.notBefore }

// Release releases what was not used of the grant, if this is the latest lease of its worker ID.
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
		used = used.Add(-l.store.s.format.Unit()) // the generator reports one unit less than it used
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

func (l *simLease) Reserve(_ context.Context, until time.Time) (workerassign.Grant, error) {
	switch {
	case !l.store.recycles:
		return workerassign.Grant{Until: workerassign.Unbounded()}, nil
	case l.store.down:
		return workerassign.Grant{}, errSimStoreDown
	case l.store.latest[l.id] == l:
		if most := l.store.clock.Now().Add(l.store.horizon); l.store.horizon > 0 && until.After(most) {
			until = most
		}
		if until.After(l.granted) {
			l.granted = until
		}
	}
	if err := l.store.reply(); err != nil {
		return workerassign.Grant{Until: l.granted}, err
	}
	l.acknowledged = l.granted
	return workerassign.Grant{Until: l.granted}, nil
}

// staticWorkerIDs is how many worker IDs, the greatest ones, are static.
const staticWorkerIDs = 16

var (
	errSimStoreDown = errors.New("the store is down")
	errSimReplyLost = errors.New("the store's reply was lost")
	errSimExhausted = errors.New("the store has no more worker IDs")
)
