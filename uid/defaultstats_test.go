package uid

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fakeclock"
)

// Stats().Issued never decreases and never exceeds the number of issued UIDs, while units begin, leases
// change and the generator is closed.
func TestDefaultIssuedNeverFalls(t *testing.T) {
	for range testkit.Amount(5, 10, 30) {
		store := &lossySlots{rnd: rand.New(rand.NewPCG(1, 9))}
		var d *Default
		for err := error(ErrLease); err != nil; { // the store may lose the first lease too
			d, err = newImpatientDefault(store, leasing.Hooks{Delay: func(context.Context, time.Duration) bool { return true }},
				WithLayout(layout(t, 41, 10, 4)), WithTimeUnit(time.Millisecond), WithReserveAhead(3*time.Millisecond))
		}
		var begun, got atomic.Uint64 // the number of calls that have started, and of UIDs that were returned
		var all, readers sync.WaitGroup
		stop := make(chan struct{})
		for range 3 {
			all.Go(func() {
				for {
					begun.Add(1)
					_, err := d.Next()
					if err == ErrClosed {
						return
					}
					if err == nil {
						got.Add(1)
					} else {
						begun.Add(^uint64(0))
					}
				}
			})
		}
		for range 2 {
			readers.Go(func() {
				for last := uint64(0); ; {
					n := d.Stats().Issued
					if most := begun.Load(); n < last || n > most {
						t.Errorf("Issued went from %d to %d; %d calls have started", last, n, most)
						return
					}
					last = n
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
		time.Sleep(15 * time.Millisecond)
		d.Close()
		all.Wait()
		close(stop)
		readers.Wait()
		if n := d.Stats().Issued; n != got.Load() {
			t.Errorf("%d UIDs were issued, but Issued is %d", got.Load(), n)
		}
	}
}

// Issued does not fall in the moment when a taker has begun a unit, and has not yet added the UIDs of the one before it.
func TestDefaultIssuedWhileAUnitBegins(t *testing.T) {
	d := newDefault(t, new(disposableAssigner), WithClock(fakeclock.New(noon)))
	for range 10 {
		next(t, d)
	}
	l := d.lease.Load()
	last := l.last.Load()
	before := d.Stats().Issued
	unit := last>>d.seqBits + 1
	l.last.Store(l.firstOf(unit))
	if n := d.Stats().Issued; n < before {
		t.Errorf("Issued fell from %d to %d", before, n)
	}
	d.onNewUnit(l, last, unit)
	if n := d.Stats().Issued; before != 10 || n != 11 {
		t.Errorf("Issued went from %d to %d; want from 10 to 11", before, n)
	}
}
