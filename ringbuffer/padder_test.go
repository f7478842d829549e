package ringbuffer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/leaktest"
)

func TestInitialPaddingFillsTheRing(t *testing.T) {
	r := newTestRing(t, Config{Capacity: 8, Provider: &countingProvider{length: 10}})
	st := r.Stats()
	if st.Fill != 80 || st.FillRuns != 8 || st.Paddings != [4]uint64{Initial: 1} {
		t.Errorf("Stats() = %+v, want 8 runs of 10 by one initial padding", st)
	}
}

func TestInitialPaddingThatFailsIsAnError(t *testing.T) {
	leaktest.Check(t)
	broken := errors.New("broken")
	_, err := New(context.Background(), Config{Provider: providerFunc(func(context.Context) (Run, error) { return Run{}, broken })})
	if !errors.Is(err, broken) {
		t.Errorf("New() = %v, want the provider's error", err)
	}
}

func TestImmediatePaddingAtTheThreshold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTestRing(t, Config{Capacity: 8, PaddingFactor: 50, Provider: &countingProvider{length: 10}})
		for v := range int64(40) { // half the ring: the fill level is at the threshold, not below it
			mustTake(t, r, v)
		}
		synctest.Wait()
		if st := r.Stats(); st.Fill != 40 || st.Paddings[Immediate] != 0 {
			t.Fatalf("at the threshold: %+v", st)
		}
		mustTake(t, r, 40)
		synctest.Wait()
		if st := r.Stats(); st.FillRuns != 8 || st.Paddings[Immediate] != 1 {
			t.Errorf("below the threshold: %+v", st)
		}
	})
}

func TestScheduledPaddingDropsWhatIsStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		second := func() int64 { return int64(time.Since(begin) / time.Second) }
		last := int64(-1)
		r := newTestRing(t, Config{
			Capacity: 4,
			Interval: time.Second,
			Stale:    func(first int64) bool { return first/10 < second()-2 },
			Provider: providerFunc(func(context.Context) (Run, error) {
				last = max(last+1, second())
				return Run{First: last * 10, Length: 10}, nil
			}),
		})
		mustTake(t, r, 0)
		time.Sleep(100*time.Second + time.Millisecond)
		synctest.Wait()
		v, err := r.Take(context.Background())
		if err != nil || v != 980 {
			t.Errorf("after 100 s Take() = %d, %v; want 980, of second 98", v, err)
		}
		st := r.Stats()
		if st.Dropped == 0 || st.Taken != 2 || st.Fill != 39 || st.Paddings[Scheduled] == 0 {
			t.Errorf("Stats() = %+v", st)
		}
	})
}

// D3: a padding of the original that fails leaves a mark set, and the ring is never padded
// again. Here failures and panics are counted, logged once an episode, and tried again.
func TestD3FailedPaddingIsTriedAgain(t *testing.T) {
	for name, fail := range map[string]func() (Run, error){
		"error":   func() (Run, error) { return Run{}, errors.New("boom") },
		"panic":   func() (Run, error) { panic("boom") },
		"bad run": func() (Run, error) { return Run{First: -1, Length: 1}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				var failing atomic.Bool
				good := &countingProvider{length: 10}
				r := newTestRing(t, Config{
					Capacity:   2,
					TakePolicy: Fail,
					Logger:     slog.New(slog.NewTextHandler(&log, nil)),
					Provider: providerFunc(func(ctx context.Context) (Run, error) {
						if failing.Load() {
							return fail()
						}
						return good.NextRun(ctx)
					}),
				})
				for episode := uint64(1); episode <= 2; episode++ {
					time.Sleep(logInterval)
					failing.Store(true)
					var err error
					for err == nil {
						_, err = r.Take(context.Background())
					}
					synctest.Wait()
					time.Sleep(10 * time.Second) // many tries
					if _, err = r.Take(context.Background()); !errors.Is(err, ErrEmpty) || !strings.HasPrefix(err.Error(), "ringbuffer: empty: ringbuffer: ") && name != "error" {
						t.Errorf("Take() = %v, want ErrEmpty with its cause", err)
					}
					st := r.Stats()
					if st.FailedPaddings < 10*episode || st.LastError == nil {
						t.Errorf("Stats() = %+v, want many failures", st)
					}
					failing.Store(false)
					time.Sleep(2 * maxFailureDelay)
					if st := r.Stats(); st.FillRuns != 2 || st.LastError != nil {
						t.Errorf("Stats() = %+v, want a full ring", st)
					}
					flushLog(t, r)
					if n := uint64(strings.Count(log.String(), "padding failed")); n != episode {
						t.Errorf("%d failures were logged in %d episodes", n, episode)
					}
					if n := uint64(strings.Count(log.String(), "padding works again")); n != episode {
						t.Errorf("%d recoveries were logged in %d episodes", n, episode)
					}
				}
			})
		})
	}
}

