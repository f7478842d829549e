package uid

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fakeclock"
)

// bubbleClock is the clock of a synctest bubble, with a wall clock that can be set back or forward.
type bubbleClock struct{ step atomic.Int64 }

func (c *bubbleClock) set(step time.Duration) { c.step.Store(int64(step)) }

func (c *bubbleClock) Now() time.Time {
	return time.Now().Round(0).Add(time.Duration(c.step.Load()))
}

func (c *bubbleClock) Monotonic() time.Duration {
	return time.Since(bubbleEpoch)
}

// A step back of the wall clock, under each policy. The wall clock catches up later.
func TestRollbackPolicies(t *testing.T) {
	for _, tt := range []struct {
		name   string
		policy RollbackPolicy
		back   time.Duration
		takes  time.Duration // the expected duration of the three takes after the step
		err    bool
	}{
		{"ride out", RideOut(), time.Hour, 0, false},
		{"ride out, a unit", RideOut(), time.Second, 0, false},
		{"wait out, short", WaitOut(10 * time.Second), 5 * time.Second, 4*time.Second + time.Millisecond, false},
		{"wait out, the bound", WaitOut(10 * time.Second), 10*time.Second + 999*time.Millisecond, 10 * time.Second, false},
		{"wait out, too long", WaitOut(10 * time.Second), 11 * time.Second, 0, true},
		{"refuse", Refuse(), 2 * time.Second, 0, true},
		{"refuse, within the unit", Refuse(), 999 * time.Millisecond, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				clock := new(bubbleClock)
				d := newDefault(t, new(disposableAssigner), WithEpoch(bubbleEpoch), WithClock(clock), WithRollback(tt.policy),
					logInto(&log))
				time.Sleep(999 * time.Millisecond) // to the end of a unit
				before := next(t, d)
				clock.set(-tt.back)
				begin := time.Now()
				for range 3 { // one step back
					id, err := d.Next()
					switch {
					case tt.err && (!errors.Is(err, ErrClockBack) || id != 0 || !strings.Contains(err.Error(), (tt.back-999*time.Millisecond).String())):
						t.Fatalf("Next() = %d, %v", id, err)
					case !tt.err && (err != nil || id <= before):
						t.Fatalf("Next() = %d, %v after %d", id, err, before)
					case !tt.err:
						before = id
					}
				}
				if took := time.Since(begin); took != tt.takes {
					t.Errorf("the takes took %v, want %v", took, tt.takes)
				}
				time.Sleep(tt.back + time.Second) // until the wall clock shows the time before the step
				clock.set(0)
				if id := next(t, d); id <= before {
					t.Errorf("%d after %d", id, before)
				}
				episodes := uint64(1)
				if tt.back < time.Second {
					episodes = 0
				}
				if n := d.Stats().Rollbacks; n != episodes {
					t.Errorf("%d steps back were counted, want %d", n, episodes)
				}
				synctest.Wait() // until the record is written
				if n := strings.Count(log.String(), "was set back"); n != int(episodes) {
					t.Errorf("logged %d times:\n%s", n, log.String())
				}
				if episodes == 0 {
					return
				}
				clock.set(-tt.back)
				d.Next()
				if n := d.Stats().Rollbacks; n != 2*episodes {
					t.Errorf("%d steps back were counted after the second one, want %d", n, 2*episodes)
				}
			})
		})
	}
}

// A taker that waits for the clock is woken by its context and by Close.
func TestWaitingForTheClockEnds(t *testing.T) {
	fake := fakeclock.New(noon)
	d := newDefault(t, new(disposableAssigner), WithClock(fake), WithRollback(WaitOut(time.Hour)))
	next(t, d)
	fake.Step(-time.Minute)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if id, err := d.NextContext(ctx); !errors.Is(err, context.DeadlineExceeded) || id != 0 {
		t.Errorf("NextContext() = %d, %v", id, err)
	}
	time.AfterFunc(10*time.Millisecond, func() { d.Close() })
	if id, err := d.Next(); err != ErrClosed || id != 0 {
		t.Errorf("Next() = %d, %v", id, err)
	}
}

func TestD11RollbackOptions(t *testing.T) {
	expectConstructorError(t, modes[1].name, modes[1].make, new(disposableAssigner), ErrOption, "rollback policy is the zero value", WithRollback(RollbackPolicy{}))
	expectConstructorError(t, modes[1].name, modes[1].make, new(disposableAssigner), ErrOption, "the bound of WaitOut is -1s", WithRollback(WaitOut(-time.Second)))
}

