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

// scriptedLease is a lease whose methods a test can replace.
type scriptedLease struct {
	Lease
	reserve func(ctx context.Context, until time.Time) (time.Time, error)
	release func(ctx context.Context, used time.Time) error
}

func (l scriptedLease) Reserve(ctx context.Context, until time.Time) (Grant, error) {
	if l.reserve == nil {
		return l.Lease.Reserve(ctx, until)
	}
	until, err := l.reserve(ctx, until)
	return Grant{Until: until}, err
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

// newScriptedStore returns an assigner of the numbers 1, 2, 3 and so on, whose first lease is the given
// one.
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

// mustAssign returns a lease for a layout of ten worker bits, and fails the test if there is an error.
func mustAssign(tb testing.TB, a Assigner) Lease {
	tb.Helper()
	l, err := a.Assign(context.Background(), request10Bits)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// mustRelease releases a lease, and fails the test if there is an error.
func mustRelease(tb testing.TB, l Lease, used time.Time) {
	tb.Helper()
	if err := l.Release(context.Background(), used); err != nil {
		tb.Fatal(err)
	}
}

var errLeaseGone = errors.New("lease lost")

// A lease that cannot be extended is not divided further. It is released when all of its assigned parts
// are released. It does not matter whether Reserve returns an error, panics, or grants only past time.
func TestDivideLostLease(t *testing.T) {
	ctx := context.Background()
	for name, reserve := range map[string]func(context.Context, time.Time) (time.Time, error){
		"an error":                         func(context.Context, time.Time) (time.Time, error) { return time.Time{}, errLeaseGone },
		"a timeout of the store":           func(context.Context, time.Time) (time.Time, error) { return time.Time{}, context.DeadlineExceeded },
		"a panic":                          func(context.Context, time.Time) (time.Time, error) { panic(errLeaseGone) },
		"only past time, without an error": func(context.Context, time.Time) (time.Time, error) { return time.Now().Add(-time.Minute), nil },
	} {
		t.Run(name, func(t *testing.T) {
			store, inner := newScriptedStore(scriptedLease{reserve: reserve})
			a := Divide(store, 2)
			first, lost := mustAssign(t, a), mustAssign(t, a)
			func() {
				defer func() { recover() }()
				if granted, err := lost.Reserve(ctx, time.Now().Add(time.Hour)); err == nil && granted.Until.After(time.Now()) {
					t.Errorf("granted up to %v", granted.Until)
				}
			}()
			next := mustAssign(t, a)
			if next.WorkerID() != 2 {
				t.Fatalf("worker ID %d, want 2, a part of the next lease", next.WorkerID())
			}
			if _, err := next.Reserve(ctx, time.Now()); err != nil || inner.released.Load() != 0 {
				t.Errorf("Reserve() = %v; %d leases were released, want 0", err, inner.released.Load())
			}
			mustRelease(t, first, time.Time{})
			if n := inner.released.Load(); n != 0 {
				t.Errorf("the lease was released before its last part")
			}
			mustRelease(t, lost, time.Time{})
			if n := inner.released.Load(); n != 1 {
				t.Errorf("the lease was released %d times after its last part, want 1", n)
			}
		})
	}
}

// Assign waits for the release of a lost lease, but for two seconds at most.
func TestDivideReleaseOfLostLeaseTakesTime(t *testing.T) {
	for takes, want := range map[time.Duration]bool{time.Second: false, 3 * time.Second: true} {
		synctest.Test(t, func(t *testing.T) {
			store, _ := newScriptedStore(scriptedLease{
				reserve: func(context.Context, time.Time) (time.Time, error) { return time.Time{}, errLeaseGone },
				release: func(ctx context.Context, _ time.Time) error {
					select {
					case <-time.After(takes):
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				},
			})
			var log bytes.Buffer
			a, r := Divide(store, 2), request10Bits
			r.Logger = slog.New(slog.NewTextHandler(&log, nil))
			lost := mustAssign(t, a)
			lost.Reserve(t.Context(), time.Now().Add(time.Hour))
			mustRelease(t, lost, time.Time{})
			begin := time.Now()
			if _, err := a.Assign(t.Context(), r); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if logged := strings.Contains(log.String(), "releasing a lost lease failed"); logged != want || time.Since(begin) != min(takes, 2*time.Second) {
				t.Errorf("Assign took %v, and logged a failure: %v; the release takes %v: %s", time.Since(begin), logged, takes, log.String())
			}
		})
	}
}

// A lease whose Reserve fails and then succeeds is divided further.
func TestDivideRecoveredLease(t *testing.T) {
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
		t.Errorf("worker ID %d of %d leases, want 257 of 1", next.WorkerID(), inner.assigned.Load())
	}
}

// A Reserve that fails because its own context was cancelled or timed out does not mark the lease as
// lost. So 256 starts use only one worker ID.
func TestDivideCancelledReserve(t *testing.T) {
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
			t.Fatal("Reserve with a cancelled context succeeded")
		}
		mustRelease(t, l, time.Time{})
	}
	if n := inner.assigned.Load(); n != 1 {
		t.Errorf("%d worker IDs for 256 starts, want 1", n)
	}
	if n := inner.released.Load(); n != 1 {
		t.Errorf("%d leases were released, want 1", n)
	}
}

// If the release of a lost lease fails or hangs, Assign continues with the next lease. It logs
// the failure without holding a lock.
func TestDivideReleaseOfLostLeaseFails(t *testing.T) {
	for name, release := range map[string]func(context.Context, time.Time) error{
		"fails": func(context.Context, time.Time) error { return errLeaseGone },
		"hangs": func(ctx context.Context, _ time.Time) error { <-ctx.Done(); return errLeaseGone },
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
					t.Errorf("Assign() = %v, %v; want a part of the next lease", next, err)
				}
				if !strings.Contains(log.String(), "lease lost") || !strings.Contains(log.String(), "worker ID 1:") || releases != 1 {
					t.Errorf("Release was called %d times, want 1; the log is %q", releases, log.String())
				}
				for range 5 {
					mustAssign(t, a)
				}
				if releases != 1 || inner.assigned.Load() != 3 {
					t.Errorf("Release was called %d times, and %d worker IDs were used; want 1 and 3", releases, inner.assigned.Load())
				}
			})
		})
	}
}

// callbackHandler is a log handler that calls a function, as a handler of a user may do.
type callbackHandler struct {
	slog.Handler
	callback func()
}

func (h callbackHandler) Handle(ctx context.Context, r slog.Record) error {
	h.callback()
	return h.Handler.Handle(ctx, r)
}
