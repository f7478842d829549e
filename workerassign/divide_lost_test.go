package workerassign

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// scripted is a lease that does as the test says, where that says something.
type scriptedLease struct {
	Lease
	reserve func(ctx context.Context, until time.Time) (time.Time, error)
	release func(ctx context.Context, used time.Time) error
}

func (l scriptedLease) Reserve(ctx context.Context, until time.Time) (time.Time, error) {
	if l.reserve == nil {
		return l.Lease.Reserve(ctx, until)
	}
	return l.reserve(ctx, until)
}

func (l scriptedLease) Release(ctx context.Context, used time.Time) error {
	if l.release == nil {
		return l.Lease.Release(ctx, used)
	}
	if err := l.release(ctx, used); err != nil {
		return err
	}
	return l.Lease.Release(ctx, used)
}

// scriptedFrom returns an assigner of the numbers from 1 on, whose first lease does as a test says.
func newScriptedStore(first scriptedLease) (Assigner, *countingAssigner) {
	inner := countFrom(1)
	return assignerFunc(func(ctx context.Context, r Request) (Lease, error) {
		l, err := inner.Assign(ctx, r)
		if err == nil && l.WorkerID() == 1 {
			first.Lease = l
			return first, nil
		}
		return l, err
	}), inner
}

// mustAssign takes a lease for a layout of ten worker bits and fails the test if there is none.
func mustAssign(tb testing.TB, a Assigner) Lease {
	tb.Helper()
	l, err := a.Assign(context.Background(), request10Bits)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// mustRelease gives a lease back and fails the test if that fails.
func mustRelease(tb testing.TB, l Lease, used time.Time) {
	tb.Helper()
	if err := l.Release(context.Background(), used); err != nil {
		tb.Fatal(err)
	}
}

var errLeaseGone = errors.New("gone")

// A worker ID that cannot be extended any more is not divided further, and is given back when
// its parts are: whether it says so, panics, or grants nothing that has begun.
func TestDivideALostLease(t *testing.T) {
	ctx := context.Background()
	for name, reserve := range map[string]func(context.Context, time.Time) (time.Time, error){
		"an error":                     func(context.Context, time.Time) (time.Time, error) { return time.Time{}, errLeaseGone },
		"a time-out that is its own":   func(context.Context, time.Time) (time.Time, error) { return time.Time{}, context.DeadlineExceeded },
		"a panic":                      func(context.Context, time.Time) (time.Time, error) { panic(errLeaseGone) },
		"no grant, and no word of why": func(context.Context, time.Time) (time.Time, error) { return time.Now().Add(-time.Minute), nil },
	} {
		t.Run(name, func(t *testing.T) {
			store, inner := newScriptedStore(scriptedLease{reserve: reserve})
			a := Divide(store, 2)
			first, lost := mustAssign(t, a), mustAssign(t, a)
			func() {
				defer func() { recover() }()
				if granted, err := lost.Reserve(ctx, time.Now().Add(time.Hour)); err == nil && granted.After(time.Now()) {
					t.Errorf("granted up to %v", granted)
				}
			}()
			next := mustAssign(t, a)
			if next.WorkerID() != 2 {
				t.Fatalf("worker ID %d, want a part of another", next.WorkerID())
			}
			if _, err := next.Reserve(ctx, time.Now()); err != nil || inner.released.Load() != 0 {
				t.Errorf("%v; %d were given back", err, inner.released.Load())
			}
			mustRelease(t, first, time.Time{})
			if n := inner.released.Load(); n != 0 {
				t.Errorf("given back while a part of it is out")
			}
			mustRelease(t, lost, time.Time{})
			if n := inner.released.Load(); n != 1 {
				t.Errorf("given back %d times after its last part", n)
			}
		})
	}
}

// A lease that failed and then was extended after all is divided further.
func TestDivideALeaseThatRecovers(t *testing.T) {
	fail := true
	store, inner := newScriptedStore(scriptedLease{reserve: func(context.Context, time.Time) (time.Time, error) {
		if fail {
			return time.Time{}, errLeaseGone
		}
		return Unbounded(), nil
	}})
	a := Divide(store, 2)
	l := mustAssign(t, a)
	for range 2 {
		l.Reserve(context.Background(), time.Now())
		fail = false
	}
	if next := mustAssign(t, a); next.WorkerID() != 256+1 || inner.assigned.Load() != 1 {
		t.Errorf("worker ID %d of %d", next.WorkerID(), inner.assigned.Load())
	}
}

// A generator that is closed while it extends its lease, or whose own time is over, says
// nothing of the lease: 256 starts cost one worker ID.
func TestDivideACancelledReserve(t *testing.T) {
	store, inner := newScriptedStore(scriptedLease{reserve: func(ctx context.Context, _ time.Time) (time.Time, error) {
		<-ctx.Done()
		return time.Time{}, errors.New("the store did not answer") // not every driver wraps the context's error
	}})
	a := Divide(store, 8)
	for i := range 256 {
		l, err := a.Assign(context.Background(), Request{MaxWorkerID: 1<<22 - 1})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		if i%2 == 0 {
			ctx, cancel = context.WithTimeout(context.Background(), 1)
		}
		go cancel()
		if _, err := l.Reserve(ctx, time.Now().Add(time.Hour)); err == nil {
			t.Fatal("granted")
		}
		mustRelease(t, l, time.Time{})
	}
	if n := inner.assigned.Load(); n != 1 {
		t.Errorf("%d worker IDs for 256 starts, want 1", n)
	}
	if n := inner.released.Load(); n != 1 {
		t.Errorf("%d were given back, want 1", n)
	}
}

// That a lost lease is not given back, because that fails, panics or hangs, keeps nobody from the
// next one; it is logged, under no lock.
func TestDivideALostLeaseThatIsNotGivenBack(t *testing.T) {
	for name, release := range map[string]func(context.Context, time.Time) error{
		"fails":  func(context.Context, time.Time) error { return errLeaseGone },
		"panics": func(context.Context, time.Time) error { panic(errLeaseGone) },
		"hangs":  func(ctx context.Context, _ time.Time) error { <-ctx.Done(); return errLeaseGone },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var releases int
				store, inner := newScriptedStore(scriptedLease{
					reserve: func(context.Context, time.Time) (time.Time, error) { return time.Time{}, errLeaseGone },
					release: func(ctx context.Context, used time.Time) error { releases++; return release(ctx, used) },
				})
				a := Divide(store, 2)
				l := mustAssign(t, a)
				l.Reserve(context.Background(), time.Now().Add(time.Hour))
				mustRelease(t, l, time.Time{})
				var log bytes.Buffer
				r := request10Bits
				r.Logger = slog.New(callbackHandler{slog.NewTextHandler(&log, nil), func() {
					if _, err := a.Assign(context.Background(), request10Bits); err != nil {
						t.Error(err)
					}
				}})
				ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
				defer cancel()
				next, err := a.Assign(ctx, r)
				if err != nil || next.WorkerID() != 2 {
					t.Errorf("%v, %v; want a part of the next", next, err)
				}
				if !strings.Contains(log.String(), "gone") || !strings.Contains(log.String(), "worker ID 1:") || releases != 1 {
					t.Errorf("given back %d times; the log says %q", releases, log.String())
				}
				for range 5 {
					mustAssign(t, a)
				}
				if releases != 1 || inner.assigned.Load() != 3 {
					t.Errorf("given back %d times, %d worker IDs", releases, inner.assigned.Load())
				}
			})
		})
	}
}

// reentrant is a log handler that does something that the user's may do.
type callbackHandler struct {
	slog.Handler
	callback func()
}

func (h callbackHandler) Handle(ctx context.Context, r slog.Record) error {
	h.callback()
	return h.Handler.Handle(ctx, r)
}
