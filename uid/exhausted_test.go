package uid

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fakeclock"
	"github.com/ringuid/ringuid/workerassign"
)

// D2: the original's cached mode never checks the end of the time bits, and then returns negative UIDs.
// Here both kinds of generator return every UID up to the last one, and then always the same error.
func TestD2TimeBitsEnd(t *testing.T) {
	for _, left := range []int{1, 2, 20} {
		t.Run(fmt.Sprintf("%d units left", left), func(t *testing.T) { testTimeBitsEnd(t, left-1) })
	}
}

// testTimeBitsEnd takes UIDs up to the end of the time bits, which is a number of units after the
// clock's unit.
func testTimeBitsEnd(t *testing.T, unitsAfter int) {
	l := layout(t, 28, 22, 3)
	epoch := time.Date(2016, 5, 20, 0, 0, 0, 0, time.UTC)
	last := epoch.Add((1<<28 - 1) * time.Second)
	for _, mode := range modes {
		for _, policy := range []TakePolicy{CallerPads, Wait, Fail} {
			fake := fakeclock.New(last.Add(-time.Duration(unitsAfter) * time.Second))
			var log testkit.Buffer
			g, err := mode.make(context.Background(), new(disposableAssigner), WithLayout(l), WithEpoch(epoch), WithClock(fake),
				WithTakePolicy(policy), logInto(&log))
			if err != nil {
				t.Fatal(err)
			}
			got, before := 0, ID(-1)
			testkit.Eventually(t, mode.name+" returns ErrTimeExhausted", func() bool {
				for {
					id, err := g.Next()
					if err != nil { // with policy Fail, possibly that the ring is empty
						return errors.Is(err, ErrTimeExhausted)
					}
					if id <= before || g.Parse(id).WorkerID != 1 {
						t.Fatalf("%s/%v: %v after %d", mode.name, policy, g.Parse(id), before)
					}
					if got, before = got+1, id; got%8 == 0 && mode.name == "Default" {
						fake.Advance(time.Second) // otherwise Default waits for it
					}
				}
			})
			if want := (unitsAfter + 1) * 8; got != want || before != ID(l.AllocateUnchecked(l.MaxDelta(), 1, 7)) {
				t.Errorf("%s/%v: %d UIDs, the last one %v; want %d", mode.name, policy, got, g.Parse(before), want)
			}
			for range 3 {
				id, err := g.Next()
				if !errors.Is(err, ErrTimeExhausted) || id != 0 || !strings.Contains(err.Error(), "time unit is 268435456; must be 0 to 268435455") {
					t.Errorf("%s/%v: Next() = %d, %v; want ErrTimeExhausted with the values", mode.name, policy, id, err)
				}
				if n, err := g.NextN(make([]ID, 2)); n != 0 || !errors.Is(err, ErrTimeExhausted) {
					t.Errorf("%s/%v: NextN() = %d, %v", mode.name, policy, n, err)
				}
				fake.Advance(1000 * time.Hour)
			}
			g.Close()
			flushLog(t, g)
			if !strings.Contains(log.String(), "less than a year") {
				t.Errorf("%s/%v: the log has no warning: %s", mode.name, policy, log.String())
			}
			if _, err := g.Next(); err != ErrClosed {
				t.Errorf("%s/%v: after Close Next() = %v", mode.name, policy, err)
			}
		}
	}
}

// D2: once the time bits are exhausted, they remain so until Close, whatever the wall clock shows.
func TestD2EndIsPermanent(t *testing.T) {
	for _, policy := range []RollbackPolicy{RideOut(), WaitOut(time.Hour), Refuse()} {
		for _, l := range []struct{ time, worker, sequence int }{{4, 3, 4}, {1, 1, 61}} {
			fake := fakeclock.New(noon)
			d := newDefault(t, new(disposableAssigner), WithClock(fake), WithEpoch(noon.Truncate(time.Second)), WithRollback(policy),
				WithLayout(layout(t, l.time, l.worker, l.sequence)))
			next(t, d)
			fake.Advance(time.Hour)
			for _, step := range []time.Duration{0, -time.Hour, -48 * time.Hour, 48 * time.Hour} {
				fake.Step(step)
				if id, err := d.Next(); !errors.Is(err, ErrTimeExhausted) || id != 0 {
					t.Errorf("%v, after a step by %v: Next() = %d, %v", policy, step, id, err)
				}
			}
			d.Close()
			if id, err := d.Next(); err != ErrClosed || id != 0 {
				t.Errorf("Next() = %d, %v, want ErrClosed", id, err)
			}
		}
	}
}

