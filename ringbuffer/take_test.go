package ringbuffer

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
)

func TestClaimEndsWithRun(t *testing.T) {
	r := newRingWithoutProvider(t, 2, 0)
	mustPut(t, r, 10, 5)
	mustPut(t, r, 100, 5)
	ctx := context.Background()
	for _, want := range []struct{ n, first, got int64 }{{2, 10, 2}, {10, 12, 3}, {2, 100, 2}} {
		first, got, err := r.Claim(ctx, want.n)
		if err != nil || first != want.first || got != want.got {
			t.Errorf("Claim(%d) = %d, %d, %v; want %d, %d", want.n, first, got, err, want.first, want.got)
		}
	}
	mustPut(t, r, 200, 5)
	for _, want := range []struct{ n, first, got int64 }{{10, 102, 3}, {10, 200, 5}, {10, 0, 0}} { // also over the end of a run
		if first, got := r.TryClaim(want.n); first != want.first || got != want.got {
			t.Errorf("TryClaim(%d) = %d, %d; want %d, %d", want.n, first, got, want.first, want.got)
		}
	}
	if rejected := r.Stats().RejectedTakes; rejected != 0 {
		t.Errorf("TryClaim has called the take policy %d times", rejected)
	}
	if _, got, err := r.Claim(ctx, 1); got != 0 || !errors.Is(err, ErrEmpty) {
		t.Errorf("Claim of an empty ring got %d, %v", got, err)
	}
	for _, n := range []int64{0, -1, math.MinInt64} {
		if _, got, err := r.Claim(ctx, n); got != 0 || !errors.Is(err, ErrConfig) {
			t.Errorf("Claim(%d) got %d, %v; want ErrConfig", n, got, err)
		}
		mustPut(t, r, 300, 5)
		if _, got := r.TryClaim(n); got != 0 {
			t.Errorf("TryClaim(%d) got %d, want 0", n, got)
		}
		if first, got := r.TryClaim(5); first != 300 || got != 5 {
			t.Errorf("TryClaim(5) = %d, %d; want 300, 5", first, got)
		}
	}
}

func TestTakesDoNotAllocate(t *testing.T) {
	r := newTestRing(t, Config{Capacity: 8, Provider: &countingProvider{length: 1 << 40}})
	empty := newRingWithoutProvider(t, 1, 0)
	for name, f := range map[string]func(){
		"TryTake":               func() { r.TryTake() },
		"Take":                  func() { r.Take(context.Background()) },
		"Claim":                 func() { r.Claim(context.Background(), 64) },
		"TryClaim":              func() { r.TryClaim(64) },
		"Take of an empty ring": func() { empty.Take(context.Background()) },
	} {
		if n := testing.AllocsPerRun(1000, f); n != 0 {
			t.Errorf("%s allocates %v times, want 0", name, n)
		}
	}
}

// If one take returns before another starts, the second gets the later integer. The goroutines pass a
// token, so that their takes come one after another.
func TestOrderAcrossGoroutines(t *testing.T) {
	r := newTestRing(t, Config{Capacity: 2, Provider: &countingProvider{length: 3}})
	const goroutines, rounds = 8, 3_000
	tokens := make([]chan int64, goroutines)
	for g := range tokens {
		tokens[g] = make(chan int64, 1)
	}
	var all sync.WaitGroup
	stop := make(chan struct{})
	for range 2 { // other goroutines take concurrently
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					r.Take(context.Background())
				}
			}
		})
	}
	var passing sync.WaitGroup
	for g := range goroutines {
		passing.Go(func() {
			for range rounds {
				before := <-tokens[g]
				v, err := r.Take(context.Background())
				if err != nil || v <= before {
					t.Errorf("took %d (%v) after %d", v, err, before)
				}
				tokens[(g+1)%goroutines] <- v
			}
		})
	}
	tokens[0] <- -1
	passing.Wait()
	close(stop)
	all.Wait()
}

// A run is put after Wait has found none, and before it waits. Wait returns.
func TestRunIsPutBeforeWaitWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRingWithoutProvider(t, 1, 0)
		r.testHookWait = func() { mustPut(t, r, 3, 1) }
		waited := make(chan error, 1)
		go func() { waited <- r.Wait(context.Background()) }()
		synctest.Wait()
		select {
		case err := <-waited:
			if err != nil {
				t.Errorf("Wait() = %v", err)
			}
		default:
			t.Error("Wait still waits, although the ring has a run")
		}
	})
}
