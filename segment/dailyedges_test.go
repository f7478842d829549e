package segment_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
	"github.com/ringuid/ringuid/stores/filestore"
)

// The first and the last day of the years that have numbers.
func TestDailyYears(t *testing.T) {
	for _, tt := range []struct {
		at   time.Time
		want int64 // 0: ErrOption
	}{
		{time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC), 10102_000001},
		{time.Date(0, 12, 31, 23, 59, 59, 0, time.UTC), 0},
		{time.Date(9998, 12, 31, 23, 59, 59, 0, time.UTC), 99981231_000001},
		{time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), 0},
	} {
		d, err := segment.NewDaily(t.Context(), segmenttest.NewMemory(), "x", 6, time.UTC, quietOption(), segment.WithClock(func() time.Time { return tt.at }))
		if tt.want == 0 {
			if !errors.Is(err, segment.ErrOption) {
				t.Errorf("NewDaily at %v = %v, want ErrOption", tt.at, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("NewDaily at %v = %v", tt.at, err)
		}
		if v, err := d.Next(); err != nil || v != tt.want {
			t.Errorf("Next at %v = %d, %v; want %d", tt.at, v, err, tt.want)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A Daily does not create the first tag of a new file, which may be one that was lost. The error names the call that says that it is new.
func TestDailyInANewFile(t *testing.T) {
	source := filestore.New(filepath.Join(t.TempDir(), "segments"))
	clock := segment.WithClock(func() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) })
	_, err := segment.NewDaily(t.Context(), source, "orders", 6, time.UTC, clock, quietOption(), segment.WithTryTimeout(time.Minute))
	if !errors.Is(err, segment.ErrNoTag) || !strings.Contains(err.Error(), `call CreateTag(ctx, "orders.20261121", segment.TagConfig{}) of the source once`) {
		t.Errorf("NewDaily: %v, want ErrNoTag with the call to make", err)
	}
	if err := source.CreateTag(t.Context(), "orders.20261121", segment.TagConfig{}); err != nil {
		t.Fatal(err)
	}
	if n, err := newDaily(t, source, time.UTC, clock, segment.WithMaxWait(longWait), segment.WithTryTimeout(time.Minute)).Next(); n != 20261121000001 || err != nil {
		t.Errorf("Next() = %d, %v; want the first number of the day", n, err)
	}
}

// The tag of a day is created with a time before which no host can have created it: more than the two hours by which
// clocks may be set, but on the day before.
func TestDailyUnusedBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		created := map[string]segment.TagConfig{}
		m := segmenttest.NewMemory()
		m.SetFaults(func(op segmenttest.Op) segmenttest.Fault {
			if op.Create != nil {
				created[op.Tag] = *op.Create
			}
			return segmenttest.NoFault
		})
		d := newDaily(t, m, time.UTC)
		time.Sleep(24 * time.Hour)
		if _, err := d.Next(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for tag, start := range map[string]time.Time{"orders.20000101": time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), "orders.20000102": time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC)} {
			c, ok := created[tag]
			if before := start.Sub(c.UnusedBefore); !ok || before <= 2*time.Hour+10*time.Minute || before > 24*time.Hour {
				t.Errorf("%s was created with %+v, %v before its day", tag, c, before)
			}
		}
	})
}

// A call that finds a number in memory reads the clock once, because the clock of the program may be slow.
func TestDailyReadsClockOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int64
		d := newDaily(t, segmenttest.NewMemory(), time.UTC, segment.WithClock(func() time.Time { reads.Add(1); return time.Now() }))
		synctest.Wait()
		reads.Store(0)
		for range 100 {
			if _, err := d.Next(); err != nil {
				t.Fatal(err)
			}
		}
		if n := reads.Load(); n != 100 {
			t.Errorf("100 calls have read the clock %d times", n)
		}
	})
}

// scriptedClock is a clock whose next readings call functions.
type scriptedClock struct {
	now  atomic.Pointer[time.Time]
	next []func()
}

func (c *scriptedClock) set(t time.Time) { c.now.Store(&t) }

func (c *scriptedClock) read() time.Time {
	if len(c.next) > 0 {
		f := c.next[0]
		c.next = c.next[1:]
		f()
	}
	return *c.now.Load()
}

var (
	beforeMidnight = time.Date(2000, 1, 1, 23, 59, 59, 0, time.UTC)
	afterMidnight  = time.Date(2000, 1, 2, 0, 0, 1, 0, time.UTC)
)