// D2: a generator that runs into the last year logs one warning then, as one that starts in it does.
func TestD2WarnsWhileRunning(t *testing.T) {
	for _, mode := range modes {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			g, err := mode.make(context.Background(), new(disposableAssigner), WithEpoch(bubbleEpoch), WithLayout(layout(t, 25, 20, 4)), // 388 days
				logInto(&log), WithScheduleInterval(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			warnings := func() int { return strings.Count(log.String(), "the time bits end in less than a year") }
			next(t, g)
			time.Sleep(20 * 24 * time.Hour)
			next(t, g)
			if n := warnings(); n != 0 {
				t.Errorf("%s: %d warnings more than a year before the end", mode.name, n)
			}
			for range 10 {
				time.Sleep(24 * time.Hour)
				next(t, g)
			}
			g.Close()
			if n := warnings(); n != 1 {
				t.Errorf("%s: %d warnings, want 1", mode.name, n)
			}
		})
	}
}

// D2: time bits that end after two units. Each way of taking returns exactly the UIDs that fit, in
// order, and then always ErrTimeExhausted.
func TestD2EveryWayOfTakingEnds(t *testing.T) {
	l := layout(t, 28, 22, 3)
	last := DefaultEpoch().Add((1<<28 - 1) * time.Second)
	for way := range 4 {
		c := newCached(t, new(disposableAssigner), WithLayout(l), WithClock(fakeclock.New(last.Add(-time.Second))), WithScheduleInterval(0))
		take, ids := waysToTake(c)[way](), make([]ID, 1)
		if way == 3 {
			ids = make([]ID, 16) // breaking the loop over an iterator loses the rest of its block
		}
		got, before := 0, ID(-1)
		var err error
		for err == nil {
			var n int
			n, err = take(ids)
			for _, id := range ids[:n] {
				if id <= before {
					t.Errorf("way %d: %d after %d", way, id, before)
				}
				before = id
			}
			got += n
		}
		if got != 16 || before != ID(l.AllocateUnchecked(l.MaxDelta(), 1, 7)) || !errors.Is(err, ErrTimeExhausted) {
			t.Errorf("way %d: %d UIDs to %v, then %v", way, got, c.Parse(before), err)
		}
		for _, way := range waysToTake(c) {
			for range 3 {
				if n, err := way()(ids); n != 0 || !errors.Is(err, ErrTimeExhausted) {
					t.Errorf("after the end: %d, %v", n, err)
				}
			}
		}
	}
}

// D2: callers wait for the last unit of the time bits as for any other one, and get its UIDs.
func TestD2LastUnitIsWaitedFor(t *testing.T) {
	testkit.WithoutRace(t)
	for _, a := range []workerassign.Assigner{new(disposableAssigner), workerassign.Static(5)} {
		synctest.Test(t, func(t *testing.T) {
			d := newDefault(t, a, WithEpoch(bubbleEpoch), WithLayout(layout(t, 17, 20, 2)))
			last := bubbleEpoch.Add((1<<17 - 1) * time.Second)
			time.Sleep(time.Until(last) - time.Second)
			for n := range 8 {
				if p := d.Parse(next(t, d)); p.Delta != 1<<17-2+int64(n/4) {
					t.Errorf("%T: UID %d has the unit %d", a, n, p.Delta)
				}
			}
			if id, err := d.Next(); !errors.Is(err, ErrTimeExhausted) {
				t.Errorf("%T: after the last UID Next() = %d, %v", a, id, err)
			}
		})
	}
}

// D2: "less than a year" is less than 365 days.
func TestD2WarnsBelowAYear(t *testing.T) {
	end := mustFormat(t).End()
	for _, tt := range []struct {
		left time.Duration
		want int
	}{{365 * 24 * time.Hour, 0}, {365*24*time.Hour - 1, 1}} {
		var log bytes.Buffer
		c := newCached(t, new(disposableAssigner), WithClock(fakeclock.New(end.Add(-tt.left))), logInto(&log), WithScheduleInterval(0))
		flushLog(t, c)
		if n := strings.Count(log.String(), "less than a year"); n != tt.want {
			t.Errorf("%v before the end: %d warnings, want %d: %s", tt.left, n, tt.want, log.String())
		}
	}
}
