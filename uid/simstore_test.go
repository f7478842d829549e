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
	s       *simulation
	spans   bool
	horizon time.Duration    // if not 0, no span is granted further beyond the store's clock
	clock   *fakeclock.Clock // the store's
	down    bool
	silent  int // so many of its next replies are lost
	next    int64
	most    int64
	holders map[int64]*simLease // of each worker ID that has spans, who has its latest one
}

// Assign implements workerassign.Assigner.
func (a *simStore) Assign(context.Context, workerassign.Request) (workerassign.Lease, error) {
	if a.down {
		return nil, errSimDown
	}
	a.s.leases++
	err := a.reply()
	if !a.spans {
		if a.next >= a.most {
			return nil, errSimFull
		}
		if a.s.broken != 1 || a.next < 3 {
			a.next++ // else the store has lost its last write, and gives it out again
		}
		return &simLease{store: a, id: a.next}, err
	}
	// The holder of a span need not be alive, nor know that another was given the next one.
	l := &simLease{store: a, id: 1 + int64(a.s.rng.IntN(5))}
	if before := a.holders[l.id]; before != nil {
		l.from = before.granted
		if a.s.broken == 1 {
			l.from = before.granted.Add(-5 * time.Second)
		}
	}
	l.granted, l.told = l.from, l.from
	a.holders[l.id] = l
	return l, err
}

// reply fails where the store's reply is lost.
func (a *simStore) reply() error {
	if a.silent == 0 {
		return nil
	}
	a.silent--
	a.s.lost++
	return errSimLost
}

// failover loses the writes that nobody was told of.
func (a *simStore) failover() {
	for _, l := range a.holders {
		l.granted = l.told
	}
}

type simLease struct {
	store   *simStore
	id      int64
	from    time.Time
	granted time.Time // up to here
	told    time.Time // as its holder knows
}

func (l *simLease) WorkerID() int64 { return l.id }

func (l *simLease) NotBefore() time.Time { return l.from }

// Release gives back what was not used of a span, if it is the latest one of its worker ID.
func (l *simLease) Release(_ context.Context, used time.Time) error {
	switch {
	case !l.store.spans:
		return nil
	case l.store.down:
		return errSimDown
	case l.store.holders[l.id] != l:
		return nil
	}
	if l.store.s.broken == 6 {
		used = used.Add(-l.store.s.f.Unit()) // the generator says that it used one unit less
	}
	if used.Before(l.from) {
		used = l.from
	}
	if used.Before(l.granted) {
		l.granted, l.told = used, used
		l.store.s.released++
	}
	return l.store.reply()
}

func (l *simLease) Reserve(_ context.Context, until time.Time) (time.Time, error) {
	switch {
	case !l.store.spans:
		return workerassign.Unbounded(), nil
	case l.store.down:
		return time.Time{}, errSimDown
	case l.store.holders[l.id] == l:
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
	l.told = l.granted
	return l.granted, nil
}

// simStatics is how many worker IDs, the greatest ones, are not the store's.
const simStatics = 16

var (
	errSimDown = errors.New("the store is down")
	errSimLost = errors.New("the store's reply was lost")
	errSimFull = errors.New("the store has no more worker IDs")
)
