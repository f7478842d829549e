package uid

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/fakeclock"
	"github.com/ringuid/ringuid/internal/leaktest"
	"github.com/ringuid/ringuid/ringbuffer"
	"github.com/ringuid/ringuid/workerassign"
)

func TestCachedIsFullFromTheStart(t *testing.T) {
	c := newCached(t, new(numbers), WithClock(fakeclock.New(noon)))
	st := c.Stats()
	if st.Fill != 65_536 || st.FillLevel != 1 || st.Paddings != (Paddings{Initial: 1}) || st.Issued != 0 || st.WorkerID != 1 {
		t.Errorf("Stats() = %+v", st)
	}
	if want := noon.Truncate(time.Second).Sub(noon); st.Ahead != want {
		t.Errorf("Ahead = %v, want %v", st.Ahead, want)
	}
	if st.Format != c.Format() || !st.End.Equal(c.Format().End()) {
		t.Errorf("Stats() = %+v", st)
	}
	for sequence := range int64(8192) {
		p := c.Parse(next(t, c))
		if !p.Time.Equal(noon.Truncate(time.Second)) || p.WorkerID != 1 || p.Sequence != sequence {
			t.Fatalf("UID %d is %v", sequence, p)
		}
	}
	if p := c.Parse(next(t, c)); !p.Time.Equal(noon.Truncate(time.Second).Add(time.Second)) || p.Sequence != 0 {
		t.Errorf("the first UID of the second run is %v", p)
	}
}

func TestCachedNextN(t *testing.T) {
	c := newCached(t, new(numbers))
	for _, n := range []int{0, 1, 8191, 8192, 8193, 100_000} {
		dst := make([]ID, n)
		got, err := c.NextN(dst)
		if got != n || err != nil {
			t.Fatalf("NextN(%d) = %d, %v", n, got, err)
		}
		for i := 1; i < n; i++ {
			if dst[i] <= dst[i-1] {
				t.Fatalf("NextN(%d): %d comes after %d", n, dst[i], dst[i-1])
			}
		}
	}
}

// D6: the original reads the clock once, at start, so that an idle service stamps ever older
// times. Here an idle hour leaves UIDs within the bound of a few seconds, at 1 UID a second
// as well.
func TestD6IdleStaysFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCached(t, new(numbers), WithEpoch(bubbleEpoch))
		check := func() {
			t.Helper()
			p := c.Parse(next(t, c))
			if lag := time.Since(p.Time); lag > DefaultMaxStaleness || lag < -9*time.Second {
				t.Errorf("%v lies %v behind the clock", p, lag)
			}
			if ahead := c.Stats().Ahead; ahead < -DefaultMaxStaleness {
				t.Errorf("Stats().Ahead = %v", ahead)
			}
		}
		check()
		time.Sleep(time.Hour + 123*time.Millisecond)
		check()
		for range 60 {
			time.Sleep(time.Second)
			check()
		}
		if st := c.Stats(); st.Issued != 62 || st.Dropped < 3500*8192 || st.Paddings.Scheduled < 3500 || st.Rollovers != 0 {
			t.Errorf("Stats() = %+v", st)
		}
	})
}

// D6: the original runs ahead of the clock without bound. Here UID time stays within the
// bound: by other leases, or where there are to be none, by the take policy.
func TestD6BusyStaysWithinTheBound(t *testing.T) {
	l := layout(t, 31, 27, 5)
	t.Run("rollover", func(t *testing.T) {
		a := new(numbers)
		c := newCached(t, a, WithLayout(l), WithBoostPower(1), WithMaxBorrow(10*time.Second))
		for range 20_000 {
			if p := c.Parse(next(t, c)); time.Until(p.Time) > 10*time.Second {
				t.Fatalf("%v lies %v ahead", p, time.Until(p.Time))
			}
		}
		st := c.Stats()
		// 32 UIDs a second, 11 or 12 seconds a lease.
		if st.Rollovers < 20_000/(32*12)-1 || st.Rollovers > 20_000/(32*10) {
			t.Errorf("%d rollovers for 20,000 UIDs at about 352 a lease", st.Rollovers)
		}
		if spent := a.next.Load(); spent > int64(st.Rollovers)+2 {
			t.Errorf("%d worker IDs were spent on %d rollovers: one in use and one in advance are enough", spent, st.Rollovers)
		}
		c.Close()
		if a.released.Load() != a.next.Load() {
			t.Errorf("%d leases were given back of %d", a.released.Load(), a.next.Load())
		}
	})
	t.Run("no rollover", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for _, policy := range []TakePolicy{CallerPads, Wait, Fail} {
				c := newCached(t, new(numbers), WithEpoch(bubbleEpoch), WithLayout(l), WithBoostPower(1),
					WithMaxBorrow(10*time.Second), WithRollover(false), WithTakePolicy(policy))
				begin := time.Now()
				for got := 0; got < 32*30; {
					id, err := c.Next()
					if policy == Fail && errors.Is(err, ErrEmpty) {
						time.Sleep(time.Millisecond)
						continue
					}
					if err != nil {
						t.Fatal(err)
					}
					if p := c.Parse(id); time.Until(p.Time) > 10*time.Second {
						t.Fatalf("%v lies %v ahead", p, time.Until(p.Time))
					}
					got++
				}
				if took := time.Since(begin); took < 18*time.Second || took > 21*time.Second {
					t.Errorf("%v: 30 seconds' UIDs, 11 of them at once, took %v", policy, took)
				}
				c.Close()
			}
		})
	})
}