// newScripted returns a Daily whose clock is scripted, and shows the last second of a day. Only the test reads the clock.
func newScripted(t *testing.T, src segment.Creator, opts ...segment.DailyOption) (*segment.Daily, *scriptedClock) {
	var clock scriptedClock
	clock.set(time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC))
	d := newDaily(t, src, time.UTC, append([]segment.DailyOption{segment.WithClock(clock.read), segment.WithDailyStep(2), segment.WithStepPolicy(segment.FixedStep{})}, opts...)...)
	synctest.Wait()
	clock.set(beforeMidnight)
	return d, &clock
}

// If the day ends during a call that has found no number in memory, the call does not wait for a range of the old day.
func TestDailyEndsDuringCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Bool
		d, clock := newScripted(t, hookedSource{segmenttest.NewMemory(), func(ctx context.Context, r segment.Request) error {
			if slow.Load() && strings.HasSuffix(r.Tag, "0101") {
				<-ctx.Done()
			}
			return ctx.Err()
		}})
		slow.Store(true)
		for range 4 {
			if _, err := d.Next(); err != nil {
				t.Fatal(err)
			}
		}
		begin := time.Now()
		// Next reads the clock, finds no number, and reads the clock twice until it looks again.
		clock.next = []func(){func() {}, func() {}, func() { clock.set(afterMidnight) }}
		if v, err := d.Next(); err != nil || v != 20000102_000001 || time.Since(begin) > 0 {
			t.Errorf("Next = %d, %v after %v; want the first number of the next day at once", v, err, time.Since(begin))
		}
	})
}

// If another call has begun the next day, and the clock is set back then, a call that has begun before gets a number of
// the later day, and not the error of the old one, which is closed.
func TestDailyOldDayIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, clock := newScripted(t, segmenttest.NewMemory())
		switchDay := func() {
			clock.next = nil
			clock.set(afterMidnight)
			if v, err := d.Next(); err != nil || v != 20000102_000001 {
				t.Errorf("Next after midnight = %d, %v", v, err)
			}
			synctest.Wait() // the old day is closed
			clock.set(beforeMidnight)
		}
		clock.next = []func(){func() {}, switchDay}
		if r, err := d.Claim(t.Context(), 1); err != nil || r.First != 20000102_000002 {
			t.Errorf("Claim = %+v, %v; want the second number of the next day", r, err)
		}
	})
}

// A day is opened once, also if a call begins the next day while another one looks for it.
func TestDailyIsOpenedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &namedSource{Memory: segmenttest.NewMemory()}
		d, clock := newScripted(t, src)
		clock.set(afterMidnight)
		src.hook = func() { // while the call is about to open the day
			src.hook = nil
			if v, err := d.Next(); err != nil || v != 20000102_000001 {
				t.Errorf("Next = %d, %v", v, err)
			}
			synctest.Wait()
			src.writes = src.Writes()
		}
		if v, err := d.Next(); err != nil || v != 20000102_000002 {
			t.Errorf("Next = %d, %v", v, err)
		}
		synctest.Wait()
		if src.writes == 0 || src.Writes() != src.writes {
			t.Errorf("the source had %d writes when the day was open, and then %d", src.writes, src.Writes())
		}
	})
}

// namedSource calls a function when it is asked for its description.
type namedSource struct {
	*segmenttest.Memory
	hook   func()
	writes int
}

func (s *namedSource) String() string {
	if s.hook != nil {
		s.hook()
	}
	return "the named source"
}

