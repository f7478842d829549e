package workerassign_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// R7, R8: the server that takes over has a clock that is far behind. A floor that followed from it would lie in the past,
// when the clock is set. So no floor is set before that, and then one that covers what the former server granted last.
func TestRule8FloorOfWrongClock(t *testing.T) {
	inFleet(t, func(f *fleet) {
		other := f.assign(f.assigner())
		f.reserve(other, 10*time.Second)
		writes := f.Writes()
		lost := f.assign(f.assigner())
		granted := f.reserve(lost, poolH)
		f.Failover(f.Writes() - writes)
		f.StepClock(-time.Hour)
		if _, err := other.Reserve(f.Context(), time.Now().Add(10*time.Second)); !errors.Is(err, workerassign.ErrLeaseLost) {
			t.Errorf("Reserve after the failover returned %v, want ErrLeaseLost", err)
		}
		if _, err := f.assigner().Assign(f.Context(), f.request()); !errors.Is(err, workerassign.ErrClockSkew) {
			t.Errorf("Assign while the store's clock is an hour behind returned %v, want ErrClockSkew", err)
		}
		f.StepClock(time.Hour)
		for range 3 {
			if l := f.assign(f.assigner()); l.WorkerID() == lost.WorkerID() && l.NotBefore().Before(granted) {
				t.Errorf("worker ID %d is leased from %v, but was granted until %v by the server that failed", l.WorkerID(), l.NotBefore(), granted)
			}
		}
	})
}

// R7: the process that creates a pool again, because it is missing, does so with the horizon of the lost one: its grants
// reached that far, although this process has another option, which has no effect while there is a pool.
func TestRule7MissingPoolOfGreaterHorizon(t *testing.T) {
	inFleet(t, func(f *fleet) {
		const horizon = 10 * time.Minute
		other := f.assign(f.assigner(workerassign.WithHorizon(horizon)))
		a := f.assigner()
		f.assign(a)
		granted := f.reserve(other, horizon)
		f.Flush()
		f.wantTime("NotBefore after the pool was lost", f.assign(a).NotBefore(), f.Dump().Now.Add(poolF+horizon+poolM))
		if floor := f.Dump().Pool.Floor; floor.Before(granted) {
			t.Errorf("the floor is %v, but %v was granted by the lost pool", floor, granted)
		}
	})
}

// R7: of many processes that notice another history at the same time, the one that sets the floor logs it, as doc/fleet.md
// says. The floors of the others do not exist.
func TestFloorIsLoggedOnce(t *testing.T) {
	inFleet(t, func(f *fleet) {
		var leases []workerassign.Lease
		for range 3 {
			l := f.assign(f.assigner())
			f.reserve(l, 30*time.Second)
			leases = append(leases, l)
		}
		f.Failover(0)
		f.beforeWrite(poolWrite, func() {
			f.assign(f.assigner())
			if _, err := leases[1].Reserve(f.Context(), time.Now().Add(time.Hour)); !errors.Is(err, workerassign.ErrLeaseLost) {
				t.Errorf("Reserve returned %v, want ErrLeaseLost", err)
			}
		})
		if _, err := leases[0].Reserve(f.Context(), time.Now().Add(time.Hour)); !errors.Is(err, workerassign.ErrLeaseLost) {
			t.Errorf("Reserve returned %v, want ErrLeaseLost", err)
		}
		f.assign(f.assigner())
		if n := strings.Count(f.log.String(), "the store may have lost writes"); n != 1 {
			t.Errorf("the floor was logged %d times, want once: %s", n, f.log.String())
		}
	})
}