// Under RideOut a step back counts if it takes the wall clock at least a unit further behind than it was when one was counted last,
// or when it had caught up by a unit.
func TestRollbacksAreCountedByUnits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := new(bubbleClock)
		d := newDefault(t, new(disposableAssigner), WithEpoch(bubbleEpoch), WithClock(clock))
		for _, tt := range []struct {
			behind time.Duration
			want   uint64
		}{
			{0, 0}, {999 * time.Millisecond, 0}, {5 * time.Second, 1}, {5500 * time.Millisecond, 1}, {5999 * time.Millisecond, 1},
			{4 * time.Second, 1}, {5 * time.Second, 2}, {6 * time.Second, 3}, {5001 * time.Millisecond, 3}, {6001 * time.Millisecond, 3}, {0, 3}, {time.Second, 4},
		} {
			clock.set(-tt.behind)
			next(t, d)
			if n := d.Stats().Rollbacks; n != tt.want {
				t.Errorf("%v behind: %d steps back were counted, want %d", tt.behind, n, tt.want)
			}
		}
	})
}

// A Cached generator counts and logs steps back in the same way: when it generates a run, and at a scheduled padding while nobody
// takes UIDs.
func TestCachedCountsRollbacks(t *testing.T) {
	for _, idle := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			clock := new(bubbleClock)
			more := []any{WithClock(clock), logInto(&log)}
			if !idle {
				more = append(more, WithScheduleInterval(0))
			}
			c := newCached(t, new(disposableAssigner), smallOptions(t, more...)...)
			for _, tt := range []struct {
				behind time.Duration
				want   uint64
			}{{0, 0}, {999 * time.Millisecond, 0}, {5 * time.Second, 1}, {0, 1}, {time.Hour, 2}, {time.Hour, 2}} {
				clock.set(-tt.behind)
				time.Sleep(2 * time.Second)
				if !idle {
					for range 100 { // some runs
						next(t, c)
					}
				}
				if n := c.Stats().Rollbacks; n != tt.want {
					t.Errorf("idle: %v: %v behind: %d steps back were counted, want %d", idle, tt.behind, n, tt.want)
				}
			}
			synctest.Wait() // until the records are written
			if n := strings.Count(log.String(), "the wall clock was set back"); n != 2 {
				t.Errorf("idle: %v: logged %d times:\n%s", idle, n, log.String())
			}
		})
	}
}

// wrongClock is a clock whose next readings are wrong: they are an hour back.
type wrongClock struct {
	bubbleClock
	wrong atomic.Int64
}

func (c *wrongClock) Now() time.Time {
	if c.wrong.Add(-1) >= 0 {
		return c.bubbleClock.Now().Add(-time.Hour)
	}
	return c.bubbleClock.Now()
}

// A wrong reading or two are not a step: if Next returns a UID, no step back is counted.
func TestWrongReadingIsNoStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := new(wrongClock)
		d := newDefault(t, new(disposableAssigner), WithEpoch(bubbleEpoch), WithClock(clock), WithRollback(Refuse()))
		next(t, d)
		refused := 0
		for wrong := range int64(10) {
			clock.wrong.Store(wrong)
			if _, err := d.Next(); err != nil {
				refused++
			} else if n := d.Stats().Rollbacks; n != 0 {
				t.Errorf("%d steps back were counted after %d wrong readings", n, wrong)
				break
			}
			clock.wrong.Store(0)
			if refused > 0 {
				break
			}
		}
		if refused != 1 {
			t.Error("ten wrong readings are not taken for a step back")
		}
	})
}

// However many goroutines meet a step back, it is counted once.
func TestStepIsCountedOnce(t *testing.T) {
	rounds := testkit.Amount[time.Duration](300, 500, 2_000)
	for _, policy := range []RollbackPolicy{RideOut(), Refuse()} {
		clock := fakeclock.New(noon)
		d := newDefault(t, new(disposableAssigner), WithClock(clock), WithRollback(policy))
		next(t, d)
		for n := range rounds {
			clock.Step(-2 * time.Second)
			begin := make(chan struct{})
			var takers sync.WaitGroup
			for range 4 {
				takers.Go(func() {
					<-begin
					d.Next()
				})
			}
			close(begin)
			takers.Wait()
			if got := d.Stats().Rollbacks; got != uint64(n)+1 {
				t.Errorf("%v: %d steps back were counted, want %d", policy, got, n+1)
				break
			}
			if policy == Refuse() {
				clock.Step(2 * time.Second) // until the wall clock has caught up, it is the same step
				clock.Advance(time.Second)
				next(t, d)
			}
		}
	}
}
