package uid

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// numbers is an assigner that never gives a worker ID twice, as the disposable ones do.
type disposableAssigner struct {
	lastID   atomic.Int64 // the last one given
	released atomic.Int64
	failure  atomic.Pointer[error] // Assign returns it, where it is set
}

func (a *disposableAssigner) Assign(context.Context, workerassign.Request) (workerassign.Lease, error) {
	if err := a.failure.Load(); err != nil {
		return nil, *err
	}
	return &disposableLease{disposableAssigner: a, id: a.lastID.Add(1)}, nil
}

func (a *disposableAssigner) failWith(err error) { a.failure.Store(&err) }

func (a *disposableAssigner) recover() { a.failure.Store(nil) }

type disposableLease struct {
	*disposableAssigner
	id int64
}

func (l *disposableLease) WorkerID() int64 { return l.id }

func (l *disposableLease) NotBefore() time.Time { return time.Time{} }

func (l *disposableLease) Reserve(context.Context, time.Time) (time.Time, error) {
	return workerassign.Unbounded(), nil
}

func (l *disposableLease) Remaining(most int64) (remaining, all int64) {
	return max(most-l.id, 0), most
}

func (l *disposableLease) Release(context.Context, time.Time) error {
	l.released.Add(1)
	return nil
}

// spans is an assigner of one worker ID over and over, in disjoint spans of time that it
// grants in steps, as a store that recycles worker IDs does. It keeps what it granted.
type recyclingAssigner struct {
	mu           sync.Mutex
	granted      time.Time // no unit at or after it was granted to anybody
	reserveCalls int
	failure      error // Reserve returns it, where it is set
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

func (l *recycledLease) Reserve(_ context.Context, until time.Time) (time.Time, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure != nil {
		return time.Time{}, l.failure
	}
	l.reserveCalls++
	if until.After(l.granted) {
		l.granted = until
	}
	return l.granted, nil
}

func (l *recycledLease) Release(context.Context, time.Time) error { return nil }

// made is a lease that does what it is told; without a function, it is as a disposable one.
type fakeLease struct {
	id        int64
	notBefore time.Time
	reserve   func(context.Context, time.Time) (time.Time, error)
	release   func(context.Context) error
}

func (l *fakeLease) WorkerID() int64 { return l.id }

func (l *fakeLease) NotBefore() time.Time { return l.notBefore }

func (l *fakeLease) Reserve(ctx context.Context, until time.Time) (time.Time, error) {
	if l.reserve == nil {
		return workerassign.Unbounded(), nil
	}
	return l.reserve(ctx, until)
}

func (l *fakeLease) Release(ctx context.Context, used time.Time) error {
	if l.release == nil {
		return nil
	}
	return l.release(ctx)
}

// maker is an assigner of them, which counts them.
type fakeAssigner struct {
	calls  atomic.Int64
	assign func(ctx context.Context, n int64) (workerassign.Lease, error)
}

func (a *fakeAssigner) Assign(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
	return a.assign(ctx, a.calls.Add(1))
}

// expiring is an assigner of leases that are lost when they are not extended in time.
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

// hanging is an assigner of a lease whose Reserve can be made to hang.
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
