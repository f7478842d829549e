package recycled_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/leasetest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// After each lost race, twice as many slots are added.
func TestRacesDoubleAdditions(t *testing.T) {
	for races, want := range map[int]int64{0: 1, 1: 2, 2: 4, 3: 8, 4: 16, 5: 32, 6: 32} {
		inFleet(t, func(f *fleet) {
			lost, others := 0, int64(0)
			store := beforeWrites{f.Memory, func(w recycled.Write) {
				if w.Pool != nil && len(w.Slots) > 0 && lost < races { // another adds a slot first
					lost++
					others++
					f.reserve(f.assign(f.assigner()), time.Minute)
				}
			}}
			f.createPool()
			f.assign(f.assignerOn(store))
			if s := f.Dump(); s.Pool.Slots != others+want {
				f.Errorf("after %d lost races %d slots were added, want %d", lost, s.Pool.Slots-others, want)
			}
		})
	}
}

// beforeWrites is a store that calls a function before each write.
type beforeWrites struct {
	recycled.Store
	do func(w recycled.Write)
}

func (s beforeWrites) Write(ctx context.Context, w recycled.Write) (bool, error) {
	s.do(w)
	return s.Store.Write(ctx, w)
}

// lateReply returns the result of a write as an error, after a function has run.
type lateReply struct {
	recycled.Store
	do func()
}

func (s *lateReply) Write(ctx context.Context, w recycled.Write) (bool, error) {
	written, err := s.Store.Write(ctx, w)
	if do := s.do; do != nil {
		s.do = nil
		do()
		return false, errors.New("the reply was lost")
	}
	return written, err
}

// R4: if the reply to a release is lost, and another process has the rest of the span when it is tried again, nothing is void.
func TestR4ReleaseWithLateReply(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.assign(f.assigner())
		time.Sleep(5 * time.Minute) // until the floor of the new pool is over
		s := &lateReply{Store: f.Memory}
		l := f.assign(f.assignerOn(s))
		granted, used := f.reserve(l, 40*time.Second), time.Now().Add(time.Second)
		s.do = func() {
			if begin := f.assign(f.assigner(recycled.WithWorkerID(l.WorkerID()))).NotBefore(); begin.Before(used) || !begin.Before(granted) {
				t.Errorf("the other lease begins at %v; want it from %v on, and before %v", begin, used, granted)
			}
		}
		if err := l.Release(f.Context(), used); err != nil {
			t.Errorf("Release = %v", err)
		}
	})
}

// R4: but if a copy has released the slot, and another process has taken it, what both have used is void, also if this one has used less.
func TestR4ReleaseAfterCopysRelease(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.assign(f.assigner())
		time.Sleep(5 * time.Minute) // until the floor of the new pool is over
		l := f.assign(f.assigner())
		granted, used := f.reserve(l, 40*time.Second), time.Now().Truncate(time.Second).Add(2*time.Second)
		slot := f.slot(l.WorkerID())
		released := slot
		released.Revision++
		released.Token, released.Until, released.FreeAt = "", used.Add(time.Second), used.Add(time.Second)
		if ok, err := f.Write(f.Context(), recycled.Write{History: f.Dump().History, Slots: []recycled.Slot{released}, Replaced: []recycled.Slot{slot}}); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if begin := f.assign(f.assigner(recycled.WithWorkerID(l.WorkerID()))).NotBefore(); !begin.Before(granted) {
			t.Errorf("the other lease begins at %v; want before %v", begin, granted)
		}
		leasetest.WantError(t, "Release", l.Release(f.Context(), used), workerassign.ErrVoid)
	})
}

// The pause after a lost race ends before the deadline, so that there is another try, however slow the store was.
func TestPauseEndsBeforeDeadline(t *testing.T) {
	for range 20 {
		inFleet(t, func(f *fleet) {
			f.reserve(f.assign(f.assigner()), time.Minute)
			tries := 0
			store := beforeWrites{f.Memory, func(w recycled.Write) {
				if tries++; tries == 1 {
					time.Sleep(3 * time.Second)
					f.reserve(f.assign(f.assigner()), time.Minute)
				}
			}}
			ctx, cancel := withTimeout(f, 4*time.Second)
			defer cancel()
			if _, err := f.assignerOn(store).Assign(ctx, f.request()); err != nil || tries != 2 {
				f.Errorf("Assign after %d tries: %v; want another try before the deadline", tries, err)
			}
		})
	}
}

// staleAdds is a store that makes some additions of slots as if the slots existed, and a read of them finds them.
type staleAdds struct {
	recycled.Store
	refused *int
	also    func() // when an addition is refused
}

func (s staleAdds) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	state, err := s.Store.Read(ctx, q)
	if len(q.WorkerIDs) > 0 && *s.refused >= 0 {
		state.Slots = []recycled.Slot{{WorkerID: q.WorkerIDs[0], Revision: 1}}
	}
	return state, err
}

