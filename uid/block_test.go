package uid

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fakeclock"
	"github.com/ringuid/ringuid/workerassign"
)

// A block ends when it is used up, at the next scheduled padding, and at Close.
func TestBlockEnds(t *testing.T) {
	c := newCached(t, new(disposableAssigner), WithScheduleInterval(0))
	var zero Block
	if id, ok := zero.Next(); ok || id != 0 || zero.Len() != 0 {
		t.Errorf("the zero Block: Next() = %d, %v; Len() = %d", id, ok, zero.Len())
	}
	claim := func() *Block {
		block, err := c.Claim(context.Background(), 3)
		if err != nil || block.Len() != 3 {
			t.Fatalf("Claim(3): Len() = %d, %v", block.Len(), err)
		}
		return &block
	}
	usedUp := claim()
	for want := range 3 {
		id, ok := usedUp.Next()
		if p := c.Parse(id); !ok || p.Sequence != int64(want) {
			t.Errorf("UID %d of the block is %v, %v", want, p, ok)
		}
	}
	if id, ok := usedUp.Next(); ok || id != 0 {
		t.Errorf("a block of 3 returned a fourth UID, %d", id)
	}
	outdated := claim()
	c.generation.Add(1) // as scheduled padding does
	if id, ok := outdated.Next(); ok || id != 0 {
		t.Errorf("a block returned %d after scheduled padding", id)
	}
	unused := claim()
	c.Close()
	if id, ok := unused.Next(); ok || id != 0 {
		t.Errorf("a block returned %d after Close", id)
	}
	if _, err := c.Claim(context.Background(), 1); err != ErrClosed {
		t.Errorf("Claim after Close: %v", err)
	}
}

// TakeAll takes what Next has left, once, and nothing from a block that has ended.
func TestBlockTakeAll(t *testing.T) {
	c := newCached(t, new(disposableAssigner), WithScheduleInterval(0))
	claim := func() *Block {
		block, err := c.Claim(context.Background(), 5)
		if err != nil || block.Len() != 5 {
			t.Fatalf("Claim(5): Len() = %d, %v", block.Len(), err)
		}
		return &block
	}
	block := claim()
	id, _ := block.Next()
	if first, n := block.TakeAll(); first != id+1 || n != 4 {
		t.Errorf("after %d, TakeAll() = %d, %d; want the next 4", id, first, n)
	}
	if first, n := block.TakeAll(); first != 0 || n != 0 {
		t.Errorf("TakeAll returned the UIDs from %d on, %d of them, a second time", first, n)
	}
	if again, ok := block.Next(); ok {
		t.Errorf("Next returned %d after TakeAll", again)
	}
	if first, n := claim().TakeAll(); c.Parse(first).Sequence != 5 || n != 5 {
		t.Errorf("the next block has %d UIDs from %v on", n, c.Parse(first))
	}
	outdated := claim()
	c.generation.Add(1) // as scheduled padding does
	unused := claim()
	c.Close()
	for _, ended := range []*Block{nil, {}, outdated, unused} {
		if first, n := ended.TakeAll(); first != 0 || n != 0 {
			t.Errorf("a block that has ended returned %d UIDs from %d on", n, first)
		}
	}
}

// The last UID of a layout can be in a block, although first+length does not fit in an int64.
func TestInvariant5BlockAtTheEndOfTheTimeBits(t *testing.T) {
	l := layout(t, 31, 1, 31)
	clock := fakeclock.New(DefaultEpoch().Add(time.Duration(l.MaxDelta()) * time.Second))
	c := newCached(t, new(disposableAssigner), WithLayout(l), WithClock(clock), WithScheduleInterval(0))
	var last ID
	var err error
	for err == nil {
		var block Block
		if block, err = c.Claim(context.Background(), 1<<30); err != nil {
			break
		}
		if last = block.last; block.Len() < 1 {
			t.Fatalf("a block of %d UIDs", block.Len())
		}
		block.taken = last - 1
		if id, ok := block.Next(); !ok || id != last {
			t.Fatalf("the last UID of a block is %d, %v; want %d", id, ok, last)
		}
	}
	if !errors.Is(err, ErrTimeExhausted) || last != math.MaxInt64 {
		t.Errorf("the last UID is %d, and then the error is %v", last, err)
	}
}

