package uid

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// disposableAssigner assigns each worker ID once: 1, 2, 3 and so on. Its leases have no end.
type disposableAssigner struct {
	lastID   atomic.Int64 // the last worker ID that was assigned
	released atomic.Int64
	failure  atomic.Pointer[error] // if not nil, Assign returns it
}

func (a *disposableAssigner) Assign(_ context.Context, r workerassign.Request) (workerassign.Lease, error) {
	if err := a.failure.Load(); err != nil {
		return nil, *err
	}
	return &disposableLease{disposableAssigner: a, id: a.lastID.Add(1), most: r.MaxWorkerID}, nil
}

func (a *disposableAssigner) failWith(err error) { a.failure.Store(&err) }

func (a *disposableAssigner) recover() { a.failure.Store(nil) }

type disposableLease struct {
	*disposableAssigner
	id, most int64
}

func (l *disposableLease) WorkerID() int64 { return l.id }

func (l *disposableLease) NotBefore() time.Time { return time.Time{} }

func (l *disposableLease) Reserve(context.Context, time.Time) (workerassign.Grant, error) {
	return workerassign.Grant{Until: workerassign.Unbounded(), Remaining: max(l.most-l.id, 0), Total: l.most}, nil
}

func (l *disposableLease) Release(context.Context, time.Time) error {
	l.released.Add(1)
	return nil
}

// recyclingAssigner assigns worker ID 7 again and again, for disjoint spans of time: a lease starts
// where the last grant ended. It keeps its state when a generator ends.
type recyclingAssigner struct {
	mu           sync.Mutex
	granted      time.Time // the end of the last grant
	reserveCalls int
	failure      error // if not nil, Reserve returns it
}

func (a *recyclingAssigner) Assign(context.Context, workerassign.Request) (workerassign.Lease, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &recycledLease{recyclingAssigner: a, notBefore: a.granted}, nil
}

func (a *recyclingAssigner) failWith(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failure = err
}

type recycledLease struct {
	*recyclingAssigner
	notBefore time.Time
}

func (l *recycledLease) WorkerID() int64 { return 7 }

func (l *recycledLease) NotBefore() time.Time { return l.notBefore }

func (l *recycledLease) Reserve(_ context.Context, until time.Time) (workerassign.Grant, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure != nil {
		return workerassign.Grant{}, l.failure
	}
	l.reserveCalls++
	if until.After(l.granted) {
		l.granted = until
	}
	return workerassign.Grant{Until: l.granted}, nil
}

func (l *recycledLease) Release(context.Context, time.Time) error { return nil }

// fakeLease is a lease whose methods are functions of the test. Without a function, it behaves as a
// disposable lease.
type fakeLease struct {
	id        int64
	notBefore time.Time
	reserve   func(context.Context, time.Time) (time.Time, error)
	release   func(context.Context) error
}

func (l *fakeLease) WorkerID() int64 { return l.id }

func (l *fakeLease) NotBefore() time.Time { return l.notBefore }

func (l *fakeLease) Reserve(ctx context.Context, until time.Time) (workerassign.Grant, error) {
	if l.reserve == nil {
		return workerassign.Grant{Until: workerassign.Unbounded()}, nil
	}
	until, err := l.reserve(ctx, until)
	return workerassign.Grant{Until: until}, err
}

func (l *fakeLease) Release(ctx context.Context, used time.Time) error {
	if l.release == nil {
		return nil
	}
	return l.release(ctx)
}

// fakeAssigner assigns leases by a function of the test, which gets the number of the call, and counts
// the calls.
type fakeAssigner struct {
	calls  atomic.Int64
	assign func(ctx context.Context, n int64) (workerassign.Lease, error)
}

func (a *fakeAssigner) Assign(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
	return a.assign(ctx, a.calls.Add(1))
}

// newExpiringAssigner returns an assigner whose leases are lost if they are not extended in time.
// Reserve of a lost lease fails or, if silently is set, grants nothing more.
func newExpiringAssigner(silently bool) *fakeAssigner {
	return &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
		var mu sync.Mutex
		var granted time.Time
		return &fakeLease{id: n, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case granted.IsZero() || time.Now().Before(granted):
				granted = until
			case !silently:
				return time.Time{}, errLeaseEnded
			}
			return granted, nil
		}}, nil
	}}
}

// newLosableAssigner returns an assigner whose first lease is not extended any more once lost is set.
func newLosableAssigner(lost *atomic.Bool) *fakeAssigner {
	return &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
		return &fakeLease{id: n, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
			if n == 1 && lost.Load() {
				return time.Time{}, errLeaseEnded
			}
			return until, nil
		}}, nil
	}}
}

// newHangingAssigner returns an assigner of a lease whose Reserve hangs while hangs is set.
func newHangingAssigner(hangs *atomic.Bool) *fakeAssigner {
	return &fakeAssigner{assign: func(context.Context, int64) (workerassign.Lease, error) {
		return &fakeLease{id: 1, reserve: func(ctx context.Context, until time.Time) (time.Time, error) {
			if hangs.Load() {
				<-ctx.Done()
				return time.Time{}, ctx.Err()
			}
			return until, nil
		}}, nil
	}}
}