// However great the load, leases come no faster than the interval says; meanwhile the layout's
// rate flows at the bound.
func TestRolloverInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := new(numbers)
		c := newCached(t, a, WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 27, 5)), WithBoostPower(1),
			WithMaxBorrow(10*time.Second), WithRolloverInterval(time.Minute))
		begin, taken := time.Now(), 0
		for ; time.Since(begin) < 5*time.Minute-time.Second; taken++ {
			if p := c.Parse(next(t, c)); time.Until(p.Time) > 10*time.Second {
				t.Fatalf("%v lies %v ahead", p, time.Until(p.Time))
			}
		}
		st := c.Stats()
		if st.Rollovers != 4 || a.next.Load() > 6 {
			t.Errorf("%d rollovers, %d worker IDs, in five minutes, 4 and 6 are wanted", st.Rollovers, a.next.Load())
		}
		// The layout's rate, and 11 seconds' UIDs more of each of five leases.
		if want := 32 * (299 + 5*11); taken < want-5*64 || taken > want+5*64 {
			t.Errorf("%d UIDs in five minutes, about %d are wanted", taken, want)
		}
	})
}

// An idle generator spends no worker IDs, however near its bound the full ring is.
func TestIdleNeverRollsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := new(numbers)
		newCached(t, a, WithEpoch(bubbleEpoch), WithMaxBorrow(16*time.Second))
		time.Sleep(24 * time.Hour)
		if got := a.next.Load(); got != 1 {
			t.Errorf("%d worker IDs were spent in a day", got)
		}
	})
}

// The assigner goes down and comes back: UIDs flow up to the bound, then the take policy
// applies, then they flow again by themselves.
func TestRolloverWithTheAssignerDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, down := new(numbers), errors.New("the store is down")
		var log bytes.Buffer
		c := newCached(t, a, WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 27, 5)), WithBoostPower(1),
			WithMaxBorrow(10*time.Second), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		a.break_(down)
		got := 0
		var err error
		for ; err == nil; got++ {
			_, err = c.Next()
			synctest.Wait()
		}
		if got < 32*10 || got > 32*12 {
			t.Errorf("%d UIDs came before the bound, want the 11 seconds' 352", got)
		}
		if !errors.Is(err, down) || !errors.Is(err, ErrLease) {
			t.Errorf("Next() = %v, want what the store said", err)
		}
		a.mend()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.ring.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		for range 32 * 5 {
			next(t, c)
		}
		if st := c.Stats(); st.Rollovers != 1 || st.WorkerID != 2 {
			t.Errorf("Stats() = %+v", st)
		}
		c.Close() // after which nobody writes to the log
		for _, want := range []string{"the store is down", "uid: recovered", "changed to another worker ID"} {
			if n := strings.Count(log.String(), want); n == 0 || n > 3 {
				t.Errorf("the log says %q %d times", want, n)
			}
		}
	})
}

// A lease with an end: nothing is stamped that was not granted; reservations come ahead of
// need; when the store is down what was granted flows, then an error says why.
func TestCachedHonoursTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &spans{granted: time.Now().Add(3 * time.Second)}
		floor := a.granted
		c := newCached(t, a, WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 22, 5)), WithReserveAhead(20*time.Second))
		granted := func() time.Time {
			a.mu.Lock()
			defer a.mu.Unlock()
			return a.granted
		}
		for range 32 * 100 {
			p := c.Parse(next(t, c))
			synctest.Wait()
			if p.Time.Before(floor) || !p.Time.Before(granted()) {
				t.Fatalf("%v: the lease is from %v to %v", p, floor, granted())
			}
		}
		if a.grants < 5 || a.grants > 30 {
			t.Errorf("100 seconds were reserved in %d steps of 20", a.grants)
		}
		down := errors.New("the store is down")
		a.breakStore(down)
		var (
			last time.Time
			err  error
			id   ID
		)
		for err == nil {
			if id, err = c.Next(); err == nil {
				last = c.Parse(id).Time
			}
			synctest.Wait()
		}
		if !errors.Is(err, down) || !last.Equal(granted().Add(-time.Second)) {
			t.Errorf("the last UID is of %v, the grant goes to %v, and Next() = %v", last, granted(), err)
		}
		a.breakStore(nil)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.ring.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		next(t, c)
	})
}

// Invariant 1, of leases that share a worker ID: several generators after each other, each
// of which is left without being closed, take UIDs that all differ.
func TestInvariant1SharedWorkerID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &spans{granted: time.Now()}
		var last ID = -1
		for range 10 {
			c := newCached(t, a, WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 22, 5)), WithReserveAhead(5*time.Second))
			for range 32*3 + 7 {
				id := next(t, c)
				if id <= last {
					t.Fatalf("%v after %v", c.Parse(id), c.Parse(last))
				}
				last = id
			}
		}
	})
}