// D4: each take of the original below the threshold logs a line and queues a task. Here a
// million takes of a ring that cannot be filled write one line, and the provider is asked
// no faster for it.
func TestD4TakesNeitherLogNorQueue(t *testing.T) {
	var (
		log      bytes.Buffer
		failing  atomic.Bool
		failures atomic.Int64
	)
	r := newTestRing(t, Config{
		Capacity:   2,
		TakePolicy: Fail,
		Logger:     slog.New(slog.NewTextHandler(&log, nil)),
		Provider: providerFunc(func(context.Context) (Run, error) {
			if failing.Load() {
				failures.Add(1)
				return Run{}, errors.New("boom")
			}
			return Run{Length: 1}, nil
		}),
	})
	failing.Store(true)
	begin := time.Now()
	var takers sync.WaitGroup
	for range 4 {
		takers.Go(func() {
			for range 250_000 {
				r.Take(context.Background())
			}
		})
	}
	takers.Wait()
	for failures.Load() == 0 && time.Since(begin) < 10*time.Second {
		time.Sleep(time.Millisecond) // until the padder has had its turn
	}
	took := time.Since(begin)
	r.Close()
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("%d lines were logged, want 1", n)
	}
	// The backoff's first steps come to 10+20+40+… ms, then it is one try a second.
	if n, most := failures.Load(), int64(10+took/maxFailureDelay); n > most || n == 0 {
		t.Errorf("the provider was asked %d times in %v, want 1 to %d", n, took, most)
	}
}

// D4: nor does a provider that fails and works by turns write two lines each time.
func TestD4EpisodesAreLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		turn := 0
		r := newTestRing(t, Config{
			Capacity: 1,
			Logger:   slog.New(slog.NewTextHandler(&log, nil)),
			Provider: providerFunc(func(context.Context) (Run, error) {
				if turn++; turn%2 == 0 {
					return Run{}, errors.New("boom")
				}
				return Run{Length: 1}, nil
			}),
		})
		for begin := time.Now(); time.Since(begin) < 10*time.Minute; time.Sleep(100 * time.Millisecond) {
			r.Take(context.Background())
		}
		r.Close()
		if n := strings.Count(log.String(), "\n"); n < 10 || n > 22 {
			t.Errorf("%d lines were logged in ten minutes, want about 20", n)
		}
	})
}

// An outage is logged even if it begins soon after a shorter one.
func TestD3LongOutageIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var failing atomic.Bool
		r := newTestRing(t, Config{Capacity: 1, TakePolicy: Fail, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Provider: providerFunc(func(context.Context) (Run, error) {
				if failing.Load() {
					return Run{}, errors.New("boom")
				}
				return Run{Length: 1}, nil
			})})
		for _, long := range []time.Duration{time.Second, time.Hour} {
			failing.Store(true)
			for begin := time.Now(); time.Since(begin) < long; time.Sleep(100 * time.Millisecond) {
				r.Take(context.Background())
			}
			failing.Store(false)
			time.Sleep(2 * maxFailureDelay)
		}
		r.Close()
		if failed, works := strings.Count(log.String(), "padding failed"), strings.Count(log.String(), "works again"); failed != 2 || works != 2 {
			t.Errorf("%d outages and %d recoveries are logged of 2", failed, works)
		}
	})
}

// D6: where a provider sets back, runs that are stale lie behind some that are not.
func TestD6StaleRunsBehindOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		firsts := []int64{100, 200, 300, 10, 20, 400, 30, 500, 600}
		var old atomic.Int64
		r := newTestRing(t, Config{
			Capacity: 8,
			Interval: time.Second,
			Stale:    func(first int64) bool { return first < old.Load() },
			Provider: providerFunc(func(context.Context) (Run, error) {
				if len(firsts) == 0 {
					return Run{}, &NotYetError{After: time.Hour}
				}
				first := firsts[0]
				firsts = firsts[1:]
				return Run{First: first, Length: 10}, nil
			}),
		})
		time.Sleep(time.Minute)
		if n := r.Stats().Dropped; n != 0 {
			t.Errorf("%d integers were dropped, and none is stale", n)
		}
		old.Store(25)
		time.Sleep(2 * time.Second)
		mustTake(t, r, 400) // what lies before the last stale run is dropped with it, and the rest stays
		old.Store(35)
		time.Sleep(2 * time.Second)
		mustTake(t, r, 500)
		if n := r.Stats().Dropped; n != 50+9+10 {
			t.Errorf("%d integers were dropped", n)
		}
	})
}