// NextSize is in range after a block of any size, also where twice the size does not fit in an int,
// which on 32 bits is from 2^30 on.
func TestNextSizeStaysInRange(t *testing.T) {
	for _, tt := range []struct{ size, want int }{
		{0, MinBlock}, {1, 2}, {3, 6}, {MaxBlock / 2, MaxBlock}, {MaxBlock/2 + 1, MaxBlock}, {MaxBlock, MaxBlock},
		{1 << 30, MaxBlock}, {math.MaxInt/2 + 1, MaxBlock}, {math.MaxInt, MaxBlock},
	} {
		block := Block{taken: 5, last: 5, size: tt.size}
		if got := block.NextSize(); got != tt.want {
			t.Errorf("after a block of %d UIDs NextSize() = %d, want %d", tt.size, got, tt.want)
		}
	}
}

// Move transfers the remaining UIDs, and leaves none.
func TestBlockMove(t *testing.T) {
	c := newCached(t, new(disposableAssigner), WithScheduleInterval(0))
	block, err := c.Claim(context.Background(), 3)
	if err != nil {
		t.Fatal(err)
	}
	first, _ := block.Next()
	moved := block.Move()
	if id, ok := block.Next(); ok || block.Len() != 0 || moved.Len() != 2 {
		t.Errorf("after Move the block returned %d, and has %d UIDs; the other one has %d", id, block.Len(), moved.Len())
	}
	if id, ok := moved.Next(); !ok || id != first+1 {
		t.Errorf("the moved block returned %d, %v after %d", id, ok, first)
	}
	if moved.NextSize() != MinBlock || block.NextSize() != 6 {
		t.Errorf("NextSize() = %d of the moved block, %d of the old one", moved.NextSize(), block.NextSize())
	}
}

// Scheduled padding ends the blocks that were claimed before it, and an idle generator has a new one after it.
func TestScheduledPaddingEndsBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCached(t, new(disposableAssigner), WithEpoch(bubbleEpoch), WithScheduleInterval(time.Second))
		for range 3 {
			block, err := c.Claim(t.Context(), 10)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := block.Next(); !ok {
				t.Error("a new block is used up")
			}
			time.Sleep(1250 * time.Millisecond) // never ends together with the interval, after which a new block may end at once
			if id, ok := block.Next(); ok {
				t.Errorf("a block returned %v after scheduled padding, at %v", c.Parse(id), time.Now())
			}
		}
	})
}

// A scheduled padding while a call waits for the next time unit does not end the block that is claimed after it: each unit has such a padding.
func TestScheduledPaddingWhileClaimsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, sequenceBits := range []int{1, 13} {
			time.Sleep(300 * time.Millisecond) // so that it falls between the starts of two units
			c := newCached(t, workerassign.Static(5), WithEpoch(bubbleEpoch), WithLayout(layout(t, 40, 23-sequenceBits, sequenceBits)), WithScheduleInterval(time.Second))
			began, want := time.Now(), 4<<sequenceBits
			for got := 0; got < want; {
				block, err := c.Claim(t.Context(), 1<<30)
				if err != nil {
					t.Fatal(err)
				}
				_, n := block.TakeAll()
				if n == 0 || time.Since(began) > 4*time.Second {
					t.Fatalf("%d UIDs in the last block, %d of %d within %v", n, got, want, time.Since(began))
				}
				got += n
			}
			var locals sync.WaitGroup
			for range 2 { // as many as a short unit has UIDs
				locals.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					defer cancel()
					l := c.Local()
					if _, err := l.NextNContext(ctx, make([]ID, 5)); err != nil {
						t.Errorf("a Local has got no five UIDs: %v", err)
					}
				})
			}
			locals.Wait()
		}
	})
}

// After Close no block returns a UID, however late it was claimed.
func TestBlocksEndWithClose(t *testing.T) {
	for range testkit.Amount(20, 50, 200) {
		c := newCached(t, new(disposableAssigner), WithLayout(layout(t, 31, 20, 12)), WithBoostPower(4), WithScheduleInterval(0))
		var claimed [4]Block
		var claimers sync.WaitGroup
		begun := make(chan struct{}, len(claimed))
		for n := range claimed {
			claimers.Go(func() {
				for k := 0; ; k++ {
					block, err := c.Claim(t.Context(), 2)
					if err != nil {
						return
					}
					claimed[n] = block.Move()
					if k == 10 {
						begun <- struct{}{}
					}
					runtime.Gosched() // so that Close runs soon
				}
			})
		}
		for range claimed {
			<-begun
		}
		c.Close()
		claimers.Wait()
		for n := range claimed {
			if id, ok := claimed[n].Next(); ok {
				t.Fatalf("a block returned %v after Close", c.Parse(id))
			}
		}
	}
}
