package uid

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/fakeclock"
	"github.com/ringuid/ringuid/workerassign"
)

// refuses checks that neither constructor makes a generator, that the error is what it
// should be, and whether a worker ID was spent on it.
func refuses(t *testing.T, a *numbers, want error, text string, spent int64, opts ...Option) {
	t.Helper()
	for _, mode := range modes {
		before := a.next.Load()
		refused(t, mode.name, mode.make, a, want, text, opts...)
		if got := a.next.Load() - before; got != spent {
			t.Errorf("%s: %d worker IDs were spent, want %d", mode.name, got, spent)
		}
	}
	if released := a.released.Load(); released != a.next.Load() {
		t.Errorf("%d leases were given back of %d", released, a.next.Load())
	}
}

// refused checks that a constructor refuses.
func refused(t *testing.T, name string, construct func(context.Context, workerassign.Assigner, ...Option) (Generator, error),
	a workerassign.Assigner, want error, text string, opts ...Option) {
	t.Helper()
	g, err := construct(context.Background(), a, opts...)
	if g != nil || !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: the constructor returned %v, %v; want %v with %q", name, g, err, want, text)
	}
	if err != nil && !strings.HasPrefix(err.Error(), "uid: ") {
		t.Errorf("%s: the error does not say whose it is: %v", name, err)
	}
}

// D11: the original ignores settings of 0 or less without a word. Here each is refused, by
// name and bound, before a worker ID is spent on it.
func TestD11BadOptions(t *testing.T) {
	for _, tt := range []struct {
		option Option
		want   string
	}{
		{nil, "an option is nil"},
		{WithLayout(bitsalloc.Layout{}), "the layout is the zero value"},
		{WithEpoch(time.Time{}), "it is the zero time"},
		{WithEpoch(time.Unix(-1<<60, 0)), "must be 1 to 9999"},
		{WithEpoch(time.Unix(1, 5)), "1970-01-01T00:00:01.000000005Z must be a whole second"},
		{WithBoostPower(-1), "boost power is -1, must be 0 to 16"},
		{WithBoostPower(17), "boost power is 17, must be 0 to 16"},
		{WithBoostPower(math.MaxInt), "boost power is"},
		{WithPaddingFactor(0), "padding factor is 0 %, must be 1 to 99"},
		{WithPaddingFactor(-3), "padding factor is -3 %"},
		{WithPaddingFactor(100), "padding factor is 100 %"},
		{WithScheduleInterval(-time.Second), "schedule interval is -1s"},
		{WithMaxStaleness(0), "staleness bound is 0s, must be at least 3s"},
		{WithMaxStaleness(-1), "staleness bound is -1ns, must be at least 3s"},
		{WithMaxBorrow(-time.Second), "borrow limit is -1s"},
		{WithRolloverInterval(-time.Second), "rollover interval is -1s"},
		{WithMaxBorrow(time.Second), "borrow limit is 1s, must be at least 16s"},
		{WithReserveAhead(0), "time to reserve ahead is 0s, must be at least the time unit, 1s"},
		{WithTimeUnit(0), "bad time unit: 0s must be"},
		{WithTimeUnit(-time.Second), "bad time unit: -1s must be"},
		{WithTimeUnit(time.Microsecond), "bad time unit: 1µs must be"},
		{WithTimeUnit(3 * time.Millisecond), "bad time unit: 3ms must be a second, or divide a second"},
		{WithTimeUnit(2 * time.Second), "bad time unit: 2s must be"},
		{WithTakePolicy(nil), "the take policy is nil"},
		{WithPutPolicy(nil), "the put policy is nil"},
		{WithLogger(nil), "the logger is nil"},
		{WithClock(nil), "the clock is nil"},
	} {
		t.Run(tt.want, func(t *testing.T) { refuses(t, new(numbers), ErrOption, tt.want, 0, tt.option) })
	}
	t.Run("staleness without a schedule", func(t *testing.T) {
		refuses(t, new(numbers), ErrOption, "turns off the scheduled padding", 0, WithScheduleInterval(0), WithMaxStaleness(time.Minute))
	})
	t.Run("no assigner", func(t *testing.T) {
		for _, mode := range modes {
			if _, err := mode.make(context.Background(), nil); !errors.Is(err, ErrOption) {
				t.Errorf("%s: %v, want ErrOption", mode.name, err)
			}
		}
	})
}