// If the next day cannot be opened, the errors of calls and Health say what has failed since when, and the source is
// asked a few times per second while calls wait.
func TestDailyCannotBeOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		m := segmenttest.NewMemory()
		src := &namedSource{Memory: m}
		m.SetFaults(func(segmenttest.Op) segmenttest.Fault { calls.Add(1); return segmenttest.NoFault })
		var clock testClock
		d := newDaily(t, src, time.UTC, segment.WithMaxWait(time.Minute), segment.WithClock(clock.now))
		time.Sleep(12 * time.Hour)
		synctest.Wait() // the Daily wakes at noon, too
		m.Kill()
		clock.offset.Store(int64(12 * time.Hour)) // so that the day was not prepared
		if h := d.Health(); !errors.Is(h.Err, segment.ErrEmpty) || h.LastError != nil {
			t.Errorf("Health before the day was opened = %+v, want ErrEmpty", h)
		}
		begin := time.Now()
		var since time.Time
		for tries := 0; tries < 1000; {
			calls.Store(0)
			_, err := d.Next()
			var empty *segment.EmptyError
			if !errors.As(err, &empty) || empty.Source != "the named source" || empty.Tag != "orders.20000102" || !errors.Is(empty.Cause, segmenttest.ErrDown) {
				t.Fatalf("Next = %#v", err)
			}
			if since.IsZero() {
				since = empty.Since
			}
			if !empty.Since.Equal(since) || since.Sub(begin) > time.Second || empty.Tries < tries+100 {
				t.Errorf("the day cannot be opened since %v after %d tries; want %v and more than %d", empty.Since, empty.Tries, since, tries+100)
			}
			tries = empty.Tries
			if n := calls.Load(); n < 110 || n > 400 {
				t.Errorf("the source was called %d times in a minute", n)
			}
			if h := d.Health(); !errors.Is(h.Err, segmenttest.ErrDown) || !errors.Is(h.LastError, segmenttest.ErrDown) || !h.FailingSince.Equal(since) {
				t.Errorf("Health = %+v, want the failure since %v", h, since)
			}
			if t.Failed() {
				return
			}
		}
		m.Start()
		if v, err := d.Next(); err != nil || v != 20000102_000001 {
			t.Errorf("Next = %d, %v", v, err)
		}
	})
}

// When a day has no numbers left, the source is not asked for more.
func TestDailyExhaustedDayIsNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := segmenttest.NewMemory()
		d, err := segment.NewDaily(t.Context(), m, "x", 1, time.UTC, quietOption())
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		for want := int64(1); want <= 9; want++ {
			if v, err := d.Next(); err != nil || v%10 != want {
				t.Fatalf("Next = %d, %v; want %d", v, err, want)
			}
		}
		synctest.Wait()
		if c := m.Counter(segment.DailyTag("x", 2000, 1, 1)); c != 10 {
			t.Errorf("the counter is %d when the numbers 1 to 9 were taken, want 10", c)
		}
		writes := m.Writes()
		for range 10 {
			if _, err := d.Next(); !errors.Is(err, segment.ErrExhausted) {
				t.Errorf("Next = %v, want ErrExhausted", err)
			}
			time.Sleep(time.Minute)
		}
		if n := m.Writes(); n != writes {
			t.Errorf("the source had %d writes after the day was used up", n-writes)
		}
	})
}

// If a day cannot be opened for a reason that is not that of one source, Sources has it too.
func TestDailySourcesOfOtherError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, stores := stripes(3)
		create(t, g, "any", segment.TagConfig{})
		var late atomic.Bool
		d, err := segment.NewDaily(t.Context(), g, "orders", 6, time.UTC, quietOption(), segment.WithClock(func() time.Time {
			if late.Load() {
				return time.Now().AddDate(8000, 0, 0) // a year that has no date
			}
			return time.Now()
		}))
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		stores[0].SetFaults(func(segmenttest.Op) segmenttest.Fault { late.Store(true); return segmenttest.NoFault })
		time.Sleep(24*time.Hour - time.Minute)
		states := d.Sources()
		if len(states) != 3 || !errors.Is(states[0].LastError, segment.ErrOption) || states[0].FailingSince.IsZero() || states[1].LastError != nil {
			t.Errorf("Sources with a clock of the year 10000 = %+v", states)
		}
		late.Store(false)
	})
}

// With a stride, too, a day has its numbers only: none has the digits of another date.
func TestDailyNumbersWithStride(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := stripes(3)
		create(t, g, "any", segment.TagConfig{})
		d, err := segment.NewDaily(t.Context(), g, "x", 1, time.UTC, quietOption())
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		seen := map[int64]bool{}
		for {
			v, err := d.Next()
			if err != nil {
				if !errors.Is(err, segment.ErrExhausted) {
					t.Error(err)
				}
				break
			}
			if v/10 != 20000101 || v%10 == 0 || seen[v] {
				t.Fatalf("Next = %d, after %v", v, seen)
			}
			seen[v] = true
		}
		if len(seen) != 7 { // each stripe begins with the second of its numbers
			t.Errorf("the day has the numbers %v, want 3 to 9", seen)
		}
	})
}
