package uid

import (
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/internal/testkit"
)

// A sealed lease returns no UID, and reports which units were used.
func TestSealedDefaultLease(t *testing.T) {
	layout := layout(t, 31, 20, 4)
	for _, tt := range []struct{ worker, begin, last, used, issued int64 }{
		{1, 5, 0, 5, 0},                // nothing was stamped
		{1, 0, 0, 0, 0},                // the same, from the first unit of the epoch on
		{0, 0, 0, 0, 0},                // the same, where 0 is not a UID
		{1, 5, 5 << 4, 6, 1},           // one UID
		{1, 5, 5<<4 + 15, 6, 16},       // all UIDs of a unit
		{0, 0, 15, 1, 15},              // all UIDs of a unit without 0
		{0, 0, 1 << 4, 2, 1},           // one UID of the unit after it
		{1, 5, 1<<35 - 1, 1 << 31, 16}, // the greatest value that fits
	} {
		l := newDefaultLease(layout, leasing.NewHeldLease(tt.worker, tt.begin), tt.begin, 0, spread{})
		if tt.last != 0 {
			l.last.Store(tt.last)
		}
		d := &Default{seqMask: layout.MaxSequence(), start: time.Now()}
		d.lease.Store(l)
		d.leaseChanger.lease = &d.lease
		l.unitEnd.Store(1 << 62)
		for range 2 {
			if used, past := d.leaseChanger.seal().used(), d.leaseChanger.past.Load(); used != tt.used || past != tt.issued {
				t.Errorf("%+v: used up to unit %d, %d UIDs issued", tt, used, past)
			}
		}
		if id, ok := d.take(); ok {
			t.Errorf("%+v: a sealed lease returned %d", tt, id)
		}
	}
}

// A lease is sealed while takers use it: what they got is what is counted as issued, and is within what is reported as used.
func TestSealDuringTakes(t *testing.T) {
	rounds := testkit.Amount(2_000, 2_000, 5_000)
	layout := layout(t, 31, 11, 21)
	for range rounds {
		l := newDefaultLease(layout, leasing.NewHeldLease(1, 5), 5, 0, spread{})
		l.last.Store(l.firstOf(5))
		l.unitEnd.Store(1 << 62)
		d := &Default{seqMask: layout.MaxSequence(), start: time.Now()}
		d.lease.Store(l)
		d.leaseChanger.lease = &d.lease
		var takers sync.WaitGroup
		var taken, greatest int64
		begun := make(chan struct{})
		takers.Go(func() {
			for id, ok := d.take(); ok; id, ok = d.take() {
				taken, greatest = taken+1, max(greatest, layout.MaxSequence()&int64(id))
				if taken == 20 {
					close(begun)
				}
			}
			if taken < 20 {
				close(begun)
			}
		})
		<-begun
		d.leaseChanger.seal()
		takers.Wait()
		if past := d.leaseChanger.past.Load(); past != taken+1 || l.final.Load()&layout.MaxSequence() != greatest {
			t.Fatalf("%d UIDs were taken up to sequence %d; %d are counted up to sequence %d", taken+1, greatest, past, l.final.Load()&layout.MaxSequence())
		}
	}
}
