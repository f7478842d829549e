package uid

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// boundedSource is an assigner whose leases are granted up to a horizon. Each lease has another worker ID.
type boundedSource struct {
	mu       sync.Mutex
	horizon  func(lease int64) time.Duration // as the lease says
	lag      time.Duration                   // how far the store's clock is behind
	refuse   error                           // Assign returns it for all leases but the first, if it is set
	begins   time.Time                       // NotBefore of the first lease
	lost     int64                           // the worker ID up to which leases are lost
	assigned int64
	reserved int
}

// boundedLease is a lease of a boundedSource.
type boundedLease struct {
	*boundedSource
	workerID int64
}

func (s *boundedSource) Assign(context.Context, workerassign.Request) (workerassign.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.assigned > 0 && s.refuse != nil {
		return nil, s.refuse
	}
	s.assigned++
	return &boundedLease{s, s.assigned}, nil
}

func (l *boundedLease) WorkerID() int64 { return l.workerID }

func (l *boundedLease) NotBefore() time.Time {
	if l.workerID == 1 {
		return l.begins
	}
	return time.Time{}
}

func (l *boundedLease) Reserve(_ context.Context, until time.Time) (workerassign.Grant, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reserved++
	if l.workerID <= l.lost {
		return workerassign.Grant{}, workerassign.ErrLeaseLost
	}
	horizon := l.horizon(l.workerID)
	if most := time.Now().Add(horizon - l.lag); horizon > 0 && until.After(most) {
		until = most
	}
	return workerassign.Grant{Until: until, Horizon: horizon}, nil
}

func (l *boundedLease) Release(context.Context, time.Time) error { return nil }

// calls returns how often the source was called.
func (s *boundedSource) calls() (assigned int64, reserved int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.assigned, s.reserved
}

// lasting returns the same horizon for each lease.
func lasting(d time.Duration) func(int64) time.Duration {
	return func(int64) time.Duration { return d }
}

