package workerassign_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// ctx is the context of calls without a deadline.
var ctx = context.Background()

// noon is the start time of the clocks in these tests.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// requestAt returns the request of a generator whose clock shows now.
func requestAt(now time.Time) workerassign.Request {
	return workerassign.Request{Now: func() time.Time { return now }}
}

// D11: a negative worker ID is refused.
func TestD11NegativeStatic(t *testing.T) {
	for _, id := range []int64{-1, math.MinInt64} {
		lease, err := workerassign.Static(id).Assign(ctx, workerassign.Request{})
		if lease != nil || !errors.Is(err, workerassign.ErrOption) || !strings.Contains(err.Error(), fmt.Sprint(id)) {
			t.Errorf("Assign() of %d = %v, %v; want ErrOption with the value", id, lease, err)
		}
	}
}

// Invariant 1, for a worker ID that is used again: the interval of a lease begins after the end of all
// earlier leases, whatever the clock shows.
func TestInvariant1StaticSpansAreDisjoint(t *testing.T) {
	now := noon
	clock := func() time.Time { return now }
	a := workerassign.Static(0)
	end := now
	for range 5 {
		l, err := a.Assign(ctx, workerassign.Request{Now: clock})
		if err != nil || l.WorkerID() != 0 {
			t.Fatal(l, err)
		}
		if l.NotBefore().Before(end) {
			t.Errorf("a lease begins at %v, but the previous one ends at %v", l.NotBefore(), end)
		}
		for _, ahead := range []time.Duration{time.Hour, time.Second, 0, -time.Millisecond} {
			now = now.Add(time.Second)
			granted, err := l.Reserve(ctx, now.Add(ahead))
			want := now.Add(min(ahead, 0))
			if ahead > 0 {
				want = want.Add(1) // including a unit that begins exactly now
			}
			if err != nil || !granted.Until.Equal(want) {
				t.Errorf("at %v Reserve(%v ahead) = %v, %v; want %v", now, ahead, granted.Until, err, want)
			}
			if granted.Until.After(end) {
				end = granted.Until
			}
		}
		for range 2 {
			if err := l.Release(ctx, time.Time{}); err != nil {
				t.Error(err)
			}
		}
	}
}

// Two readings of the system clock can be equal, for example on Windows, where the clock advances every
// half a millisecond at best. A lease begins one nanosecond after the reading.
func TestStaticWithSystemClock(t *testing.T) {
	before := time.Now()
	l, err := workerassign.Static(9).Assign(ctx, workerassign.Request{})
	if err != nil || !l.NotBefore().After(before.Round(0)) || l.NotBefore().After(time.Now().Round(0).Add(1)) {
		t.Errorf("Assign() = %v, %v", l, err)
	}
	if begin := l.NotBefore(); begin != begin.Round(0) {
		t.Errorf("the lease begins at %v; want a time without a monotonic clock reading", begin)
	}
}