func TestOptionsThatGoTogether(t *testing.T) {
	for name, opts := range map[string][]Option{
		"a long interval alone":              {WithScheduleInterval(5 * time.Minute)},
		"no schedule":                        {WithScheduleInterval(0)},
		"the greatest ring alone":            {WithBoostPower(MaxBoostPower)},
		"the smallest ring":                  {WithBoostPower(0), WithPaddingFactor(1)},
		"a short reserve, and then its unit": {WithReserveAhead(time.Millisecond), WithTwitterLayout()},
		"no borrowing":                       {WithMaxBorrow(0), WithRollover(false)},
		"the widest sequence":                {WithLayout(layout(t, 40, 1, 22)), WithBoostPower(3)},
		"staleness at its least":             {WithScheduleInterval(time.Second), WithMaxStaleness(3 * time.Second)},
		"everything at its bounds":           {WithPaddingFactor(99), WithScheduleInterval(1), WithMaxStaleness(time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			for _, mode := range modes {
				g, err := mode.make(context.Background(), new(numbers), opts...)
				if err != nil {
					t.Fatalf("%s: %v", mode.name, err)
				}
				next(t, g)
				g.Close()
			}
		})
	}
}

// Section 9 of doc/design.md, row by row: what bad input and faults get. The rows about the
// database and about two processes on one file are tested where those assigners are.
func TestSection9(t *testing.T) {
	t.Run("widths", func(t *testing.T) {
		for _, w := range [][3]int{{0, 22, 13}, {28, -1, 13}, {28, 22, 0}, {28, 23, 13}} {
			if _, err := bitsalloc.New(w[0], w[1], w[2]); err == nil {
				t.Errorf("bitsalloc.New%v made a layout", w)
			} else {
				for _, n := range w {
					if !strings.Contains(err.Error(), fmt.Sprint(n)) {
						t.Errorf("the error does not name %d: %v", n, err)
					}
				}
			}
		}
	})
	t.Run("worker ID beyond the layout", func(t *testing.T) {
		a := new(numbers)
		a.next.Store(3)
		a.released.Store(3)
		refuses(t, a, ErrWorkerID, "must be 0 to 3 for the 2 worker bits of layout 1-31-2-13", 1, WithLayout(layout(t, 31, 2, 13)))
	})
	t.Run("worker ID below 0", func(t *testing.T) {
		a := new(numbers)
		a.next.Store(-9)
		a.released.Store(-9)
		refuses(t, a, ErrWorkerID, "worker ID is -", 1)
	})
	t.Run("epoch in the future", func(t *testing.T) {
		epoch := time.Now().Add(time.Hour).Truncate(time.Second)
		refuses(t, new(numbers), ErrBeforeEpoch, epoch.UTC().Format(time.RFC3339), 0, WithEpoch(epoch))
	})
	t.Run("time bits spent already", func(t *testing.T) {
		refuses(t, new(numbers), ErrTimeExhausted, "ended at 2024-11-20T21:24:16Z", 0,
			WithEpoch(time.Date(2016, 5, 20, 0, 0, 0, 0, time.UTC)))
	})
	t.Run("no lease", func(t *testing.T) {
		a, broken := new(numbers), errors.New("the store is gone")
		a.break_(broken)
		refuses(t, a, broken, "no worker ID was assigned: the store is gone", 0)
		refuses(t, a, ErrLease, "the store is gone", 0)
	})
	t.Run("context over", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		for _, mode := range modes {
			_, err := mode.make(ctx, blocking{})
			if !errors.Is(err, context.Canceled) || !errors.Is(err, ErrLease) {
				t.Errorf("%s: %v, want ErrLease, of the context", mode.name, err)
			}
		}
	})
	t.Run("time bits spent while running", func(t *testing.T) { timeEnds(t, 0) })
	t.Run("ring empty", func(t *testing.T) {
		// A static lease grants no future, so its ring is empty until a second has begun.
		c := newCached(t, workerassign.Static(1), WithClock(fakeclock.New(noon)), WithTakePolicy(Fail))
		id, err := c.Next()
		if !errors.Is(err, ErrEmpty) || !strings.Contains(err.Error(), "the clock must reach the next time unit first") || id != 0 {
			t.Errorf("Next() = %d, %v; want ErrEmpty and why", id, err)
		}
		if n, err := c.NextN(make([]ID, 3)); n != 0 || !errors.Is(err, ErrEmpty) {
			t.Errorf("NextN() = %d, %v; want 0, ErrEmpty", n, err)
		}
	})
	t.Run("Close", func(t *testing.T) {
		for _, mode := range modes {
			g, err := mode.make(context.Background(), new(numbers))
			if err != nil {
				t.Fatal(err)
			}
			id := next(t, g)
			for range 2 {
				if err := g.Close(); err != nil {
					t.Errorf("%s: Close() = %v", mode.name, err)
				}
				if id, err := g.Next(); err != ErrClosed || id != 0 {
					t.Errorf("%s: Next() = %d, %v; want 0, ErrClosed", mode.name, id, err)
				}
				if n, err := g.NextN(make([]ID, 2)); err != ErrClosed || n != 0 {
					t.Errorf("%s: NextN() = %d, %v; want 0, ErrClosed", mode.name, n, err)
				}
			}
			if p := g.Parse(id); p.WorkerID != 1 {
				t.Errorf("%s: Parse after Close = %v", mode.name, p)
			}
			if st := stats(g); st.Issued != 1 {
				t.Errorf("%s: Stats after Close say %d issued, want 1", mode.name, st.Issued)
			}
		}
	})
	t.Run("Close wakes who waits", func(t *testing.T) {
		for _, mode := range modes {
			// A clock that stands still: the next unit never comes.
			g, err := mode.make(context.Background(), workerassign.Static(1), WithClock(fakeclock.New(noon)))
			if err != nil {
				t.Fatal(err)
			}
			got := make(chan error)
			for range 3 {
				go func() {
					_, err := g.Next()
					got <- err
				}()
			}
			time.Sleep(10 * time.Millisecond)
			g.Close()
			for range 3 {
				if err := <-got; err != ErrClosed {
					t.Errorf("%s: Next() = %v, want ErrClosed", mode.name, err)
				}
			}
		}
	})
}