// What was said not to be had for long may be had earlier, so it is asked for each second.
func TestNotYetIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ready atomic.Bool
		r := newTestRing(t, Config{Capacity: 1, TakePolicy: Wait, Provider: providerFunc(func(context.Context) (Run, error) {
			if !ready.Load() {
				return Run{}, &NotYetError{After: time.Hour}
			}
			return Run{Length: 1}, nil
		})})
		time.AfterFunc(10*time.Minute, func() { ready.Store(true) })
		begin := time.Now()
		mustTake(t, r, 0)
		if took := time.Since(begin); took > 10*time.Minute+2*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// D5: each padding of the original runs into the full ring, logs, and loses the rest of
// that second. Here the provider is asked only when there is room, and nothing is lost.
func TestD5PaddingLosesNothing(t *testing.T) {
	var log bytes.Buffer
	p := &countingProvider{length: 10}
	r := newTestRing(t, Config{Capacity: 4, Provider: p, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for want := range int64(10_000) {
		mustTake(t, r, want) // without a gap
	}
	r.Close()
	st := r.Stats()
	if st.RejectedPuts != 0 || log.Len() != 0 {
		t.Errorf("%d puts were rejected, and the log says %q", st.RejectedPuts, log.String())
	}
	if put := p.calls.Load() * p.length; put > 10_000+40 {
		t.Errorf("%d integers were made for 10,000 and a ring of 40", put)
	}
}

// D7: a take handler of the original that does not throw falls through to a place that was
// never filled. Here a policy that does nothing is asked again, and none makes a take
// return what was not put.
func TestD7PolicyThatDoesNothing(t *testing.T) {
	asked := 0
	r, err := newRing(Config{Capacity: 1, TakePolicy: takePolicyFunc(func(_ context.Context, r *Ring) error {
		if asked++; asked == 5 {
			mustPut(t, r, 42, 1)
		}
		return nil
	})}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	mustTake(t, r, 42)
	if asked != 5 {
		t.Errorf("the policy was asked %d times, want 5", asked)
	}
}

// D8: the threshold of a small ring is not 0, and that of a great one does not overflow.
func TestD8Threshold(t *testing.T) {
	for _, tt := range []struct {
		capacity, factor int
		want             uint64
	}{
		{1, 50, 0}, // one run is full until it is spent
		{2, 1, 1}, {2, 50, 1}, {2, 99, 1},
		{8, 1, 1}, {8, 50, 4}, {8, 51, 5}, {8, 99, 7},
		{MaxCapacity, 99, 1038091},
	} {
		if got := (Config{Capacity: tt.capacity, PaddingFactor: tt.factor}).lowWatermark(); got != tt.want {
			t.Errorf("threshold of %d runs at %d %% = %d, want %d", tt.capacity, tt.factor, got, tt.want)
		}
	}
}

type takePolicyFunc func(context.Context, *Ring) error

func (f takePolicyFunc) OnEmpty(ctx context.Context, r *Ring) error { return f(ctx, r) }

type putPolicyFunc func(context.Context, *Ring, Run) error

func (f putPolicyFunc) OnFull(ctx context.Context, r *Ring, run Run) error { return f(ctx, r, run) }

func TestUsersPutPolicy(t *testing.T) {
	var rejected []Run
	mine := errors.New("mine")
	r := newTestRing(t, Config{Capacity: 1, TakePolicy: Fail, PutPolicy: putPolicyFunc(func(_ context.Context, _ *Ring, run Run) error {
		rejected = append(rejected, run)
		return mine
	})})
	mustPut(t, r, 0, 1)
	if err := r.Put(context.Background(), Run{First: 1, Length: 2}); err != mine {
		t.Errorf("Put() = %v, want the policy's error", err)
	}
	if len(rejected) != 1 || rejected[0] != (Run{First: 1, Length: 2}) {
		t.Errorf("the policy saw %v", rejected)
	}
}

func TestDiscardLogsWhatItDiscards(t *testing.T) {
	var log bytes.Buffer
	r := newTestRing(t, Config{Capacity: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	mustPut(t, r, 0, 1)
	if err := r.Put(context.Background(), Run{First: 17, Length: 2}); !errors.Is(err, ErrFull) {
		t.Errorf("Put() = %v, want ErrFull", err)
	}
	flushLog(t, r)
	if !strings.Contains(log.String(), "first=17 length=2") {
		t.Errorf("the log says %q", log.String())
	}
}

// A provider that is not ready leaves waiting takers waiting; no other way of waking them
// than its own time is needed.
func TestNotYetIsAskedAgainInTime(t *testing.T) {
	for _, policy := range []TakePolicy{CallerPads, Wait} {
		t.Run(fmt.Sprint(policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ready := time.Now().Add(time.Minute)
				r := newTestRing(t, Config{Capacity: 1, TakePolicy: policy, Provider: providerFunc(func(context.Context) (Run, error) {
					if d := time.Until(ready); d > 0 {
						return Run{}, &NotYetError{After: d}
					}
					ready = ready.Add(time.Minute)
					return Run{First: 5, Length: 1}, nil
				})})
				begin := time.Now()
				for minute := 1; minute <= 3; minute++ {
					mustTake(t, r, 5)
					if got := time.Since(begin); got != time.Duration(minute)*time.Minute {
						t.Errorf("take %d came after %v", minute, got)
					}
				}
				if st := r.Stats(); st.FailedPaddings != 0 {
					t.Errorf("%d paddings failed", st.FailedPaddings)
				}
			})
		})
	}
}

func TestKickDoesNotWaitForTheRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ready atomic.Bool
		r := newTestRing(t, Config{TakePolicy: Wait, Provider: providerFunc(func(context.Context) (Run, error) {
			if !ready.Load() {
				return Run{}, &NotYetError{After: time.Hour}
			}
			return Run{First: 5, Length: 1}, nil
		})})
		go func() {
			time.Sleep(time.Second)
			ready.Store(true)
			r.Kick()
		}()
		begin := time.Now()
		mustTake(t, r, 5)
		if got := time.Since(begin); got != time.Second {
			t.Errorf("the take came after %v, want 1 s", got)
		}
	})
}