// Invariant 1: a Static has at most one lease, however many goroutines call Assign. The others receive
// an error.
func TestInvariant1StaticIsLeasedOnce(t *testing.T) {
	for name, a := range map[string]workerassign.Assigner{
		"static":              workerassign.Static(3),
		"prefixed":            workerassign.Prefix(workerassign.Static(3), 1, 2),
		"divided, two parts":  workerassign.Divide(workerassign.Static(3), 1),
		"divided, four parts": workerassign.Divide(workerassign.Static(3), 2),
		"prefixed, divided":   workerassign.Divide(workerassign.Prefix(workerassign.Static(3), 1, 2), 1),
	} {
		parts := map[string]int{"divided, two parts": 2, "divided, four parts": 4, "prefixed, divided": 2}[name]
		for round := range 3 {
			var (
				all    sync.WaitGroup
				mu     sync.Mutex
				leases = map[int64]workerassign.Lease{}
				inUse  atomic.Int64
			)
			for range 32 {
				all.Go(func() {
					l, err := a.Assign(ctx, workerassign.Request{MaxWorkerID: 1023})
					if err != nil {
						if l != nil || !errors.Is(err, workerassign.ErrInUse) || !strings.Contains(err.Error(), "worker ID 3 ") {
							t.Errorf("%s: Assign() = %v, %v; want ErrInUse with the worker ID", name, l, err)
						}
						inUse.Add(1)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					if leases[l.WorkerID()] != nil {
						t.Errorf("%s: worker ID %d has two leases", name, l.WorkerID())
					}
					leases[l.WorkerID()] = l
				})
			}
			all.Wait()
			if want := max(parts, 1); len(leases) != want || inUse.Load() != int64(32-want) {
				t.Fatalf("%s, round %d: %d leases, %d errors; want %d leases", name, round, len(leases), inUse.Load(), want)
			}
			// Only the release of the last part frees the worker ID.
			left := len(leases)
			for _, l := range leases {
				if _, err := a.Assign(ctx, workerassign.Request{MaxWorkerID: 1023}); !errors.Is(err, workerassign.ErrInUse) {
					t.Fatalf("%s: Assign() with %d unreleased leases = %v, want ErrInUse", name, left, err)
				}
				if err := l.Release(ctx, time.Now()); err != nil {
					t.Fatal(err)
				}
				left--
			}
		}
	}
}

// Two Statics with the same worker ID are independent. The caller must not use them concurrently.
func TestStaticsAreIndependent(t *testing.T) {
	for range 2 {
		if l, err := workerassign.Static(3).Assign(ctx, requestAt(noon)); err != nil || l.WorkerID() != 3 {
			t.Fatal(l, err)
		}
	}
}

// Invariant 1, after the clock was set back: a lease begins no earlier than the time that earlier leases
// of the same Static were granted or used.
func TestInvariant1StaticRemembers(t *testing.T) {
	for _, tt := range []struct {
		name           string
		granted, used  time.Duration // after noon; negative for none
		next, earliest time.Duration // the clock at the next Assign, and the earliest start of the next lease
	}{
		{"nothing used", -1, -1, -time.Hour, -time.Hour + 1},
		{"used, and the clock set back", 10 * time.Second, 9 * time.Second, -time.Hour, 9 * time.Second},
		{"used beyond the granted time, because the last unit began before", 9500 * time.Millisecond, 10 * time.Second, -time.Hour, 10 * time.Second},
		{"granted, and released without a used time", 10 * time.Second, -1, -time.Hour, 10*time.Second + 1},
		{"the clock has advanced", 10 * time.Second, 9 * time.Second, time.Minute, time.Minute + 1},
	} {
		a, now := workerassign.Static(3), noon
		l, err := a.Assign(ctx, workerassign.Request{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		if tt.granted >= 0 {
			now = noon.Add(tt.granted)
			if granted, err := l.Reserve(ctx, now.Add(time.Hour)); err != nil || !granted.Until.Equal(now.Add(1)) {
				t.Fatalf("%s: granted %v, %v", tt.name, granted.Until, err)
			}
		}
		var used time.Time
		if tt.used >= 0 {
			used = noon.Add(tt.used)
		}
		if err := l.Release(ctx, used); err != nil {
			t.Fatal(err)
		}
		next, err := a.Assign(ctx, requestAt(noon.Add(tt.next)))
		if err != nil {
			t.Fatal(err)
		}
		if begin := next.NotBefore(); begin.Before(noon.Add(tt.earliest)) || begin.After(noon.Add(max(tt.granted+1, tt.used, tt.next+1))) {
			t.Errorf("%s: the next lease begins %v after noon, want %v", tt.name, begin.Sub(noon), tt.earliest)
		}
		// Reserve grants time only up to the present, even if that is before the start of the lease.
		if granted, err := next.Reserve(ctx, noon.Add(24*time.Hour)); err != nil || !granted.Until.Equal(noon.Add(tt.next+1)) {
			t.Errorf("%s: Reserve() of the next lease = %v, %v", tt.name, granted.Until, err)
		}
	}
}

// A released lease grants no time, because another generator may use the worker ID.
func TestReserveAfterRelease(t *testing.T) {
	a := workerassign.Static(3)
	l, err := a.Assign(ctx, requestAt(noon))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.Release(ctx, noon); err != nil {
			t.Fatal(err)
		}
		if granted, err := l.Reserve(ctx, noon.Add(time.Hour)); !errors.Is(err, workerassign.ErrReleased) || !granted.Until.IsZero() {
			t.Errorf("Reserve() = %v, %v; want ErrReleased", granted.Until, err)
		}
	}
	if _, err := a.Assign(ctx, requestAt(noon)); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(ctx, noon); err != nil { // a second call must not release the new lease
		t.Fatal(err)
	}
	if _, err := a.Assign(ctx, requestAt(noon)); !errors.Is(err, workerassign.ErrInUse) {
		t.Errorf("Assign() = %v, want ErrInUse", err)
	}
}

// Static calls the user's clock without a lock, so a clock that calls Assign of the same Static does not
// deadlock.
func TestStaticCallsClockWithoutLock(t *testing.T) {
	a := workerassign.Static(3)
	var inner workerassign.Lease
	l, err := a.Assign(ctx, workerassign.Request{Now: func() time.Time {
		if inner == nil {
			inner, _ = a.Assign(ctx, requestAt(noon))
		}
		return noon
	}})
	if inner == nil || l != nil || !errors.Is(err, workerassign.ErrInUse) {
		t.Errorf("the leases are %v and %v, %v; want one lease and ErrInUse", inner, l, err)
	}
}

// Invariant 1, tested with generators: generators with one static worker ID generate no UID twice, one
// after the other and concurrently, with and without Divide.
func TestInvariant1GeneratorsOnOneStatic(t *testing.T) {
	for name, a := range map[string]workerassign.Assigner{
		"static":  workerassign.Static(3),
		"divided": workerassign.Divide(workerassign.Static(3), 1),
	} {
		seen, gens, refused := map[uid.ID]bool{}, []uid.Generator{}, 0
		for range 40 {
			g, err := uid.NewDefault(ctx, a, uid.WithTwitterLayout())
			if err != nil {
				if !errors.Is(err, workerassign.ErrInUse) {
					t.Fatal(err)
				}
				refused++
				i := rand.IntN(len(gens))
				if err := gens[i].Close(); err != nil {
					t.Fatal(err)
				}
				gens = append(gens[:i], gens[i+1:]...)
				continue
			}
			gens = append(gens, g)
			for _, g := range gens {
				for range 100 {
					id, err := g.Next()
					if err != nil {
						t.Fatal(err)
					}
					if seen[id] {
						t.Fatalf("%s: UID %d was generated twice", name, id)
					}
					seen[id] = true
				}
			}
		}
		for _, g := range gens {
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if refused < 10 {
			t.Errorf("%s: %d errors, want at least 10", name, refused)
		}
	}
}