// newBounded returns a generator of 16 UIDs a second on a source, and its log.
func newBounded(t *testing.T, s workerassign.Assigner, opts ...any) (*Cached, *bytes.Buffer) {
	t.Helper()
	l, err := bitsalloc.New(31, 20, 4)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	c, err := NewCached(t.Context(), s, accepted[Option](append([]any{WithEpoch(recycledEpoch), WithLayout(l), WithBoostPower(2),
		WithLogger(slog.New(slog.NewTextHandler(&log, nil)))}, opts...))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, &log
}

// takeAhead takes UIDs for a time, up to 500 a second. It returns how many there were, and how far the time
// of one lay ahead of the clock at most.
func takeAhead(t *testing.T, g Generator, d time.Duration) (got int, ahead time.Duration) {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < d; {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		id, err := g.NextContext(ctx)
		cancel()
		if err != nil {
			continue
		}
		got, ahead = got+1, max(ahead, time.Until(g.Parse(id).Time))
		time.Sleep(2 * time.Millisecond)
	}
	return got, ahead
}

// R6: the borrow limit is the horizon less 1.5 times what is reserved ahead and a unit. That is logged, once, only if the
// user has set a greater limit, or if it makes the rollover impossible that the user wants.
func TestR6BorrowLimitWithinHorizon(t *testing.T) {
	testkit.WithoutRace(t)
	const idle = 10 * time.Minute
	busy := testkit.Amount(time.Minute, 3*time.Minute, 10*time.Minute)
	for name, tt := range map[string]struct {
		horizon, reserve, limit time.Duration
		opts                    []any
		rollsOver               bool
		level                   string // of the log record; "": there is none
	}{
		"default of Recycled":       {70 * time.Second, 30 * time.Second, 24 * time.Second, nil, true, ""},
		"just enough":               {92 * time.Second, 30 * time.Second, 46 * time.Second, []any{WithMaxBorrow(46 * time.Second)}, true, ""},
		"a greater limit is set":    {70 * time.Second, 30 * time.Second, 24 * time.Second, []any{WithMaxBorrow(25 * time.Second)}, true, "WARN"},
		"twice the ring":            {54 * time.Second, 30 * time.Second, 8 * time.Second, nil, true, ""},
		"less than twice the ring":  {53 * time.Second, 30 * time.Second, 7 * time.Second, nil, false, "WARN"},
		"less than the ring":        {48 * time.Second, 30 * time.Second, 2 * time.Second, nil, false, "WARN"},
		"nothing":                   {46 * time.Second, 30 * time.Second, 0, nil, false, "WARN"},
		"less than is reserved":     {20 * time.Second, 30 * time.Second, 0, nil, false, "WARN"},
		"less than a unit":          {500 * time.Millisecond, 30 * time.Second, 0, nil, false, "WARN"},
		"rollover is off":           {70 * time.Second, 30 * time.Second, 24 * time.Second, []any{WithRollover(false)}, false, ""},
		"rollover is off, nothing":  {45 * time.Second, 30 * time.Second, 0, []any{WithRollover(false)}, false, ""},
		"rollover is off, a limit":  {70 * time.Second, 30 * time.Second, 24 * time.Second, []any{WithRollover(false), WithMaxBorrow(time.Hour)}, false, "WARN"},
		"without scheduled padding": {48 * time.Second, 30 * time.Second, 2 * time.Second, []any{WithScheduleInterval(0)}, false, "WARN"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &boundedSource{horizon: lasting(tt.horizon)}
				c, log := newBounded(t, s, append(tt.opts, WithReserveAhead(tt.reserve))...)
				time.Sleep(idle)
				if assigned, reserved := s.calls(); assigned != 1 || reserved > 1300 {
					t.Errorf("idle for %v: %d leases, %d calls of Reserve", idle, assigned, reserved)
				}
				got, ahead := takeAhead(t, c, busy)
				assigned, reserved := s.calls()
				if rate := int(busy.Seconds()) * 16; got < rate*9/10 {
					t.Errorf("%d UIDs in %v, want at least the layout's rate, %d", got, busy, rate)
				}
				if ahead > tt.limit || ahead < tt.limit-1100*time.Millisecond {
					t.Errorf("the time of a UID was %v ahead, want up to %v", ahead, tt.limit)
				}
				if rolledOver := assigned > 2; rolledOver != tt.rollsOver {
					t.Errorf("%d leases, want rollovers: %v", assigned, tt.rollsOver)
				}
				if most := 20*int(assigned) + int(1300*(idle+busy)/idle); reserved > most {
					t.Errorf("Reserve was called %d times, want at most %d", reserved, most)
				}
				flushLog(t, c)
				want := 1
				if tt.level == "" {
					want = 0
				}
				if n := strings.Count(log.String(), "level="+tt.level+" msg=\"uid: the borrow limit is reduced"); n != want {
					t.Errorf("the reduction was logged %d times at the level %q, want %d:\n%s", n, tt.level, want, log)
				}
				if n := strings.Count(log.String(), "the borrow limit is reduced"); n != want {
					t.Errorf("the reduction was logged %d times, want %d:\n%s", n, want, log)
				}
				if horizon := tt.horizon.Truncate(time.Second); want > 0 &&
					(!strings.Contains(log.String(), "borrow_limit="+tt.limit.String()) || !strings.Contains(log.String(), "horizon="+horizon.String())) {
					t.Errorf("the log does not name the limit and the horizon:\n%s", log)
				}
			})
		})
	}
}

// R6: at the limit a generator waits for the clock, whatever the assigner says about another lease, and gives
// the layout's rate.
func TestR6FullPoolAtTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &boundedSource{horizon: lasting(70 * time.Second), refuse: &recycled.PoolFullError{Held: 1}}
		c, _ := newBounded(t, s)
		takeAhead(t, c, time.Minute) // up to the limit
		got := 0
		for begin := time.Now(); time.Since(begin) < time.Minute; got++ {
			if _, err := c.Next(); err != nil {
				t.Fatalf("after %d UIDs at the limit: %v", got, err)
			}
		}
		if got < 59*16 || got > 61*16 {
			t.Errorf("%d UIDs in a minute at the limit, want the layout's rate, 960", got)
		}
		for c.Stats().Ring.Fill > 0 {
			c.Next()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
		defer cancel()
		for range 17 {
			if _, err := c.NextContext(ctx); err != nil {
				if !errors.Is(err, recycled.ErrPoolFull) || !errors.Is(err, ErrLease) {
					t.Errorf("NextContext() = %v; want it to name the full pool", err)
				}
				return
			}
		}
		t.Error("there are more UIDs than a unit has")
	})
}