func TestExhaustedProvider(t *testing.T) {
	end := fmt.Errorf("the end: %w", ErrExhausted)
	for _, policy := range []TakePolicy{CallerPads, Wait, Fail} {
		t.Run(fmt.Sprint(policy), func(t *testing.T) {
			left := 3
			r := newTestRing(t, Config{Capacity: 2, TakePolicy: policy, Provider: providerFunc(func(context.Context) (Run, error) {
				if left == 0 {
					return Run{}, end
				}
				left--
				return Run{First: int64(2 - left), Length: 1}, nil
			})})
			got := int64(0)
			eventually(t, "the end is reached", func() bool {
				v, err := r.Take(context.Background())
				if err == nil {
					if v != got {
						t.Fatalf("took %d, want %d", v, got)
					}
					got++
				}
				return errors.Is(err, ErrExhausted)
			})
			if got != 3 {
				t.Errorf("%d integers came before the end, want all 3", got)
			}
			for range 3 {
				if _, err := r.Take(context.Background()); err != end {
					t.Errorf("Take() = %v, want the provider's error", err)
				}
				if err := r.Wait(context.Background()); err != end {
					t.Errorf("Wait() = %v, want the provider's error", err)
				}
			}
		})
	}
}

func TestWaitingEnds(t *testing.T) {
	never := providerFunc(func(context.Context) (Run, error) {
		return Run{}, &NotYetError{After: time.Hour, Reason: errors.New("no luck")}
	})
	for _, policy := range []TakePolicy{CallerPads, Wait} {
		t.Run(fmt.Sprintf("%v/context", policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newTestRing(t, Config{TakePolicy: policy, Provider: never})
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				_, err := r.Take(ctx)
				if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrEmpty) || !strings.Contains(err.Error(), "no luck") {
					t.Errorf("Take() = %v, want what ended it and why", err)
				}
			})
		})
		t.Run(fmt.Sprintf("%v/close", policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newTestRing(t, Config{TakePolicy: policy, Provider: never})
				var takers sync.WaitGroup
				for range 10 {
					takers.Go(func() {
						if _, err := r.Take(context.Background()); !errors.Is(err, ErrClosed) {
							t.Errorf("Take() = %v, want ErrClosed", err)
						}
					})
				}
				synctest.Wait()
				r.Close()
				takers.Wait()
			})
		})
	}
}

