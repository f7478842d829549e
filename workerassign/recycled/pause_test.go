package recycled_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A store that returns an older state for a while is asked again after pauses, when a write for the pool has failed:
// for a pool that another process has created, and for a history that another process has noted.
func TestPausesWhileReadsAreStale(t *testing.T) {
	for name, prepare := range map[string]func(f *fleet){
		"the pool is there already": func(*fleet) {},
		"the history is noted already": func(f *fleet) {
			f.assign(f.assigner())
			f.Failover(0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) { testPauses(f, prepare) })
		})
	}
}

// The same for a slot of WithWorkerID that another process has taken already.
func TestFixedWorkerIDPausesWhileReadsAreStale(t *testing.T) {
	inFleet(t, func(f *fleet) {
		fixed := recycled.WithWorkerID(0)
		f.release(f.assign(f.assigner(fixed)))
		time.Sleep(time.Second)
		before := f.Writes()
		f.reserve(f.assign(f.assigner(fixed)), 30*time.Second)
		f.SetLag(f.Writes() - before)
		begin, calls := time.Now(), 0
		f.SetFaults(func(assigntest.Op) assigntest.Fault {
			if calls++; calls > 1000 || time.Since(begin) > 2*time.Second {
				f.SetLag(0)
			}
			return assigntest.NoFault
		})
		ctx, cancel := withTimeout(f, 5*time.Second)
		defer cancel()
		if _, err := f.assigner(fixed).Assign(ctx, f.request()); !errors.Is(err, recycled.ErrSlotHeld) || calls > 100 {
			t.Errorf("Assign returned %v after %d calls of the store and %v; want ErrSlotHeld, and at most 100 calls in 2 s", err, calls, time.Since(begin))
		}
	})
}

func testPauses(f *fleet, prepare func(f *fleet)) {
	prepare(f)
	before := f.Writes()
	f.assign(f.assigner())
	f.SetLag(f.Writes() - before)
	begin, calls := time.Now(), 0
	f.SetFaults(func(assigntest.Op) assigntest.Fault {
		if calls++; calls > 1000 || time.Since(begin) > 2*time.Second {
			f.SetLag(0)
		}
		return assigntest.NoFault
	})
	f.assign(f.assigner())
	if calls > 100 {
		f.Errorf("Assign called the store %d times within %v, want at most 100 in 2 s", calls, time.Since(begin))
	}
}

// R4: if one reply after the other is lost, Reserve pauses between its tries, and ends with its context.
func TestRule4ReservePauses(t *testing.T) {
	inFleet(t, func(f *fleet) {
		l := f.assign(f.assigner())
		calls := 0
		f.SetFaults(func(op assigntest.Op) assigntest.Fault {
			if calls++; op.Write == nil || calls > 1000 {
				return assigntest.NoFault
			}
			return assigntest.LoseReply
		})
		ctx, cancel := context.WithTimeout(f.Context(), 2*time.Second)
		defer cancel()
		until, err := l.Reserve(ctx, time.Now().Add(10*time.Second))
		if err == nil || calls > 200 {
			f.Errorf("Reserve whose replies are lost returned %v, %v after %d calls of the store; want an error after 2 s, and at most 200", until.Until, err, calls)
		}
	})
}