// A static lease: no UID of the second that it began in, none of the future, and no
// borrowing.
func TestCachedStatic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(300 * time.Millisecond)
		begin := time.Now()
		c := newCached(t, workerassign.Static(5), WithEpoch(bubbleEpoch), WithLayout(layout(t, 31, 22, 5)))
		if took := time.Since(begin); took != 0 {
			t.Errorf("the constructor waited %v", took)
		}
		for n := range 32 * 20 {
			p := c.Parse(next(t, c))
			if !p.Time.After(begin) || p.Time.After(time.Now()) || p.WorkerID != 5 {
				t.Fatalf("UID %d is %v at %v", n, p, time.Now())
			}
		}
		if took := time.Since(begin); took < 19*time.Second || took > 21*time.Second {
			t.Errorf("20 seconds' UIDs took %v", took)
		}
		time.Sleep(time.Minute)
		if p := c.Parse(next(t, c)); time.Since(p.Time) > DefaultMaxStaleness {
			t.Errorf("after an idle minute came %v at %v", p, time.Now())
		}
	})
}

func TestWaitingTakeIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, policy := range []TakePolicy{CallerPads, Wait} {
			c := newCached(t, workerassign.Static(1), WithEpoch(bubbleEpoch), WithTakePolicy(policy))
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
			id, err := c.NextContext(ctx)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrEmpty) || id != 0 {
				t.Errorf("%v: NextContext() = %d, %v", policy, id, err)
			}
			c.Close()
		}
	})
}

// A policy of the user's own: it counts, and falls back to waiting.
type countingPolicy struct {
	mu    sync.Mutex
	asked int
}

func (p *countingPolicy) OnEmpty(ctx context.Context, r *ringbuffer.Ring) error {
	p.mu.Lock()
	p.asked++
	p.mu.Unlock()
	return r.Wait(ctx)
}

func TestUsersTakePolicy(t *testing.T) {
	p := new(countingPolicy)
	c := newCached(t, new(numbers), WithLayout(layout(t, 40, 21, 1)), WithBoostPower(0), WithTakePolicy(p))
	for range 1000 {
		next(t, c)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked == 0 || uint64(p.asked) != c.Stats().RejectedTakes {
		t.Errorf("the policy was asked %d times, Stats say %d", p.asked, c.Stats().RejectedTakes)
	}
}

// A constructor that fails leaves nothing behind.
func TestFailedConstructorLeaksNothing(t *testing.T) {
	leaktest.Check(t)
	for _, mode := range modes {
		a := &spans{fail: errors.New("no grant")}
		for range 100 {
			if _, err := mode.make(context.Background(), a); !errors.Is(err, ErrLease) {
				t.Fatalf("%s: %v", mode.name, err)
			}
		}
	}
}

func TestCloseReportsTheLease(t *testing.T) {
	for _, mode := range modes {
		g, err := mode.make(context.Background(), stubborn{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := g.Close(); !errors.Is(err, ErrLease) || !strings.Contains(fmt.Sprint(err), "worker ID 3 was not released") {
				t.Errorf("%s: Close() = %v", mode.name, err)
			}
		}
	}
}

// stubborn is an assigner whose lease cannot be given back.
type stubborn struct{}

func (stubborn) Assign(context.Context, workerassign.Request) (workerassign.Lease, error) {
	return stubborn{}, nil
}
func (stubborn) WorkerID() int64      { return 3 }
func (stubborn) NotBefore() time.Time { return time.Time{} }
func (stubborn) Reserve(context.Context, time.Time) (time.Time, error) {
	return workerassign.Unbounded(), nil
}
func (stubborn) Release(context.Context, time.Time) error { return errors.New("no") }

// Rollovers are logged with their rate and how long the worker IDs last at it, once a minute.
func TestRolloversAreReported(t *testing.T) {
	var log bytes.Buffer
	fake := fakeclock.New(noon)
	a := new(numbers)
	a.next.Store(1_000)
	c := newCached(t, a, WithLayout(layout(t, 31, 11, 4)), WithBoostPower(0), WithMaxBorrow(10*time.Second), WithClock(fake),
		WithScheduleInterval(0), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	const perLease = 11 * 16 // now and ten units ahead
	spend := func(leases int) {
		t.Helper()
		for range leases * perLease {
			next(t, c)
		}
		flush(t, c)
	}
	fake.Advance(20 * time.Second) // the first lease lasts so long
	spend(2)
	const first = "worker_id=1002 borrow_limit=10s rollovers=1 per_lease=20s remaining=1045 remaining_last=5h48m20s"
	if got := log.String(); !strings.Contains(got, first) {
		t.Errorf("logged %q, want %q", got, first)
	}
	spend(10)
	if n := strings.Count(log.String(), "reached the borrow limit"); n != 1 {
		t.Errorf("logged %d times within a minute", n)
	}
	fake.Advance(time.Minute)
	spend(3)
	if n := strings.Count(log.String(), "reached the borrow limit"); n != 2 {
		t.Errorf("logged %d times in two minutes:\n%s", n, log.String())
	}
}
