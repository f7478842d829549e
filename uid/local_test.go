package uid

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// Spans grow for who uses them up, so that the claims are few, and start small again for who
// does not, so that the gaps are.
func TestBlockSizesFollowTheRate(t *testing.T) {
	c := newCached(t, new(disposableAssigner), WithScheduleInterval(0), WithLayout(layout(t, 31, 12, 20)))
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

// A handle that waits is woken by its context and by Close.
func TestLocalWaitEnds(t *testing.T) {
	c := newCached(t, new(disposableAssigner), WithLayout(layout(t, 31, 28, 4)), WithMaxBorrow(0), WithRollover(false),
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
