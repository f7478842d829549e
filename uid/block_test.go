package uid

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/fakeclock"
)

// A span is spent when it is used up, when the schedule comes round, and after Close.
func TestBlockEnds(t *testing.T) {
	c := newCached(t, new(disposableAssigner), WithScheduleInterval(0))
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

// The last UID that a layout has is in a span too: invariant 5's far end, where first+length
// does not fit an int64.
func TestInvariant5BlockAtTheEndOfTheTimeBits(t *testing.T) {
	l := layout(t, 31, 1, 31)
	clock := fakeclock.New(DefaultEpoch().Add(time.Duration(l.MaxDelta()) * time.Second))
	c := newCached(t, new(disposableAssigner), WithLayout(l), WithClock(clock), WithScheduleInterval(0))
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

// The size after a span of any size is in range, also where twice that does not fit an int, as it
// does not on 32 bits from 2^30 on.
func TestNextSizeStaysInRange(t *testing.T) {
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
func TestBlockMove(t *testing.T) {
	c := newCached(t, new(disposableAssigner), WithScheduleInterval(0))
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
