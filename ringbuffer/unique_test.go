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

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/leaktest"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
)

// Invariant 3: each integer of a run is handed out at most once. Invariant 6: the integers that are
// handed out are those that were claimed, whatever fails meanwhile. The rings have one to four runs of a
// few integers, so they are often empty. The indexes of the runs wrap in the middle. All take policies
// are tested.
func TestInvariant3TinyRings(t *testing.T) {
	total := testkit.Amount[int64](100_000, 400_000, 4_000_000)
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

// takeConcurrently takes at least total integers with 16 goroutines, by TryTake, Take and Claim. It
// checks that all integers differ and that Stats.Taken is exact.
func takeConcurrently(t *testing.T, cfg Config, length, total int64) {
	leaktest.Check(t)
	p := &countingProvider{length: length}
	cfg.Provider = p
	r, err := newRing(cfg, math.MaxUint64-uint64(total/length/2))
	if err != nil {
		t.Fatal(err)
	}
	wait, err := r.fill(context.Background(), &r.counters.paddings.initial)
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
		t.Errorf("%d of %d integers are distinct", n, got.Load())
	}
	if st := r.Stats(); st.Taken != uint64(got.Load()) {
		t.Errorf("Stats().Taken = %d, want %d", st.Taken, got.Load())
	}
	r.Close()
	if st := r.Stats(); st.Taken != uint64(got.Load()) {
		t.Errorf("Stats().Taken = %d after Close, want %d", st.Taken, got.Load())
	}
}

// D1: in the original, a take uses a cursor that it has read before its compare-and-set, so a taker that
// is suspended in between may get the same integer as another. Here a taker is suspended between its two
// steps while the ring goes round more than once: it finds a run that is used up.
func TestD1TakerSuspendedForOneRound(t *testing.T) {
	r := newRingWithoutProvider(t, 2, 0)
	mustPut(t, r, 0, 2)
	mustTake(t, r, 0)
	suspended := r.current.Load() // the suspended taker has loaded this run, of which one integer is left
	mustTake(t, r, 1)
	for v := int64(2); v < 20; v += 2 {
		mustPut(t, r, v, 2) // reuses the slot of the suspended taker's run several times
		mustTake(t, r, v)
		mustTake(t, r, v+1)
	}
	mustPut(t, r, 20, 2)
	if first, got := suspended.claim(1); got != 0 {
		t.Errorf("the suspended taker got %d a second time", first)
	}
	if n := suspended.taken.Add(1) - 1; n < suspended.length {
		t.Errorf("the suspended taker got %d a second time, as by TryTake", suspended.first+int64(n))
	}
	if !r.advance(suspended) {
		t.Error("advance() = false for the suspended taker, although the ring has a run")
	}
	mustTake(t, r, 20)
}

// D1: two takers compete for the last integer, many times. Exactly one of them gets it.
func TestD1OneIntegerForTwoTakers(t *testing.T) {
	rounds := testkit.Amount(10_000, 20_000, 20_000)
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
			t.Fatalf("round %d: %d takers got the integer, want 1", round, n)
		}
	}
}

// Invariant 3 with counters near 2^64: takers of an empty ring increase the counter of the used-up run,
// and it must never wrap to 0.
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
				for range 5_000 { // in total more than is left to 2^64
					if v, err := r.Take(context.Background()); err == nil {
						t.Errorf("took %d from a run that is used up", v)
					}
				}
			})
		}
		takers.Wait()
	}
}

// D8: with a run of the greatest length, neither its bounds nor the size of a claim overflow.
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
