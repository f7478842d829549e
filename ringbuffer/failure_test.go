package ringbuffer

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/leaktest"
)

func TestNewReturnsErrorOfInitialPadding(t *testing.T) {
	leaktest.Check(t)
	broken := errors.New("broken")
	_, err := New(context.Background(), Config{Provider: providerFunc(func(context.Context) (Run, error) { return Run{}, broken })})
	if !errors.Is(err, broken) {
		t.Errorf("New() = %v, want the provider's error", err)
	}
}

// D3: in the original, a failed padding leaves a flag set, and the ring is never padded again. Here
// failures are counted, logged once in each series of failures, and retried.
func TestD3FailedPaddingIsRetried(t *testing.T) {
	for name, fail := range map[string]func() (Run, error){
		"error":   func() (Run, error) { return Run{}, errors.New("boom") },
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
				for series := uint64(1); series <= 2; series++ {
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
					if st.FailedPaddings < 10*series || st.LastError == nil {
						t.Errorf("Stats() = %+v, want many failures", st)
					}
					failing.Store(false)
					time.Sleep(2 * maxFailureDelay)
					if st := r.Stats(); st.FillRuns != 2 || st.LastError != nil {
						t.Errorf("Stats() = %+v, want a full ring", st)
					}
					flushLog(t, r)
					if n := uint64(strings.Count(log.String(), "padding failed")); n != series {
						t.Errorf("%d failures were logged in %d series of failures", n, series)
					}
					if n := uint64(strings.Count(log.String(), "padding works again")); n != series {
						t.Errorf("%d recoveries were logged in %d series of failures", n, series)
					}
				}
			})
		})
	}
}

// D3: a series of failures is logged even if it begins soon after a shorter one.
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
			t.Errorf("%d series of failures and %d recoveries were logged, want 2 and 2", failed, works)
		}
	})
}

// D4: in the original, each take below the threshold logs a line and queues a task. Here a million takes
// of a ring that cannot be filled log one line, and do not make the ring call the provider more often.
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
	testkit.Eventually(t, "a padding has failed", func() bool { return r.Stats().FailedPaddings > 0 })
	r.Close()
	flushLog(t, r)
	took := time.Since(begin)
	if n, most := strings.Count(log.String(), "\n"), 1+int(took/time.Minute); n < 1 || n > most {
		t.Errorf("%d lines were logged in %v, want 1 to %d", n, took, most)
	}
	// The first delays are 10+20+40+… ms; after that there is one try per second.
	if n, most := failures.Load(), int64(10+took/maxFailureDelay); n > most {
		t.Errorf("the provider was called %d times in %v, want at most %d", n, took, most)
	}
}

// D4: if the provider fails and succeeds alternately, only one series of failures per minute is logged.
func TestD4FailuresAreLoggedOncePerMinute(t *testing.T) {
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

// A series of failures is logged if the last one that was logged began a minute ago, and not a nanosecond earlier. A run that comes
// late, without a failure, is no recovery.
func TestFailuresAreLoggedAfterAMinute(t *testing.T) {
	for _, tt := range []struct {
		after time.Duration
		want  []string
	}{
		{time.Minute, []string{"padding failed, trying again", "padding works again", "padding failed, trying again"}},
		{time.Minute - 1, []string{"padding failed, trying again", "padding works again"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log []string
			var next error
			r := newTestRing(t, Config{
				Capacity: 1,
				Logger: slog.New(handlerFunc(func(record slog.Record) {
					log = append(log, strings.TrimPrefix(record.Message, "ringbuffer: "))
				})),
				Provider: providerFunc(func(context.Context) (Run, error) { return Run{Length: 1}, next }),
			})
			take := func(ctx context.Context, err error) {
				synctest.Wait() // the padder may have woken at this instant too
				next = err
				r.Take(ctx)
				synctest.Wait() // for the padder
				flushLog(t, r)
			}
			failure, begin := errors.New("boom"), time.Now()
			take(t.Context(), failure) // takes the run that is there
			take(t.Context(), failure)
			take(t.Context(), nil)
			soon, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			take(soon, &NotYetError{})
			take(t.Context(), nil)
			time.Sleep(tt.after - time.Since(begin))
			take(t.Context(), failure) // takes a run, if the padder has put one
			take(t.Context(), failure)
			if !slices.Equal(log, tt.want) {
				t.Errorf("another failure %v after the first one: logged %q, want %q", tt.after, log, tt.want)
			}
		})
	}
}

// Without a logger, failures are logged to slog.Default(), so that a new user of the package sees them.
// An error that New returns is not logged in addition.
func TestFailuresAreLoggedByDefault(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	if _, err := New(context.Background(), Config{Provider: providerFunc(func(context.Context) (Run, error) {
		return Run{}, errors.New("boom")
	})}); err == nil {
		t.Fatal("New() succeeded")
	}
	p := &failingProvider{countingProvider: countingProvider{length: 1}}
	r, err := New(context.Background(), Config{Capacity: 1, Provider: p})
	if err != nil {
		t.Fatal(err)
	}
	p.fails.Store(true)
	r.Take(context.Background())
	r.Take(context.Background())
	r.Close()
	flushLog(t, r)
	if n := strings.Count(log.String(), "padding failed, trying again"); n != 1 {
		t.Errorf("the failure was logged %d times in %q, want 1", n, log.String())
	}
}
