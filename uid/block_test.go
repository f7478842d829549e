package uid

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/fakeclock"
	"github.com/ringuid/ringuid/internal/testreq"
)

// A span is spent when it is used up, when the schedule comes round, and after Close.
func TestSpanIsSpent(t *testing.T) {
	c := newCached(t, new(numbers), WithScheduleInterval(0))
	var zero Block
	if id, ok := zero.Next(); ok || id != 0 || zero.Len() != 0 {
		t.Errorf("the zero Block gives %d, %v, and has %d", id, ok, zero.Len())
	}
	claim := func() *Block {
		s, err := c.Claim(context.Background(), 3)
		if err != nil || s.Len() != 3 {
			t.Fatalf("Claim(3) has %d, %v", s.Len(), err)
		}
		return &s
	}
	used := claim()
	for want := range 3 {
		id, ok := used.Next()
		if p := c.Parse(id); !ok || p.Sequence != int64(want) {
			t.Errorf("the span's UID %d is %v, %v", want, p, ok)
		}
	}
	if id, ok := used.Next(); ok || id != 0 {
		t.Errorf("a span of 3 gave a fourth, %d", id)
	}
	old := claim()
	c.generation.Add(1) // what the schedule does
	if id, ok := old.Next(); ok || id != 0 {
		t.Errorf("a span gave %d when the schedule had come round", id)
	}
	left := claim()
	c.Close()
	if id, ok := left.Next(); ok || id != 0 {
		t.Errorf("a span gave %d after Close", id)
	}
	if _, err := c.Claim(context.Background(), 1); err != ErrClosed {
		t.Errorf("Claim after Close: %v", err)
	}
}

func TestClaimRefusesNothing(t *testing.T) {
	c := newCached(t, new(numbers))
	for _, n := range []int{0, -1, math.MinInt} {
		if s, err := c.Claim(context.Background(), n); !errors.Is(err, ErrOption) || s.Len() != 0 {
			t.Errorf("Claim(%d) has %d, %v", n, s.Len(), err)
		}
	}
}

// The last UID that a layout has is in a span too: invariant 5's far end, where first+length
// does not fit an int64.
func TestSpanAtTheEndOfTime(t *testing.T) {
	l := layout(t, 31, 1, 31)
	clock := fakeclock.New(DefaultEpoch().Add(time.Duration(l.MaxDelta()) * time.Second))
	c := newCached(t, new(numbers), WithLayout(l), WithClock(clock), WithScheduleInterval(0))
	var last ID
	var err error
	for err == nil {
		var s Block
		if s, err = c.Claim(context.Background(), 1<<30); err != nil {
			break
		}
		if last = s.last; s.Len() < 1 {
			t.Fatalf("a span of %d", s.Len())
		}
		s.taken = last - 1
		if id, ok := s.Next(); !ok || id != last {
			t.Fatalf("the last of a span is %d, %v; want %d", id, ok, last)
		}
	}
	if !errors.Is(err, ErrTimeExhausted) || last != math.MaxInt64 {
		t.Errorf("the last UID is %d, and then %v", last, err)
	}
}