func (s staleAdds) Write(ctx context.Context, w recycled.Write) (bool, error) {
	if w.Pool != nil && w.Pool.Revision > 1 && *s.refused > 0 {
		*s.refused--
		s.also()
		return false, nil
	}
	return s.Store.Write(ctx, w)
}

// A store may return an older state for a moment, in which slots exist that the pool does not have. A pool is only damaged if
// that is so six times in a row, while nobody changes it.
func TestStaleAdditionsAreNotDamage(t *testing.T) {
	for name, c := range map[string]struct {
		refused int
		changes int // by others, at the first refusals
		want    error
	}{
		"five times":                         {5, 0, nil},
		"six times":                          {6, 0, recycled.ErrPool},
		"more, while others add slots":       {12, 12, nil},
		"six times, others add one at first": {6, 1, nil},
	} {
		inFleet(t, func(f *fleet) {
			f.reserve(f.assign(f.assigner()), time.Minute)
			refused, changes := c.refused, c.changes
			a := f.assignerOn(staleAdds{f.Memory, &refused, func() {
				if changes--; changes >= 0 {
					f.reserve(f.assign(f.assigner()), time.Minute)
				}
			}})
			if _, err := a.Assign(f.Context(), f.request()); !errors.Is(err, c.want) {
				f.Errorf("%s: Assign = %v, want %v", name, err, c.want)
			}
		})
	}
}

// After four lost races, slots are added although fewer than 16 are free, and not if more are.
func TestCrowdAddsSlots(t *testing.T) {
	for free, want := range map[int]int{1: 4, 15: 4, 16: 9} {
		inFleet(t, func(f *fleet) {
			leases := []workerassign.Lease{}
			for range free {
				leases = append(leases, f.assign(f.assigner()))
			}
			for _, l := range leases {
				f.release(l)
			}
			time.Sleep(time.Second)
			lost, added := 0, false
			store := beforeWrites{f.Memory, func(w recycled.Write) {
				if added = w.Pool != nil; added || lost == 9 {
					return
				}
				lost++ // another writes the slot first
				slot := f.slot(w.Slots[0].WorkerID)
				slot.Revision++
				if ok, err := f.Write(f.Context(), slottest.Swap(f.Dump(), nil, slot)); !ok || err != nil {
					f.Errorf("Write() = %v, %v", ok, err)
				}
			}}
			f.assign(f.assignerOn(store))
			if lost != want || added != (free < 16) {
				f.Errorf("with %d free slots: %d lost races, and then slots are added: %v; want %d", free, lost, added, want)
			}
		})
	}
}

// Slots that became free while others were added are taken, also after four lost races, if there may be more of them than were
// asked for.
func TestFreeSlotsAfterLostAdditions(t *testing.T) {
	inFleet(t, func(f *fleet) {
		leases := []workerassign.Lease{f.assign(f.assigner())}
		lost := 0
		store := beforeWrites{f.Memory, func(w recycled.Write) {
			if w.Pool == nil || lost == 5 {
				return
			}
			lost++
			leases = append(leases, f.assign(f.assigner()))
			if lost == 4 {
				for _, l := range leases {
					f.release(l)
				}
				time.Sleep(10 * time.Millisecond)
			}
		}}
		l := f.assign(f.assignerOn(store))
		if lost != 4 || l.WorkerID() >= int64(len(leases)) {
			f.Errorf("after %d lost additions worker ID %d was leased; want one of the %d that are free", lost, l.WorkerID(), len(leases))
		}
	})
}

// The pause after a lost race is up to four times as long as the try took, and at most 30 seconds.
func TestPauseGrowsWithSlowStore(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{2 * time.Second: 8 * time.Second, 25 * time.Second: 30 * time.Second} {
		longest := time.Duration(0)
		for range 40 {
			inFleet(t, func(f *fleet) {
				f.reserve(f.assign(f.assigner()), 2*time.Minute)
				tries, lostAt := 0, time.Time{}
				store := beforeWrites{f.Memory, func(w recycled.Write) {
					if tries++; tries == 1 {
						time.Sleep(took)
						f.reserve(f.assign(f.assigner()), time.Minute)
						lostAt = time.Now()
						return
					}
					longest = max(longest, time.Since(lostAt))
				}}
				ctx, cancel := withTimeout(f, time.Hour)
				defer cancel()
				if _, err := f.assignerOn(store).Assign(ctx, f.request()); err != nil {
					f.Error(err)
				}
			})
		}
		if longest > want || longest < want/4 {
			t.Errorf("after tries of %v, the longest pause of 40 is %v; want up to %v", took, longest, want)
		}
	}
}