// blocking is an assigner that waits for its context.
type blocking struct{}

func (blocking) Assign(ctx context.Context, r workerassign.Request) (workerassign.Lease, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// D2: the original's cached mode never checks the end of the time bits, and goes on with
// negative UIDs. Here, in both modes: every UID up to the last one, none more, then the same
// error for ever.
func TestD2TimeBitsEnd(t *testing.T) {
	for _, left := range []int{1, 2, 20} {
		t.Run(fmt.Sprintf("%d units left", left), func(t *testing.T) { timeEnds(t, left-1) })
	}
}

// D15: the original's worker IDs end without a warning. Here the last tenth of them is
// warned of, the last one works, and the one after it is refused.
func TestD15WorkerIDsEnd(t *testing.T) {
	for _, tt := range []struct {
		id     int64
		warned bool
		want   error
	}{{1, false, nil}, {921, false, nil}, {922, true, nil}, {1023, true, nil}, {1024, false, ErrWorkerID}} {
		for _, mode := range modes {
			a := new(numbers)
			a.next.Store(tt.id - 1)
			var log bytes.Buffer
			g, err := mode.make(context.Background(), a, WithLayout(layout(t, 31, 10, 13)), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			if !errors.Is(err, tt.want) {
				t.Fatalf("%s: worker ID %d: %v, want %v", mode.name, tt.id, err, tt.want)
			}
			if err == nil {
				if p := g.Parse(next(t, g)); p.WorkerID != tt.id {
					t.Errorf("%s: %v", mode.name, p)
				}
				g.Close()
			}
			if got := strings.Contains(log.String(), "less than a tenth of the worker IDs remains"); got != tt.warned {
				t.Errorf("%s: worker ID %d: the log says %q", mode.name, tt.id, log.String())
			}
		}
	}
}

// Worker IDs that are not counted up, as static ones, do not come to an end.
func TestD15StaticWorkerIDsDoNotEnd(t *testing.T) {
	for _, mode := range modes {
		var log bytes.Buffer
		for _, a := range []workerassign.Assigner{workerassign.Static(1023), workerassign.Prefix(new(numbers), 31, 5)} {
			g, err := mode.make(context.Background(), a, WithLayout(layout(t, 31, 10, 13)), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			if err != nil {
				t.Fatal(err)
			}
			g.Close()
		}
		if log.Len() > 0 {
			t.Errorf("%s: the log says %q", mode.name, log.String())
		}
	}
}

// timeEnds lets a generator run into the end of its time bits, which is so many units after
// the one that the clock is in.
func timeEnds(t *testing.T, after int) {
	l := layout(t, 28, 22, 3)
	epoch := time.Date(2016, 5, 20, 0, 0, 0, 0, time.UTC)
	last := epoch.Add((1<<28 - 1) * time.Second)
	for _, mode := range modes {
		for _, policy := range []TakePolicy{CallerPads, Wait, Fail} {
			fake := fakeclock.New(last.Add(-time.Duration(after) * time.Second))
			var log bytes.Buffer
			g, err := mode.make(context.Background(), new(numbers), WithLayout(l), WithEpoch(epoch), WithClock(fake),
				WithTakePolicy(policy), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			if err != nil {
				t.Fatal(err)
			}
			got, before := 0, ID(-1)
			deadline := time.Now().Add(20 * time.Second)
			for {
				id, err := g.Next()
				if errors.Is(err, ErrTimeExhausted) {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("%s/%v: the end does not come: %v", mode.name, policy, err)
				}
				if err != nil {
					continue // empty, with policy Fail
				}
				if id <= before || g.Parse(id).WorkerID != 1 {
					t.Fatalf("%s/%v: %v after %d", mode.name, policy, g.Parse(id), before)
				}
				if got, before = got+1, id; got%8 == 0 && mode.name == "Default" {
					fake.Advance(time.Second) // else Default waits for it
				}
			}
			if want := (after + 1) * 8; got != want || before != ID(l.AllocateUnchecked(l.MaxDelta(), 1, 7)) {
				t.Errorf("%s/%v: %d UIDs came, the last one %v; want %d", mode.name, policy, got, g.Parse(before), want)
			}
			for range 3 {
				id, err := g.Next()
				if !errors.Is(err, ErrTimeExhausted) || id != 0 || !strings.Contains(err.Error(), " must be 0 to 268435455") {
					t.Errorf("%s/%v: Next() = %d, %v; want ErrTimeExhausted with the values", mode.name, policy, id, err)
				}
				if n, err := g.NextN(make([]ID, 2)); n != 0 || !errors.Is(err, ErrTimeExhausted) {
					t.Errorf("%s/%v: NextN() = %d, %v", mode.name, policy, n, err)
				}
				fake.Advance(1000 * time.Hour)
			}
			g.Close() // after which nobody writes to the log
			if !strings.Contains(log.String(), "less than a year") {
				t.Errorf("%s/%v: nobody was warned: %s", mode.name, policy, log.String())
			}
			if _, err := g.Next(); err != ErrClosed {
				t.Errorf("%s/%v: after Close Next() = %v", mode.name, policy, err)
			}
		}
	}
}

// The shift of a clock that is far beyond what the time bits hold must not lose bits and
// make an early UID of it.
func TestInvariant5ClockFarBeyondTheEnd(t *testing.T) {
	l := layout(t, 1, 1, 61)
	epoch := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, mode := range modes {
		fake := fakeclock.New(epoch)
		g, err := mode.make(context.Background(), new(numbers), WithLayout(l), WithEpoch(epoch.Add(-time.Second)), WithClock(fake),
			WithTakePolicy(Fail), WithRollover(false))
		if err != nil {
			t.Fatal(err)
		}
		fake.Advance(1 << 33 * time.Second / 8)
		deadline := time.Now().Add(10 * time.Second)
		for {
			id, err := g.Next()
			if errors.Is(err, ErrTimeExhausted) && id == 0 {
				break
			}
			if err == nil && (id < 0 || g.Parse(id).Delta > 1) || time.Now().After(deadline) {
				t.Fatalf("%s: Next() = %d, %v", mode.name, id, err)
			}
		}
		g.Close()
	}
}
