package workerassign

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// What was used of a divided worker ID is the most that was used of its parts, in whatever
// order they come back. One that was not taken, or not stamped with, counts for nothing.
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
			mustRelease(t, leases[n], noon.Add(time.Hour)) // again, which does nothing
			if i < 3 && len(got) > 0 {
				t.Fatal("given back before the last part")
			}
		}
		if len(got) != 1 || !got[0].Equal(want) {
			t.Errorf("given back as used up to %v, want %v once", got, want)
		}
	}
	// Of a lost one, whose other parts were never taken.
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
		t.Errorf("given back as used up to %v, want %v once", got, noon)
	}
}

// The parts come back from many goroutines: one of them gives the worker ID back.
func TestDivideReleasedByMany(t *testing.T) {
	for range 200 {
		inner := countFrom(1)
		a := Divide(inner, 3)
		var all sync.WaitGroup
		for range 8 {
			l := mustAssign(t, a)
			for range 2 { // a caller too many must not count for another's part
				all.Go(func() { mustRelease(t, l, time.Now()) })
			}
		}
		all.Wait()
		if n := inner.released.Load(); n != 1 {
			t.Fatalf("given back %d times", n)
		}
	}
}

// That the worker ID is not given back is told to the generator that gives back the last part,
// and to nobody else.
func TestDivideReleaseFails(t *testing.T) {
	releases := 0
	store, inner := newScriptedStore(scriptedLease{release: func(context.Context, time.Time) error { releases++; return errLeaseGone }})
	a := Divide(store, 1)
	first, last := mustAssign(t, a), mustAssign(t, a)
	mustRelease(t, first, time.Time{})
	if err := last.Release(context.Background(), time.Time{}); !errors.Is(err, errLeaseGone) {
		t.Errorf("%v, want %v", err, errLeaseGone)
	}
	mustRelease(t, first, time.Time{})
	mustRelease(t, last, time.Time{})
	if next := mustAssign(t, a); next.WorkerID() != 2 || releases != 1 || inner.assigned.Load() != 2 {
		t.Errorf("the next is of %d; given back %d times", next.WorkerID(), releases)
	}
}

// A part that was given back is extended no more, though the others are; and its failure says
// nothing of them.
func TestDivideReleasedPartGrantsNothing(t *testing.T) {
	ctx := context.Background()
	asked := 0
	store, inner := newScriptedStore(scriptedLease{reserve: func(context.Context, time.Time) (time.Time, error) {
		asked++
		return Unbounded(), nil
	}})
	a := Divide(store, 2)
	released, held := mustAssign(t, a), mustAssign(t, a)
	mustRelease(t, released, time.Time{})
	if granted, err := released.Reserve(ctx, time.Now()); !errors.Is(err, ErrReleased) || !granted.IsZero() || asked != 0 {
		t.Errorf("granted %v, %v", granted, err)
	}
	if _, err := held.Reserve(ctx, time.Now()); err != nil {
		t.Error(err)
	}
	if mustAssign(t, a); inner.assigned.Load() != 1 {
		t.Errorf("%d worker IDs", inner.assigned.Load())
	}
}

// An idle Divide keeps its worker ID for the generators to come, so that starts within a process
// cost parts of it, not worker IDs.
func TestDivideIsKeptForLater(t *testing.T) {
	inner := countFrom(1)
	a := Divide(inner, 2)
	for n := range int64(8) {
		mustRelease(t, mustAssign(t, a), time.Time{})
		if got := inner.released.Load(); got != (n+1)/4 {
			t.Errorf("%d were given back after %d generators, one after the other", got, n+1)
		}
	}
	if n := inner.assigned.Load(); n != 2 {
		t.Errorf("%d worker IDs for 8 generators", n)
	}
}
