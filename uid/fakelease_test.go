package uid

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// numbers is an assigner that never gives a worker ID twice, as the disposable ones do.
type numbers struct {
	next     atomic.Int64 // the last one given
	released atomic.Int64
	fail     atomic.Pointer[error] // Assign returns it, where it is set
}

func (a *numbers) Assign(context.Context, workerassign.Request) (workerassign.Lease, error) {
	if err := a.fail.Load(); err != nil {
		return nil, *err
	}
	return &numbered{numbers: a, id: a.next.Add(1)}, nil
}

func (a *numbers) break_(err error) { a.fail.Store(&err) }

func (a *numbers) mend() { a.fail.Store(nil) }

type numbered struct {
	*numbers
	id int64
}

func (l *numbered) WorkerID() int64 { return l.id }

func (l *numbered) NotBefore() time.Time { return time.Time{} }

func (l *numbered) Reserve(context.Context, time.Time) (time.Time, error) {
	return workerassign.Unbounded(), nil
}

func (l *numbered) Remaining(most int64) (remaining, all int64) { return max(most-l.id, 0), most }

func (l *numbered) Release(context.Context, time.Time) error {
	l.released.Add(1)
	return nil
}

// spans is an assigner of one worker ID over and over, in disjoint spans of time that it
// grants in steps, as a store that recycles worker IDs does. It keeps what it granted.
type spans struct {
	mu      sync.Mutex
	granted time.Time // no unit at or after it was granted to anybody
	grants  int
	fail    error // Reserve returns it, where it is set
}

func (a *spans) Assign(context.Context, workerassign.Request) (workerassign.Lease, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &span{spans: a, from: a.granted}, nil
}

func (a *spans) breakStore(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fail = err
}

type span struct {
	*spans
	from time.Time
}

func (l *span) WorkerID() int64 { return 7 }

func (l *span) NotBefore() time.Time { return l.from }

func (l *span) Reserve(_ context.Context, until time.Time) (time.Time, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return time.Time{}, l.fail
	}
	l.grants++
	if until.After(l.granted) {
		l.granted = until
	}
	return l.granted, nil
}

func (l *span) Release(context.Context, time.Time) error { return nil }

// made is a lease that does what it is told; without a function, it is as a disposable one.
type made struct {
	id      int64
	from    time.Time
	reserve func(context.Context, time.Time) (time.Time, error)
	release func(context.Context) error
}

func (l *made) WorkerID() int64 { return l.id }

func (l *made) NotBefore() time.Time { return l.from }

func (l *made) Reserve(ctx context.Context, until time.Time) (time.Time, error) {
	if l.reserve == nil {
		return workerassign.Unbounded(), nil
	}
	return l.reserve(ctx, until)
}

func (l *made) Release(ctx context.Context, used time.Time) error {
	if l.release == nil {
		return nil
	}
	return l.release(ctx)
}

// maker is an assigner of them, which counts them.
type maker struct {
	asked atomic.Int64
	make  func(ctx context.Context, n int64) (workerassign.Lease, error)
}

func (a *maker) Assign(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
	return a.make(ctx, a.asked.Add(1))
}

// expiring is an assigner of leases that are lost when they are not extended in time.
func expiring(silently bool) *maker {
	return &maker{make: func(_ context.Context, n int64) (workerassign.Lease, error) {
		var mu sync.Mutex
		var granted time.Time
		return &made{id: n, reserve: func(_ context.Context, until time.Time) (time.Time, error) {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case granted.IsZero() || time.Now().Before(granted):
				granted = until
			case !silently:
				return time.Time{}, errEnded
			}
			return granted, nil
		}}, nil
	}}
}

// hanging is an assigner of a lease whose Reserve can be made to hang.
func hanging(hangs *atomic.Bool) *maker {
	return &maker{make: func(context.Context, int64) (workerassign.Lease, error) {
		return &made{id: 1, reserve: func(ctx context.Context, until time.Time) (time.Time, error) {
			if hangs.Load() {
				<-ctx.Done()
				return time.Time{}, ctx.Err()
			}
			return until, nil
		}}, nil
	}}
}
