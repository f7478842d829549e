package recycled_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// R5, R7: no lease begins before the floor, so a slot that was released, and whose grant ends before it, is free at once.
// Otherwise each restart of a host, and of the store, while a floor lies ahead would use another slot.
func TestRestartsBeforeFloor(t *testing.T) {
	const hosts, restarts = 100, 5
	assignAll := func(f *fleet) []workerassign.Lease {
		leases, _ := f.startWith(hosts, time.Second)
		for _, l := range leases {
			if floor := f.Dump().Pool.Floor; l.NotBefore().Before(floor) {
				f.Errorf("the lease of worker ID %d begins at %v, before the floor %v", l.WorkerID(), l.NotBefore(), floor)
			}
		}
		return leases
	}
	for name, restart := range map[string]func(f *fleet, leases []workerassign.Lease) []workerassign.Lease{
		"hosts": func(f *fleet, leases []workerassign.Lease) []workerassign.Lease {
			for _, l := range leases {
				f.release(l)
			}
			time.Sleep(10 * time.Second)
			return assignAll(f)
		},
		"store": func(f *fleet, leases []workerassign.Lease) []workerassign.Lease {
			f.Failover(0)
			next := assignAll(f)
			for _, l := range leases { // they are lost
				f.release(l)
			}
			time.Sleep(10 * time.Second)
			return next
		},
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.max = 1023
				leases := assignAll(f)
				for range restarts {
					leases = restart(f, leases)
				}
				n := f.Dump().Pool.Slots
				t.Logf("the pool has %d slots", n)
				if n > 2*(hosts+excess) {
					t.Errorf("the pool has %d slots after %d restarts of %d hosts; want at most %d", n, restarts, hosts, 2*(hosts+excess))
				}
			})
		})
	}
}

// The same for WithWorkerID: a process that is started again while the floor lies ahead has its worker ID at once. What was
// granted after the floor is not free before the clock has reached its end.
func TestRestartOfWorkerIDBeforeFloor(t *testing.T) {
	inFleet(t, func(f *fleet) {
		fixed := recycled.WithWorkerID(3)
		f.release(f.assign(f.assignerOn(f.Memory, fixed))) // it is not declared new, so the pool begins with a floor
		time.Sleep(time.Second)
		second := f.assign(f.assigner(fixed))
		if !second.NotBefore().Equal(f.Dump().Pool.Floor) {
			t.Errorf("the second lease begins at %v, want the floor %v", second.NotBefore(), f.Dump().Pool.Floor)
		}
		time.Sleep(poolFloor - poolH/2)
		until := f.reserve(second, poolH)
		if err := second.Release(f.Context(), until); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		ctx, cancel := withTimeout(f, time.Second)
		defer cancel()
		if _, err := f.assigner(fixed).Assign(ctx, f.request()); !errors.Is(err, recycled.ErrSlotHeld) || !until.After(f.Dump().Pool.Floor) {
			t.Errorf("Assign of a worker ID that is used until %v returned %v; want ErrSlotHeld", until, err)
		}
	})
}

// The same if the store has no clock, and the host that released the slot had a clock that was ahead: the slot is free
// at that time, not at the floor, so Assign waits for it.
func TestRestartOnHostBehindBeforeFloor(t *testing.T) {
	for _, ahead := range []time.Duration{100 * time.Microsecond, 2 * time.Second} {
		inFleet(t, func(f *fleet) {
			fixed := recycled.WithWorkerID(0)
			l := f.assign(f.assignerOn(f.Memory, fixed)) // it is not declared new, so the pool begins with a floor
			f.StepClock(ahead)
			now := f.Dump().Now
			f.StepClock(now.Truncate(time.Millisecond).Add(100 * time.Microsecond).Sub(now)) // it is rounded up
			f.release(l)
			f.StepClock(-ahead)
			begin := time.Now()
			if _, err := f.assignerOn(f.Memory, fixed).Assign(f.Context(), f.request()); err != nil {
				f.Errorf("Assign after a release by a host whose clock is ahead by %v returned %v after %v", ahead, err, time.Since(begin))
			}
		}, assigntest.WithHostClock())
	}
}
