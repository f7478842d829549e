package ringbuffer

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestInitialPaddingFillsTheRing(t *testing.T) {
	r := newTestRing(t, Config{Capacity: 8, Provider: &countingProvider{length: 10}})
	st := r.Stats()
	if st.Fill != 80 || st.FillRuns != 8 || fmt.Sprint(st.Paddings) != "{1 0 0 0}" {
		t.Errorf("Stats() = %+v, want 8 runs of 10 by one initial padding", st)
	}
}

func TestImmediatePaddingBelowThreshold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTestRing(t, Config{Capacity: 8, PaddingFactor: 50, Provider: &countingProvider{length: 10}})
		for v := range int64(40) { // half the ring: the fill level is exactly at the threshold
			mustTake(t, r, v)
		}
		synctest.Wait()
		if st := r.Stats(); st.Fill != 40 || st.Paddings.Immediate != 0 {
			t.Fatalf("at the threshold: %+v", st)
		}
		mustTake(t, r, 40)
		synctest.Wait()
		if st := r.Stats(); st.FillRuns != 8 || st.Paddings.Immediate != 1 {
			t.Errorf("below the threshold: %+v", st)
		}
	})
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
			t.Errorf("Take() returned after %v, want 1 s", got)
		}
	})
}

// A run may be available earlier than a *NotYetError says, so the ring asks for it every second.
func TestNotYetIsRetriedEverySecond(t *testing.T) {
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
			t.Errorf("Take() took %v, want at most 10m2s", took)
		}
	})
}

// While the provider has no run, takers wait. The time in its *NotYetError is enough to wake them: no
// other event is necessary.
func TestNotYetIsRetriedOnTime(t *testing.T) {
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
						t.Errorf("take %d returned after %v", minute, got)
					}
				}
				if st := r.Stats(); st.FailedPaddings != 0 {
					t.Errorf("%d paddings failed", st.FailedPaddings)
				}
			})
		})
	}
}

// D5: in the original, each padding continues until a put is rejected, logs that, and loses the rest of
// that second. Here the provider is called only if there is room, and nothing is lost.
func TestD5PaddingLosesNothing(t *testing.T) {
	var log bytes.Buffer
	p := &countingProvider{length: 10}
	r := newTestRing(t, Config{Capacity: 4, Provider: p, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for want := range int64(10_000) {
		mustTake(t, r, want) // no gaps
	}
	r.Close()
	st := r.Stats()
	if st.RejectedPuts != 0 || log.Len() != 0 {
		t.Errorf("%d puts were rejected, and the log says %q", st.RejectedPuts, log.String())
	}
	if put := p.calls.Load() * p.length; put > 10_000+40 {
		t.Errorf("the provider returned %d integers for 10,000 takes and a ring of 40", put)
	}
}