// R6: a later lease may have another horizon. The limit follows it, and a further reduction is logged.
func TestR6LaterLeaseWithAnotherHorizon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &boundedSource{horizon: func(lease int64) time.Duration {
			return []time.Duration{70 * time.Second, 60 * time.Second, 70 * time.Second, 30 * time.Second}[min(lease, 4)-1]
		}}
		c, log := newBounded(t, s, WithMaxBorrow(time.Hour))
		for lease, limit := range []time.Duration{24 * time.Second, 14 * time.Second, 24 * time.Second, 0} {
			ahead := time.Duration(0)
			for range 60_000 {
				if c.Stats().WorkerID != int64(lease)+1 {
					break
				}
				// In small steps, because UIDs of the lease before may still be in the ring.
				id, err := c.Next()
				if err != nil {
					t.Fatal(err)
				}
				if p := c.Parse(id); p.WorkerID == int64(lease)+1 {
					ahead = max(ahead, time.Until(p.Time))
				}
				if lease == 3 && time.Since(c.Stats().LeaseSince) > time.Minute {
					break
				}
				synctest.Wait()
			}
			if ahead > limit || ahead < limit-6*time.Second {
				t.Errorf("lease %d: a UID's time was %v ahead, want up to %v", lease+1, ahead, limit)
			}
		}
		flushLog(t, c)
		if !strings.Contains(log.String(), "worker_id=2 borrow_limit=24s rollovers=1 ") {
			t.Errorf("the first rollover was not logged with the limit of its lease:\n%s", log)
		}
		if n := strings.Count(log.String(), "the borrow limit is reduced"); n != 3 {
			t.Errorf("the reduction was logged %d times, want once, and for the second and the fourth lease:\n%s", n, log)
		}
	})
}

// R6: a store whose clock is behind by more than the horizon allows for grants less. The generator asks again when
// its clock has moved on, and not each time that it wants a UID.
func TestR6SlowClockOfTheStore(t *testing.T) {
	for _, interval := range []time.Duration{time.Second, 0} {
		synctest.Test(t, func(t *testing.T) {
			s := &boundedSource{horizon: lasting(70 * time.Second), lag: 60 * time.Second}
			c, _ := newBounded(t, s, WithRollover(false), WithScheduleInterval(interval))
			got, ahead := takeAhead(t, c, 5*time.Minute)
			if got < 300*16 || ahead > 10*time.Second {
				t.Errorf("scheduled paddings every %v: %d UIDs, up to %v ahead", interval, got, ahead)
			}
			if _, reserved := s.calls(); reserved > 3*300 {
				t.Errorf("scheduled paddings every %v: Reserve was called %d times in five minutes", interval, reserved)
			}
		})
	}
}

// R7: a lease that begins later is not asked for again and again meanwhile.
func TestR7LeaseThatBeginsLater(t *testing.T) {
	for _, mode := range []string{"Cached", "Default"} {
		synctest.Test(t, func(t *testing.T) {
			s := &boundedSource{horizon: lasting(70 * time.Second), begins: time.Now().Add(10 * time.Minute)}
			var g Generator
			if mode == "Cached" {
				g, _ = newBounded(t, s)
			} else {
				d, err := NewDefault(t.Context(), s, WithEpoch(recycledEpoch), WithLogger(slog.New(slog.DiscardHandler)))
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				g = d
			}
			for time.Until(s.begins) > 30*time.Second {
				if got, _ := takeAhead(t, g, time.Second); got > 0 {
					t.Fatalf("%s: %d UIDs %v too early", mode, got, time.Until(s.begins))
				}
			}
			if _, reserved := s.calls(); reserved > 10 {
				t.Errorf("%s: Reserve was called %d times before the lease began", mode, reserved)
			}
			id, err := g.Next()
			if p := g.Parse(id); err != nil || p.Time.Before(s.begins) {
				t.Errorf("%s: Next() = %v, %v; want not before %v", mode, p, err, s.begins)
			}
		})
	}
}
