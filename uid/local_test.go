package uid

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// Blocks grow while they are used up, so that there are few claims. After one that was not used up they
// start small again, so that gaps are small.
func TestBlockSizesFollowTheRate(t *testing.T) {
	c := newCached(t, new(disposableAssigner), WithScheduleInterval(0), WithLayout(layout(t, 31, 12, 20)))
	l := c.Local()
	var sizes []int
	for range 5_000 {
		isNew := l.block.Len() == 0
		if _, err := l.Next(); err != nil {
			t.Fatal(err)
		}
		if isNew {
			sizes = append(sizes, l.block.size)
		}
	}
	if want := []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1024, 1024, 1024}; !slices.Equal(sizes, want) {
		t.Errorf("blocks of %v UIDs, want %v", sizes, want)
	}
	c.generation.Add(1)
	if _, err := l.Next(); err != nil || l.block.size != MinBlock {
		t.Errorf("after a block that became invalid: a block of %d, %v", l.block.size, err)
	}
	// However many UIDs are taken between two scheduled paddings, the gaps have no more UIDs than were
	// taken.
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
			t.Errorf("%d UIDs per schedule interval: %d UIDs used up %d", n, 50*n, used)
		}
	}
}

// A Local that waits is woken by its context and by Close.
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
		t.Errorf("NextContext() = %v, want ErrEmpty with the context's error", err)
	}
	time.AfterFunc(20*time.Millisecond, func() { c.Close() })
	for err = nil; err == nil; {
		_, err = l.Next()
	}
	if err != ErrClosed {
		t.Errorf("Next() = %v, want ErrClosed", err)
	}
}