// Spans grow for who uses them up, so that the claims are few, and start small again for who
// does not, so that the gaps are.
func TestSpansFollowTheRate(t *testing.T) {
	c := newCached(t, new(numbers), WithScheduleInterval(0), WithLayout(layout(t, 31, 12, 20)))
	l := c.Local()
	var sizes []int
	for range 5_000 {
		spent := l.block.Len() == 0
		if _, err := l.Next(); err != nil {
			t.Fatal(err)
		}
		if spent {
			sizes = append(sizes, l.block.size)
		}
	}
	if want := []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1024, 1024, 1024}; !slices.Equal(sizes, want) {
		t.Errorf("spans of %v, want %v", sizes, want)
	}
	c.generation.Add(1)
	if _, err := l.Next(); err != nil || l.block.size != MinBlock {
		t.Errorf("after one that grew old, a span of %d, %v", l.block.size, err)
	}
	// However many UIDs are taken each time that the schedule comes round: there are no more
	// gaps than UIDs.
	for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 9, 100, 511, 512, 513, 1023, 1024, 5000} {
		l, before := c.Local(), c.Stats().Issued
		for range 50 {
			c.generation.Add(1)
			for range n {
				if _, err := l.Next(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if used := c.Stats().Issued - before; used > uint64(2*50*n) {
			t.Errorf("%d UIDs a time: %d UIDs used up %d", n, 50*n, used)
		}
	}
}

// lateness is how late the scheduled padding may come on a busy machine.
const lateness = time.Second

// However a UID is taken, its time is within the bound of the clock: after 10 s of idleness, and
// at one UID a second, for a few of them; for a minute with RINGUID_MINUTE set.
func TestFreshAfterIdleness(t *testing.T) {
	testreq.Slow(t, "it is idle for 10 s")
	t.Parallel()
	seconds := 3
	if os.Getenv("RINGUID_MINUTE") != "" {
		seconds = 60
	}
	c := newCached(t, new(numbers))
	for way, make := range takers(c) {
		take := make()
		t.Run(fmt.Sprint(way), func(t *testing.T) {
			t.Parallel()
			ids := []ID{0}
			check := func() {
				t.Helper()
				if _, err := take(ids); err != nil {
					t.Fatal(err)
				}
				if behind := time.Since(c.Parse(ids[0]).Time); behind > DefaultMaxStaleness+lateness {
					t.Errorf("a UID is %v behind the clock", behind)
				}
			}
			check()
			time.Sleep(10 * time.Second)
			for range seconds {
				check()
				time.Sleep(time.Second)
			}
		})
	}
}

// The size after a span of any size is in range, also where twice that does not fit an int, as it
// does not on 32 bits from 2^30 on.
func TestNextSizeOfLongSpans(t *testing.T) {
	for _, tt := range []struct{ size, want int }{
		{0, MinBlock}, {1, 2}, {3, 6}, {MaxBlock / 2, MaxBlock}, {MaxBlock/2 + 1, MaxBlock}, {MaxBlock, MaxBlock},
		{1 << 30, MaxBlock}, {math.MaxInt/2 + 1, MaxBlock}, {math.MaxInt, MaxBlock},
	} {
		s := Block{taken: 5, last: 5, size: tt.size}
		if got := s.NextSize(); got != tt.want {
			t.Errorf("after a span of %d comes one of %d, want %d", tt.size, got, tt.want)
		}
	}
}

// A span that is moved goes on where it was, and leaves nothing.
func TestSpanMoves(t *testing.T) {
	c := newCached(t, new(numbers), WithScheduleInterval(0))
	s, err := c.Claim(context.Background(), 3)
	if err != nil {
		t.Fatal(err)
	}
	first, _ := s.Next()
	moved := s.Move()
	if id, ok := s.Next(); ok || s.Len() != 0 || moved.Len() != 2 {
		t.Errorf("a span that was moved away gave %d, and has %d; the other one has %d", id, s.Len(), moved.Len())
	}
	if id, ok := moved.Next(); !ok || id != first+1 {
		t.Errorf("the moved span gives %d, %v after %d", id, ok, first)
	}
	if moved.NextSize() != MinBlock || s.NextSize() != 6 {
		t.Errorf("then come spans of %d and %d", moved.NextSize(), s.NextSize())
	}
}

// counted is a context that counts what is registered with it and not taken back.
type counted struct {
	context.Context
	done chan struct{}
	left int
}

func (c *counted) Done() <-chan struct{} { return c.done }

func (c *counted) AfterFunc(func()) func() bool {
	c.left++
	return func() bool { c.left--; return true }
}

// A loop's body that panics, is broken out of or ends leaves nothing registered with the context.
func TestAllLeavesNothing(t *testing.T) {
	c := newCached(t, new(numbers))
	ctx := &counted{Context: context.Background(), done: make(chan struct{})}
	for range 1_000 {
		func() {
			defer func() { recover() }()
			for range c.All(ctx) {
				panic("in the loop's body")
			}
		}()
		for range c.All(ctx) {
			break
		}
	}
	if ctx.left != 0 {
		t.Errorf("%d functions are registered with the context", ctx.left)
	}
}

// The context's end ends a loop before the next UID where it takes few, and within maxUnchecked UIDs
// where it takes many.
func TestAllEndsSoon(t *testing.T) {
	c := newCached(t, new(numbers), WithScheduleInterval(0))
	for _, before := range []int{1, 2, 10, 16, 17, 100, 1_000, 5_000} {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		after, n := 0, 0
		for _, err := range c.All(ctx) {
			if err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				continue
			}
			if n++; n == before {
				cancel()
			} else if n > before {
				after++
			}
		}
		if after > maxUnchecked || before <= 17 && after > 0 {
			t.Errorf("%d UIDs came after the context's end, which came after %d", after, before)
		}
	}
}

func TestAllEnds(t *testing.T) {
	c := newCached(t, new(numbers))
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	n, ends := 0, 0
	for id, err := range c.All(ctx) {
		if n++; n == 10 {
			cancel(reason)
		}
		if err == nil {
			continue
		}
		if ends++; id != 0 || !errors.Is(err, reason) {
			t.Errorf("the last is %d, %v", id, err)
		}
	}
	if n < 11 || n > 10+MaxBlock+1 || ends != 1 {
		t.Errorf("%d UIDs and %d errors", n-ends, ends)
	}
	for id, err := range c.All(ctx) {
		t.Logf("%d, %v", id, err)
		if err == nil {
			t.Fatal("an iterator whose context ended before yields a UID")
		}
	}

	all := c.All(context.Background())
	var last ID
	for range 3 { // it can be used again
		for id, err := range all {
			if err != nil || id <= last {
				t.Fatalf("%d, %v after %d", id, err, last)
			}
			last = id
			break
		}
	}
	n = 0
	for id, err := range all {
		if n++; n == 5 {
			c.Close()
		}
		if err != nil && (id != 0 || err != ErrClosed || n != 6) {
			t.Errorf("the %dth is %d, %v", n, id, err)
		}
	}
	if n != 6 {
		t.Errorf("%d yields, with a Close after 5", n)
	}
}

// A handle that waits is woken by its context and by Close.
func TestLocalWaits(t *testing.T) {
	c := newCached(t, new(numbers), WithLayout(layout(t, 31, 28, 4)), WithMaxBorrow(0), WithRollover(false),
		WithBoostPower(0), WithTakePolicy(Wait))
	l := c.Local()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	var err error
	for err == nil {
		_, err = l.NextContext(ctx)
	}
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrEmpty) {
		t.Errorf("%v", err)
	}
	time.AfterFunc(20*time.Millisecond, func() { c.Close() })
	for err = nil; err == nil; {
		_, err = l.Next()
	}
	if err != ErrClosed {
		t.Errorf("%v", err)
	}
}

// D2: time bits that end in two units: each way of taking gives exactly the UIDs that the bits
// allow, in order, to the very last, and then the named error for ever.
func TestD2EveryWayEnds(t *testing.T) {
	l := layout(t, 28, 22, 3)
	last := DefaultEpoch().Add((1<<28 - 1) * time.Second)
	for way := range 4 {
		c := newCached(t, new(numbers), WithLayout(l), WithClock(fakeclock.New(last.Add(-time.Second))), WithScheduleInterval(0))
		take, ids := takers(c)[way](), make([]ID, 1)
		if way == 3 {
			ids = make([]ID, 16) // an iterator that is broken out of loses the rest of its span
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
		for _, way := range takers(c) {
			for range 3 {
				if n, err := way()(ids); n != 0 || !errors.Is(err, ErrTimeExhausted) {
					t.Errorf("after the end: %d, %v", n, err)
				}
			}
		}
	}
}
