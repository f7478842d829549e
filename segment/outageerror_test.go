package segment

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
)

// After an outage that lasts too long, the error says what has failed and since when. The Sequence works again by
// itself.
func TestErrorAfterOutage(t *testing.T) {
	testkit.WithoutRace(t)
	for name, test := range map[string]struct {
		fail  func(context.Context, Request) error
		cause error
	}{"down": {down, errDown}, "hangs": {hang, context.DeadlineExceeded}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := newTraffic(t)
				tr.run(time.Hour, steady(20))
				var firstFailed time.Time
				tries := 0
				begin := time.Now()
				n := tr.outage(time.Hour, func(ctx context.Context, r Request) error {
					tries++
					err := test.fail(ctx, r)
					if firstFailed.IsZero() {
						firstFailed = time.Now()
					}
					return err
				}, steady(20))
				if n == 0 || firstFailed.Sub(begin) > 15*time.Minute {
					t.Fatalf("%d calls noticed the outage; the first try failed after %v", n, firstFailed.Sub(begin))
				}
				tr.src.fail(test.fail)
				_, err := tr.s.Next()
				var empty *EmptyError
				if !errors.As(err, &empty) || !errors.Is(err, ErrEmpty) || !errors.Is(err, test.cause) || !errors.Is(empty.Cause, test.cause) ||
					!errors.Is(empty.Wait, errNotInTime) || empty.Tag != testTag || empty.Source != "memory" {
					t.Fatalf("Next() = %v", err)
				}
				if !empty.Since.Equal(firstFailed) || empty.Tries < tries-1 || empty.Tries > tries+4 {
					t.Errorf("Since is %v and Tries %d, want %v and about %d", empty.Since, empty.Tries, firstFailed, tries)
				}
				// Another try may have failed at the same instant of the bubble's clock, after Next has returned.
				if st := tr.s.Stats(); !st.FailingSince.Equal(firstFailed) || st.FailedTries-uint64(empty.Tries) > 1 || !errors.Is(st.LastError, test.cause) {
					t.Errorf("Stats() = %+v", st)
				}
				if h := tr.s.Health(); h.OK() || !h.FailingSince.Equal(firstFailed) || !errors.Is(h.Err, test.cause) || h.Buffered != 0 || h.For != 0 {
					t.Errorf("Health() = %+v", h)
				}
				tr.src.fail(nil)
				time.Sleep(6 * time.Second)
				tr.noticed = 0
				tr.run(time.Minute, steady(20))
				if tr.noticed != 0 {
					t.Errorf("%d calls waited after the outage", tr.noticed)
				}
				if st := tr.s.Stats(); st.LastError != nil || !st.FailingSince.IsZero() {
					t.Errorf("Stats() = %+v", st)
				}
			})
		})
	}
}

// After an outage that has emptied the memory for long, all ranges have the tag's step, as at the start, because nothing was handed out
// lately. The rate is that before the outage: neither its time, nor that between the ranges, in which hardly a number is taken, counts.
func TestSizesAfterOutage(t *testing.T) {
	for _, capacity := range []int{2, 8} {
		for name, burst := range map[string]int{"no callers": 0, "callers have waited": 50} {
			t.Run(fmt.Sprintf("%d ranges/%s", capacity, name), func(t *testing.T) {
				if burst == 0 {
					testkit.WithoutRace(t)
				}
				synctest.Test(t, func(t *testing.T) {
					tr := newTraffic(t, WithCapacity(capacity))
					tr.run(time.Hour, steady(20))
					tr.outage(time.Hour, down, steady(20))
					before := len(tr.src.calls())
					var callers sync.WaitGroup
					for range burst {
						callers.Go(func() { tr.s.Next() })
					}
					synctest.Wait()
					tr.src.fail(func(context.Context, Request) error { time.Sleep(time.Millisecond); return nil })
					time.Sleep(time.Minute)
					callers.Wait()
					calls := tr.src.calls()[before:]
					if len(calls) < capacity {
						t.Fatalf("the source was asked %d times", len(calls))
					}
					for _, r := range calls {
						if r.Size != tr.src.step {
							t.Errorf("the source was asked for %d numbers, want the step", r.Size)
						}
					}
					// A range of 75 s or more, and 20 numbers at one instant, which may be that of its arrival.
					if st := tr.s.Stats(); st.Rate < 20-0.3 || st.Rate > 20+0.3 {
						t.Errorf("the rate is %v, want that before the outage", st.Rate)
					}
				})
			})
		}
	}
}
