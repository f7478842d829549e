package ringbuffer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ringuid/ringuid/internal/leaktest"
	"github.com/ringuid/ringuid/internal/uniq"
)

// Invariant 3: each integer of a run is handed out at most once. Invariant 6: what is
// handed out is what was claimed, whatever fails meanwhile. Rings of one to four tiny runs
// are dry all the time; run numbers wrap in the middle; the policies take turns.
func TestInvariant3TinyRings(t *testing.T) {
	total := int64(400_000)
	if testing.Short() {
		total = 40_000
	}
	for _, procs := range []int{1, 2, 8} {
		for _, policy := range []TakePolicy{CallerPads, Wait, Fail} {
			for _, capacity := range []int{1, 2, 4} {
				for _, length := range []int64{1, 2, 7} {
					name := fmt.Sprintf("procs=%d/%v/runs=%d/length=%d", procs, policy, capacity, length)
					t.Run(name, func(t *testing.T) {
						defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
						takeConcurrently(t, Config{Capacity: capacity, TakePolicy: policy}, length, total/54)
						takeConcurrently(t, Config{Capacity: capacity, TakePolicy: policy, Assist: true}, length, total/54)
					})
				}
			}
		}
	}
}

// hammer takes at least total integers with 16 goroutines, by TryTake, Take and Claim, and
// checks that all differ and that the ring's own count of them is exact.
func takeConcurrently(t *testing.T, cfg Config, length, total int64) {
	leaktest.Check(t)
	p := &countingProvider{length: length}
	cfg.Provider = p
	r, err := newRing(cfg, math.MaxUint64-uint64(total/length/2))
	if err != nil {
		t.Fatal(err)
	}
	wait, err := r.fill(context.Background(), Initial)
	if err != nil {
		t.Fatal(err)
	}
	r.startPadder(wait)

	var (
		seen  uniq.Set
		got   atomic.Int64
		taker sync.WaitGroup
	)
	for g := range 16 {
		taker.Go(func() {
			w := seen.Writer()
			for got.Load() < total {
				first, n := int64(0), int64(0)
				var err error
				switch g % 3 {
				case 0:
					if v, ok := r.TryTake(); ok {
						first, n = v, 1
					} else {
						first, n, err = r.Claim(context.Background(), 1)
					}
				case 1:
					n = 1
					first, err = r.Take(context.Background())
				case 2:
					first, n, err = r.Claim(context.Background(), 3)
				}
				if errors.Is(err, ErrEmpty) && cfg.TakePolicy == Fail {
					runtime.Gosched()
					continue
				}
				if err != nil {
					t.Errorf("take: %v", err)
					return
				}
				for v := first; v < first+n; v++ {
					if !w.Add(v) {
						t.Errorf("%d was handed out twice", v)
					}
				}
				got.Add(n)
			}
		})
	}
	taker.Wait()
	if n := seen.Len(); n != got.Load() {
		t.Errorf("%d integers are distinct of %d", n, got.Load())
	}
	if st := r.Stats(); st.Taken != uint64(got.Load()) {
		t.Errorf("Stats().Taken = %d, want %d", st.Taken, got.Load())
	}
	r.Close()
	if st := r.Stats(); st.Taken != uint64(got.Load()) {
		t.Errorf("Stats().Taken = %d after Close, want %d", st.Taken, got.Load())
	}
}

// D1: a take of the original decides from a cursor that it read before its compare-and-set,
// so a taker that sleeps in between gets what another one has. Here a taker sleeps between
// its two steps for a whole lap of the ring and more: it finds a spent run.
func TestD1TakerSleepsThroughALap(t *testing.T) {
	r := newRingWithoutProvider(t, 2, 0)
	mustPut(t, r, 0, 2)
	mustTake(t, r, 0)
	asleep := r.current.Load() // one integer is left, and this taker is about to take it
	mustTake(t, r, 1)
	for v := int64(2); v < 20; v += 2 {
		mustPut(t, r, v, 2) // over and over through the place that the sleeper's run had
		mustTake(t, r, v)
		mustTake(t, r, v+1)
	}
	mustPut(t, r, 20, 2)
	if first, got := asleep.claim(1); got != 0 {
		t.Errorf("the sleeper got %d again", first)
	}
	if n := asleep.taken.Add(1) - 1; n < asleep.length {
		t.Errorf("the sleeper got %d again, by the fast path", asleep.first+int64(n))
	}
	if !r.advance(asleep) {
		t.Error("the sleeper believes that the ring is empty")
	}
	mustTake(t, r, 20)
}

// D1: two takers and one integer left, over and over: one gets it, the other one does not.
func TestD1OneLeftForTwo(t *testing.T) {
	rounds := 20_000
	if testing.Short() {
		rounds = 2_000
	}
	r := newRingWithoutProvider(t, 1, 0)
	for round := range int64(rounds) {
		mustPut(t, r, round, 1)
		var (
			winners atomic.Int32
			both    sync.WaitGroup
		)
		for range 2 {
			both.Go(func() {
				if v, err := r.Take(context.Background()); err == nil {
					winners.Add(1)
					if v != round {
						t.Errorf("took %d, want %d", v, round)
					}
				}
			})
		}
		both.Wait()
		if n := winners.Load(); n != 1 {
			t.Fatalf("round %d: %d takers got the one integer", round, n)
		}
	}
}

// Invariant 3 with counters near their end: takers that find the ring empty carry the
// counter of the spent run on, and it must never come round to 0.
func TestInvariant3CounterNearItsEnd(t *testing.T) {
	r := newRingWithoutProvider(t, 1, 0)
	mustPut(t, r, 7, 3)
	for want := int64(7); want < 10; want++ {
		mustTake(t, r, want)
	}
	for _, near := range []uint64{math.MaxInt64 - 5, math.MaxUint64 - 1_000} {
		r.current.Load().taken.Store(near)
		var takers sync.WaitGroup
		for range 8 {
			takers.Go(func() {
				for range 5_000 { // in all more than there is to the end
					if v, err := r.Take(context.Background()); err == nil {
						t.Errorf("took %d from a spent run", v)
					}
				}
			})
		}
		takers.Wait()
	}
}

// The longest run there is: neither its bounds nor a claim's size overflow.
func TestD8LongestRun(t *testing.T) {
	r := newRingWithoutProvider(t, 1, 0)
	mustPut(t, r, 0, math.MaxInt64)
	first, got, err := r.Claim(context.Background(), math.MaxInt64)
	if err != nil || first != 0 || got != maxClaim {
		t.Fatalf("Claim = %d, %d, %v; want %d from 0 on", first, got, err, int64(maxClaim))
	}
	s := r.current.Load()
	s.taken.Store(math.MaxInt64 - 2)
	mustTake(t, r, math.MaxInt64-2)
	mustTake(t, r, math.MaxInt64-1)
	if v, err := r.Take(context.Background()); !errors.Is(err, ErrEmpty) {
		t.Errorf("Take() = %d, %v; want ErrEmpty", v, err)
	}
}
