package recycled_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// takes reports whether the next lease has a worker ID. It releases the lease again.
func (f *fleet) takes(workerID int64, opts ...recycled.Option) bool {
	f.Helper()
	l := f.assign(f.assigner(opts...))
	if err := l.Release(f.Context(), time.Time{}); err != nil {
		f.Fatal(err)
	}
	return l.WorkerID() == workerID
}

// isFree reports whether a lease of a worker ID is granted at once. If so, it takes that lease. The store does
// not choose here, so that it is the assigner that decides.
func (f *fleet) isFree(workerID int64) bool {
	f.Helper()
	ctx, cancel := withTimeout(f, time.Nanosecond)
	defer cancel()
	_, err := f.assigner(recycled.WithWorkerID(workerID)).Assign(ctx, f.request())
	if err != nil && !errors.Is(err, recycled.ErrSlotHeld) {
		f.Fatalf("Assign of worker ID %d: %v", workerID, err)
	}
	return err == nil
}

// R5: a slot that was released is free when its until lies behind the store's clock and the claimant's.
func TestRule5Released(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after time.Duration // after the slot's until, by the claimant's clock
		step  time.Duration // of the store's clock
		want  bool
	}{
		{"neither clock is there", -3 * time.Second, 0, false},
		{"only the store's clock is there", -2 * time.Second, 3 * time.Second, false},
		{"only the claimant's clock is there", 2 * time.Second, -3 * time.Second, false},
		{"both are there", 2 * time.Millisecond, 0, true},
	} {
		inFleet(t, func(f *fleet) {
			l := f.assign(f.assigner())
			until := f.reserve(l, time.Minute).Add(-30 * time.Second)
			if err := l.Release(f.Context(), until); err != nil {
				f.Fatal(err)
			}
			time.Sleep(time.Until(until) + tt.after)
			f.StepClock(tt.step)
			if got := f.isFree(l.WorkerID()); got != tt.want {
				f.Errorf("%s: the slot is free: %v, want %v", tt.name, got, tt.want)
			}
		})
	}
}

// R5: a slot that was not released is free a grace after its until and its last write, by the store's
// clock.
func TestRule5Grace(t *testing.T) {
	inFleet(t, func(f *fleet) {
		l := f.assign(f.assigner())
		f.reserve(l, 20*time.Second)
		time.Sleep(20*time.Second + poolGrace - time.Millisecond)
		if f.isFree(l.WorkerID()) {
			f.Error("a slot was taken before the end of its grace")
		}
		time.Sleep(3 * time.Millisecond)
		if !f.isFree(l.WorkerID()) {
			f.Error("a slot was not taken after the end of its grace")
		}
	})
}

// R5: the grace begins at the last write if that is later than until.
func TestRule5GraceAfterWrite(t *testing.T) {
	inFleet(t, func(f *fleet) {
		l := f.assign(f.assigner()) // granted nothing
		for range 5 {
			time.Sleep(poolGrace * 3 / 4)
			f.reserve(l, -time.Hour) // an idle generator: nothing is granted, but the lease is kept
			if f.isFree(l.WorkerID()) {
				f.Fatal("the slot of an idle generator was taken")
			}
		}
		time.Sleep(poolGrace + 2*time.Millisecond)
		if !f.isFree(l.WorkerID()) {
			f.Error("a slot was not taken a grace after its last write")
		}
		if _, err := l.Reserve(f.Context(), time.Now()); !errors.Is(err, workerassign.ErrLeaseLost) {
			f.Errorf("Reserve of a lease whose slot was taken returned %v", err)
		}
	})
}

// R5: after a start of the store only released slots are free for one grace.
func TestRule5AfterStart(t *testing.T) {
	inFleet(t, func(f *fleet) {
		crashed, released := f.assign(f.assigner()), f.assign(f.assigner())
		f.reserve(crashed, time.Second)
		f.release(released)
		time.Sleep(time.Hour)
		f.Failover(0)
		l := f.assign(f.assigner())
		if l.WorkerID() != released.WorkerID() {
			f.Errorf("after a failover worker ID %d was taken, want %d, which was released", l.WorkerID(), released.WorkerID())
		}
		if f.takes(crashed.WorkerID()) {
			f.Error("after a failover a slot was taken that was not released")
		}
		time.Sleep(poolGrace + 2*time.Millisecond)
		f.max = 1
		if l := f.assign(f.assigner()); l.WorkerID() != crashed.WorkerID() {
			f.Errorf("a grace after a failover worker ID %d was taken, want %d", l.WorkerID(), crashed.WorkerID())
		}
	})
}

