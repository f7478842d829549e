package workerassign

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// The lease is released with the latest time up to which any part was used, whatever the order of the
// releases. Parts that were not assigned or not used do not count.
func TestInvariant1DivideUsed(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for range 100 {
		var got []time.Time
		store, _ := newScriptedStore(scriptedLease{release: func(_ context.Context, used time.Time) error {
			got = append(got, used)
			return nil
		}})
		a := Divide(store, 2)
		leases := []Lease{mustAssign(t, a), mustAssign(t, a), mustAssign(t, a), mustAssign(t, a)}
		want := time.Time{}
		for i, n := range rand.Perm(4) {
			var used time.Time
			if rand.IntN(2) > 0 {
				used = noon.Add(time.Duration(rand.IntN(10)-5) * time.Second)
			}
			if used.After(want) {
				want = used
			}
			mustRelease(t, leases[n], used)
			mustRelease(t, leases[n], noon.Add(time.Hour)) // a second call has no effect
			if i < 3 && len(got) > 0 {
				t.Fatal("the lease was released before its last part")
			}
		}
		if len(got) != 1 || !got[0].Equal(want) {
			t.Errorf("the lease was released as used up to %v, want once with %v", got, want)
		}
	}
	// The same for a lost lease, whose remaining parts were never assigned.
	var got []time.Time
	store, _ := newScriptedStore(scriptedLease{
		reserve: func(context.Context, time.Time) (time.Time, error) { return time.Time{}, errLeaseGone },
		release: func(_ context.Context, used time.Time) error { got = append(got, used); return nil },
	})
	a := Divide(store, 2)
	first, second := mustAssign(t, a), mustAssign(t, a)
	first.Reserve(context.Background(), noon)
	mustRelease(t, first, noon)
	mustAssign(t, a)
	mustRelease(t, second, time.Time{})
	if len(got) != 1 || !got[0].Equal(noon) {
		t.Errorf("the lease was released as used up to %v, want once with %v", got, noon)
	}
}

// If many goroutines release the parts concurrently, exactly one of them releases the lease.
func TestDivideConcurrentRelease(t *testing.T) {
	for range 200 {
		inner := countFrom(1)
		a := Divide(inner, 3)
		var all sync.WaitGroup
		for range 8 {
			l := mustAssign(t, a)
			for range 2 { // a second call must not count as the release of another part
				all.Go(func() {
					if err := l.Release(t.Context(), time.Now()); err != nil {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		if n := inner.released.Load(); n != 1 {
			t.Fatalf("the lease was released %d times, want 1", n)
		}
	}
}

// If the release of the lease fails, only the generator that releases the last part receives the error.
func TestDivideReleaseFails(t *testing.T) {
	releases := 0
	store, inner := newScriptedStore(scriptedLease{release: func(context.Context, time.Time) error { releases++; return errLeaseGone }})
	a := Divide(store, 1)
	first, last := mustAssign(t, a), mustAssign(t, a)
	mustRelease(t, first, time.Time{})
	if err := last.Release(context.Background(), time.Time{}); !errors.Is(err, errLeaseGone) {
		t.Errorf("Release() = %v, want %v", err, errLeaseGone)
	}
	mustRelease(t, first, time.Time{})
	mustRelease(t, last, time.Time{})
	if next := mustAssign(t, a); next.WorkerID() != 2 || releases != 1 || inner.assigned.Load() != 2 {
		t.Errorf("the next worker ID is %d, and Release was called %d times; want 2 and 1", next.WorkerID(), releases)
	}
}

// A part that was released cannot be extended. The other parts can, and the lease does not count as
// lost.
func TestDivideReserveAfterRelease(t *testing.T) {
	ctx := context.Background()
	asked := 0
	store, inner := newScriptedStore(scriptedLease{reserve: func(context.Context, time.Time) (time.Time, error) {
		asked++
		return Unbounded(), nil
	}})
	a := Divide(store, 2)
	released, held := mustAssign(t, a), mustAssign(t, a)
	mustRelease(t, released, time.Time{})
	if granted, err := released.Reserve(ctx, time.Now()); !errors.Is(err, ErrReleased) || !granted.Until.IsZero() || asked != 0 {
		t.Errorf("Reserve() = %v, %v; want ErrReleased", granted.Until, err)
	}
	if _, err := held.Reserve(ctx, time.Now()); err != nil {
		t.Error(err)
	}
	if mustAssign(t, a); inner.assigned.Load() != 1 {
		t.Errorf("%d worker IDs were used, want 1", inner.assigned.Load())
	}
}

// While no generator uses it, Divide keeps its lease for later generators. So each new generator in a
// process uses a part, not a worker ID.
func TestDivideKeepsIdleLease(t *testing.T) {
	inner := countFrom(1)
	a := Divide(inner, 2)
	for n := range int64(8) {
		mustRelease(t, mustAssign(t, a), time.Time{})
		if got := inner.released.Load(); got != (n+1)/4 {
			t.Errorf("%d leases were released after %d generators, one after the other", got, n+1)
		}
	}
	if n := inner.assigned.Load(); n != 2 {
		t.Errorf("%d worker IDs for 8 generators, want 2", n)
	}
}

// Invariant 1: a renewal does not get a part of a lease that another call has assigned, not as a renewal, while this one was waiting for it.
func TestInvariant1DivideRenewalWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, calls := make(chan struct{}), 0
		d := Divide(assignerFunc(func(_ context.Context, r Request) (Lease, error) {
			if calls++; calls == 1 {
				<-gate
				return nil, errLeaseGone
			}
			if r.Renewal {
				return nil, ErrRenewal
			}
			return disposableLease{workerID: int64(calls)}, nil
		}), 1)
		results := make([]error, 3)
		for n := range results { // each waits for the one before: the first for the gate
			go func() {
				r := request10Bits
				r.Renewal = n == 2
				_, results[n] = d.Assign(t.Context(), r)
			}()
			synctest.Wait()
		}
		close(gate)
		synctest.Wait()
		if !errors.Is(results[0], errLeaseGone) || results[1] != nil || !errors.Is(results[2], ErrRenewal) {
			t.Errorf("Assign() = %v, %v, and %v for the renewal; want ErrRenewal for that", results[0], results[1], results[2])
		}
	})
}
