package uid

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
)

// Invariants 1 to 4 together: 16 goroutines take UIDs in all ways, and a set of bits records each UID.
// With one lease UIDs increase in each goroutine; with rollovers they need not.
func TestInvariant3ManyUIDs(t *testing.T) {
	total := testkit.Amount[int64](1_000_000, 10_000_000, 200_000_000)
	t.Run("one lease", func(t *testing.T) {
		c := newCached(t, new(disposableAssigner), WithMaxBorrow(2_000*24*time.Hour)) // enough for all of them
		begin := time.Now()
		takeConcurrently(t, c, 16, total, true)
		if st := c.Stats(); st.Rollovers != 0 {
			t.Errorf("%d rollovers", st.Rollovers)
		}
		t.Logf("%d UIDs in %v", total, time.Since(begin))
	})
	t.Run("rollovers", func(t *testing.T) {
		a := new(disposableAssigner)
		c := newCached(t, a, WithMaxBorrow(time.Minute))
		takeConcurrently(t, c, 16, total, false)
		st := c.Stats()
		if total > 2*60*8192 && st.Rollovers == 0 {
			t.Error("there was no rollover")
		}
		if ahead := st.Ahead; ahead > time.Minute {
			t.Errorf("UID time is %v ahead, more than the borrow limit of a minute", ahead)
		}
		t.Logf("%d rollovers", st.Rollovers)
	})
}

// The same with rings that are empty most of the time: sequences of 1 to 4 bits, boost powers 0 and 1,
// each take policy, several values of GOMAXPROCS.
func TestInvariant3TinyRings(t *testing.T) {
	total := testkit.Amount[int64](50_000, 300_000, 10_000_000)
	for bits := 1; bits <= 4; bits++ {
		for power := 0; power <= 1; power++ {
			for _, policy := range []TakePolicy{CallerPads, Wait, Fail} {
				for _, procs := range []int{1, 2, 4} {
					t.Run(fmt.Sprintf("sequence=%d/boost=%d/%v/procs=%d", bits, power, policy, procs), func(t *testing.T) {
						defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
						c := newCached(t, new(disposableAssigner), WithLayout(layout(t, 40, 4, bits)),
							WithBoostPower(power), WithTakePolicy(policy), WithMaxBorrow(100*365*24*time.Hour))
						takeConcurrently(t, c, 16, total/16, true)
					})
				}
			}
		}
	}
}

// Default, with a sequence that is so wide that it rarely waits.
func TestInvariant3Default(t *testing.T) {
	d := newDefault(t, new(disposableAssigner), WithLayout(layout(t, 31, 4, 28)))
	takeConcurrently(t, d, 16, testkit.Amount[int64](200_000, 2_000_000, 20_000_000), true)
}

// Default with a narrow sequence, so that it waits for several units.
func TestInvariant3DefaultWaits(t *testing.T) {
	d := newDefault(t, new(disposableAssigner), WithLayout(layout(t, 33, 20, 10)), WithTimeUnit(100*time.Millisecond))
	begin := time.Now()
	takeConcurrently(t, d, 4, 5*1024, true)
	if took := time.Since(begin); took < 300*time.Millisecond { // of five units, the first one and the last one may be short
		t.Errorf("5 × 1,024 UIDs took %v, want at least 300 ms", took)
	}
}

// UIDs increase in happens-before order: a token passes from goroutine to goroutine, while others take
// UIDs as fast as they can.
func TestOrderAcrossGoroutines(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			const goroutines, rounds = 8, 2_000
			g, err := mode.make(context.Background(), new(disposableAssigner), WithLayout(layout(t, 31, 12, 20)), WithBoostPower(1))
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			var others, passing sync.WaitGroup
			stop := make(chan struct{})
			for range 2 {
				others.Go(func() {
					batch := make([]ID, 5)
					for {
						select {
						case <-stop:
							return
						default:
							g.Next()
							g.NextN(batch)
						}
					}
				})
			}
			tokens := make([]chan ID, goroutines)
			for n := range tokens {
				tokens[n] = make(chan ID, 1)
			}
			for n := range goroutines {
				passing.Go(func() {
					for range rounds {
						before := <-tokens[n]
						id, err := g.Next()
						if err != nil || id <= before {
							t.Errorf("took %d (%v) after %d", id, err, before)
						}
						tokens[(n+1)%goroutines] <- id
					}
				})
			}
			tokens[0] <- -1
			passing.Wait()
			close(stop)
			others.Wait()
		})
	}
}

// Invariant 3: goroutines that only take meet at the last UID of a Default generator as often as possible.
func TestInvariant3DefaultContended(t *testing.T) {
	const takers, each = 4, 200_000
	d := newDefault(t, new(disposableAssigner), WithLayout(layout(t, 31, 4, 28)))
	var ids [takers][]ID
	var all sync.WaitGroup
	start := make(chan struct{})
	for n := range takers {
		ids[n] = make([]ID, each)
		all.Go(func() {
			<-start
			for m := range ids[n] {
				id, err := d.Next()
				if err != nil {
					t.Error(err)
					return
				}
				ids[n][m] = id
			}
		})
	}
	close(start)
	all.Wait()
	sorted := slices.Sorted(slices.Values(slices.Concat(ids[:]...)))
	if n := len(slices.Compact(sorted)); n != takers*each {
		t.Errorf("%d of %d UIDs are distinct", n, takers*each)
	}
}