// R5: after a start of the store, released slots are found behind many that were not released. No slot is added
// before the released ones are taken.
func TestRule5AfterStartReleasedBehindCrashed(t *testing.T) {
	for _, crashed := range []int{40, 400} {
		inFleet(t, func(f *fleet) {
			const free = 5
			f.max = 1023
			var leases []workerassign.Lease
			for range crashed + free {
				leases = append(leases, f.assign(f.assigner()))
			}
			time.Sleep(poolGrace + time.Second)
			released := map[int64]bool{}
			for _, l := range leases[crashed:] { // after the time from which on the others may be taken
				f.reserve(l, time.Second)
				f.release(l)
				released[l.WorkerID()] = true
			}
			time.Sleep(2 * time.Millisecond)
			f.Failover(0)
			for n := range free + 1 {
				if l := f.assign(f.assigner()); released[l.WorkerID()] != (n < free) {
					f.Errorf("%d crashed: lease %d has worker ID %d, want one of %d that were released, and then a new one", crashed, n+1, l.WorkerID(), free)
				}
			}
			if n := f.Dump().Pool.Slots; n != int64(crashed+free+1) {
				f.Errorf("the pool has %d slots, want %d", n, crashed+free+1)
			}
		})
	}
}

// R6: no grant reaches further than the horizon beyond the store's clock. Reserve caps it.
func TestRule6Horizon(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.StepClock(-2 * time.Second)
		l := f.assign(f.assigner())
		for _, ahead := range []time.Duration{poolH - 3*time.Second, poolH - 2*time.Second, poolH, poolH + 10*time.Second, 1e6 * time.Hour} {
			until := f.reserve(l, ahead)
			want := time.Now().Add(min(ahead, poolH-2*time.Second))
			if d := want.Sub(until); d < -time.Millisecond || d > time.Millisecond {
				f.Errorf("Reserve of %v grants %v, want %v", ahead, until, want)
			}
		}
		g, err := l.Reserve(f.Context(), workerassign.Unbounded())
		if err != nil || g.Until.After(time.Now().Add(poolH)) {
			f.Errorf("Reserve without a limit granted %v, %v; must not be beyond the horizon", g.Until, err)
		}
		if g.Horizon != poolH-poolB {
			f.Errorf("the grant's horizon is %v; want %v, the pool's less the clock bound", g.Horizon, poolH-poolB)
		}
	})
}

// R6: the horizon is the pool's, and not the process's.
func TestRule6PoolsHorizon(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.assign(f.assigner(recycled.WithHorizon(20 * time.Second)))
		l := f.assign(f.assigner(recycled.WithHorizon(time.Hour)))
		g, err := l.Reserve(f.Context(), time.Now().Add(time.Hour))
		if err != nil || g.Until.After(time.Now().Add(20*time.Second)) {
			f.Errorf("Reserve grants %v, %v, beyond the pool's horizon of 20 s", g.Until, err)
		}
		if g.Horizon != 15*time.Second {
			f.Errorf("the grant's horizon is %v, want 15 s", g.Horizon)
		}
	})
}

// R8: a host whose clock differs from the store's by more than the bound is refused; both times are named.
func TestRule8ClockBound(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.assign(f.assigner())
		reads := f.Counts().Reads
		for _, step := range []time.Duration{24 * time.Hour, -24 * time.Hour, poolB + 2*time.Millisecond, -poolB - 2*time.Millisecond} {
			f.StepClock(step)
			_, err := f.assigner().Assign(f.Context(), f.request())
			store, host := f.Dump().Now.UTC().Format(time.RFC3339Nano), time.Now().UTC().Format(time.RFC3339Nano)
			if !errors.Is(err, recycled.ErrClockSkew) || !strings.Contains(err.Error(), store) || !strings.Contains(err.Error(), host) {
				f.Errorf("Assign with a store whose clock differs by %v returned %v; want ErrClockSkew with both times, %s and %s", step, err, store, host)
			}
			f.StepClock(-step)
		}
		if n := f.Counts().Reads - reads; n != 4 {
			f.Errorf("four refused calls of Assign have read %d times; must not try again", n)
		}
		for _, step := range []time.Duration{poolB - 2*time.Millisecond, -poolB + 2*time.Millisecond} {
			f.StepClock(step)
			f.assign(f.assigner())
			f.StepClock(-step)
		}
	})
}

// R8: the store's clock is compared with the time from the request to the reply, so that a slow reply is no
// difference of clocks.
func TestRule8SlowReply(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.SetFaults(func(op assigntest.Op) assigntest.Fault {
			if op.Query != nil {
				time.Sleep(2 * poolB) // before the store reads its clock
			}
			return assigntest.NoFault
		})
		f.assign(f.assigner())
	})
}

// R8: a store without a clock is not compared.
func TestRule8HostClock(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.StepClock(time.Hour)
		f.assign(f.assigner())
	}, assigntest.WithHostClock())
}
