package recycled_test

import (
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// named is an assigner with a name.
func (f *fleet) named(opts ...recycled.Option) *recycled.Assigner {
	return f.assigner(append(opts, recycled.WithName("orders-3"))...)
}

// takesAgain reports whether, after d, the next lease of the name has the worker ID of l.
func (f *fleet) takesAgain(l workerassign.Lease, d time.Duration, opts ...recycled.Option) bool {
	f.Helper()
	time.Sleep(d)
	next := f.assign(f.named(opts...))
	return next.WorkerID() == l.WorkerID()
}

// R5: a claimant of the same name does without grace, but the grant must have ended.
func TestRule5SameName(t *testing.T) {
	for after, want := range map[time.Duration]bool{-44 * time.Second: false, -2 * time.Millisecond: false, 2 * time.Millisecond: true} {
		inFleet(t, func(f *fleet) {
			l := f.assign(f.named())
			until := f.reserve(l, 45*time.Second)
			time.Sleep(45*time.Second + after)
			next := f.assign(f.named())
			if got := next.WorkerID() == l.WorkerID(); got != want {
				f.Errorf("%v after the end of a grant its slot was taken by its name: %v, want %v", after, got, want)
			}
			if want && !next.NotBefore().Equal(until) {
				f.Errorf("the next lease begins at %v, want %v", next.NotBefore(), until)
			}
		})
	}
}

// R5: without grace only if 1.125 times what the claimant reserves ahead is more than B + M + one call, which are
// 20 s here. If what it reserves ahead is not known, it waits for the grace.
func TestRule5SameNameReserveAhead(t *testing.T) {
	for reserveAhead, want := range map[time.Duration]bool{0: false, time.Second: false, 17 * time.Second: false, 18 * time.Second: true, time.Hour: true} {
		inFleet(t, func(f *fleet) {
			f.reserveAhead = reserveAhead
			l := f.assign(f.named())
			f.reserve(l, 45*time.Second)
			if got := f.takesAgain(l, 45*time.Second+4*time.Millisecond); got != want {
				f.Errorf("a claimant that reserves %v ahead took the slot of its name without grace: %v, want %v", reserveAhead, got, want)
			}
		})
	}
}

// R5: what matters is what the holder reserves ahead, which may be another version of a service. Its last grant
// shows that: it reached 1.5 times as far beyond the store's clock.
func TestRule5SameNameHolderReservesLess(t *testing.T) {
	for granted, want := range map[time.Duration]bool{2 * time.Second: false, 26 * time.Second: false, 27 * time.Second: true} {
		inFleet(t, func(f *fleet) {
			l := f.assign(f.named())
			f.reserve(l, granted)
			if got := f.takesAgain(l, granted+4*time.Millisecond); got != want {
				f.Errorf("the slot of a holder that reserved %v was taken without grace: %v, want %v", granted, got, want)
			}
		})
	}
}

// R5: a holder that reserves little and writes late, because it is idle or its store was slow, keeps its grace.
func TestRule5SameNameIdleHolder(t *testing.T) {
	inFleet(t, func(f *fleet) {
		l := f.assign(f.named())
		f.reserve(l, 45*time.Second)
		time.Sleep(45*time.Second + poolGrace*3/4)
		f.reserve(l, -time.Hour) // nothing is granted, but the lease is kept
		if f.takesAgain(l, 4*time.Millisecond) {
			f.Error("the slot of an idle generator was taken by its name")
		}
	})
}

// R5: without the inequality, a claimant of the same name waits for the grace too.
func TestRule5SameNameNeedsGrace(t *testing.T) {
	inFleet(t, func(f *fleet) {
		bound := recycled.WithClockBound(30 * time.Second)
		l := f.assign(f.named(bound))
		f.reserve(l, 45*time.Second)
		if f.takesAgain(l, 45*time.Second+4*time.Millisecond, bound) {
			f.Error("a slot was taken by its name without grace, although the clock bound is longer than what generators reserve ahead")
		}
	})
}

// R5: 1.125 times what both reserve ahead must exceed the clock bound, the skew and the time of a call. If it equals them, a
// claimant of the same name waits for the grace too.
func TestRule5SameNameExactly(t *testing.T) {
	for reserveAhead, want := range map[time.Duration]bool{16 * time.Second: false, 16*time.Second + 8: true} {
		inFleet(t, func(f *fleet) {
			f.reserveAhead = reserveAhead
			opts := []recycled.Option{recycled.WithClockBound(5 * time.Second), recycled.WithSkew(3 * time.Second)}
			l := f.assign(f.named(opts...))
			f.reserve(l, 45*time.Second)
			if got := f.takesAgain(l, 45*time.Second+4*time.Millisecond, opts...); got != want {
				f.Errorf("with a reserve ahead of %v, the same name has the slot again without grace: %v, want %v", reserveAhead, got, want)
			}
		})
	}
}

// R5: a lease that has not reserved time yet is not taken by another of the same name.
func TestRule5SameNameAtOnce(t *testing.T) {
	inFleet(t, func(f *fleet) {
		first := f.assign(f.named())
		time.Sleep(5 * time.Millisecond)
		second := f.assign(f.named())
		if first.WorkerID() == second.WorkerID() {
			f.Errorf("two generators of one name that start together both have worker ID %d: the first one has lost its lease before it could reserve time", first.WorkerID())
		}
		f.reserve(first, 30*time.Second)
		f.reserve(second, 30*time.Second)
	})
}