// A taker that pads waits for a provider that is slow, but not beyond its context.
func TestCallerWaitsForWhoeverPads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		r := newTestRing(t, Config{Capacity: 1, Provider: providerFunc(func(ctx context.Context) (Run, error) {
			if calls++; calls == 1 {
				return Run{Length: 1}, nil
			}
			select {
			case <-time.After(time.Minute):
				return Run{First: int64(calls), Length: 1}, nil
			case <-ctx.Done():
				return Run{}, ctx.Err()
			}
		})})
		mustTake(t, r, 0)
		first, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		var takers sync.WaitGroup
		takers.Go(func() {
			if _, err := r.Take(first); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Take() = %v, want the context's end", err)
			}
		})
		takers.Go(func() {
			time.Sleep(time.Millisecond)
			if _, err := r.Take(context.Background()); err != nil {
				t.Errorf("Take() = %v", err)
			}
		})
		takers.Wait()
	})
}

func TestCloseIsFinal(t *testing.T) {
	leaktest.Check(t)
	r := newTestRing(t, Config{Capacity: 2, Provider: &countingProvider{length: 100}, Interval: time.Millisecond})
	mustTake(t, r, 0)
	for range 2 {
		if err := r.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	}
	for range 3 {
		if _, ok := r.TryTake(); ok {
			t.Error("TryTake() found something")
		}
		if _, err := r.Take(context.Background()); err != ErrClosed {
			t.Errorf("Take() = %v, want ErrClosed", err)
		}
		if _, _, err := r.Claim(context.Background(), 5); err != ErrClosed {
			t.Errorf("Claim() = %v, want ErrClosed", err)
		}
		if err := r.Put(context.Background(), Run{Length: 1}); err != ErrClosed {
			t.Errorf("Put() = %v, want ErrClosed", err)
		}
		if err := r.Wait(context.Background()); err != ErrClosed {
			t.Errorf("Wait() = %v, want ErrClosed", err)
		}
		if err := r.Pad(context.Background()); err != ErrClosed {
			t.Errorf("Pad() = %v, want ErrClosed", err)
		}
	}
}

// Close in the middle of takes: each take returns an integer or ErrClosed, no provider is
// called afterwards, and no goroutine is left; a few hundred times over.
func TestCloseInTheMiddle(t *testing.T) {
	leaktest.Check(t)
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	for range rounds {
		p := &countingProvider{length: 3}
		r := newTestRing(t, Config{Capacity: 2, Provider: p})
		var takers sync.WaitGroup
		for range 4 {
			takers.Go(func() {
				for {
					if _, err := r.Take(context.Background()); err != nil {
						if err != ErrClosed {
							t.Errorf("Take() = %v, want ErrClosed", err)
						}
						return
					}
				}
			})
		}
		time.Sleep(200 * time.Microsecond)
		r.Close()
		calls := p.calls.Load()
		takers.Wait()
		if after := p.calls.Load(); after != calls {
			t.Fatalf("the provider was called %d times after Close", after-calls)
		}
	}
}

func TestTakesAllocateNothing(t *testing.T) {
	r := newTestRing(t, Config{Capacity: 8, Provider: &countingProvider{length: 1 << 40}})
	empty := newRingWithoutProvider(t, 1, 0)
	for name, f := range map[string]func(){
		"TryTake":               func() { r.TryTake() },
		"Take":                  func() { r.Take(context.Background()) },
		"Claim":                 func() { r.Claim(context.Background(), 64) },
		"Take of an empty ring": func() { empty.Take(context.Background()) },
	} {
		if n := testing.AllocsPerRun(1000, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

// OnSchedule is called each time the schedule comes round, before stale runs are dropped, and
// not for any other padding.
func TestOnSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var events []string
		note := func(event string) {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, event)
		}
		seen := func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(events)
		}
		r := newTestRing(t, Config{
			Capacity: 4, Provider: &countingProvider{length: 10}, Interval: time.Second,
			OnSchedule: func() { note("schedule") },
			Stale:      func(int64) bool { note("stale"); return false },
		})
		for v := range int64(35) {
			mustTake(t, r, v)
		}
		synctest.Wait()
		if got := seen(); len(got) != 0 {
			t.Errorf("before the schedule: %q", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := seen(); !slices.Equal(got, []string{"schedule", "stale", "schedule", "stale"}) {
			t.Errorf("%q", got)
		}
	})
}
