package recycled_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/leasetest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
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
		if _, err := f.assigner().Assign(f.Context(), f.request()); !errors.Is(err, recycled.ErrClockSkew) {
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

// R7: a process that was refused, because it declares a smaller horizon than the pool's, is refused, too, when the pool is missing: its
// floor would be too early.
func TestRule7MissingPoolOfGreaterHorizon(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.assign(f.assigner(recycled.WithHorizon(10 * time.Minute)))
		a := f.assigner()
		for range 2 {
			_, err := a.Assign(f.Context(), f.request())
			leasetest.WantError(t, "a smaller horizon", err, workerassign.ErrOption, "the horizon is 1m15s; must be at least that of the pool, 10m0s (WithHorizon)")
			f.Flush()
		}
		if p := f.Dump().Pool; p.Revision != 0 {
			t.Errorf("the pool is %+v; must not have been created again", p)
		}
	})
}

// R7: of many processes that notice another history at the same time, the one that sets the floor logs it. The floors of the others do not exist.
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

// R7: a server that has taken over, and refuses writes for some time, is not logged at each try: nobody has set a floor, and
// the process that sets it logs it once. If the reply to that was lost, it logs that its lease begins at the floor. The same holds for a
// pool that is missing.
func TestFloorThatIsNotSetIsNotLogged(t *testing.T) {
	for name, tt := range map[string]struct {
		fail func(f *fleet)
		text string
		last assigntest.Fault // of the last write that fails
	}{
		"failover":                            {func(f *fleet) { f.Failover(0) }, "the store may have lost writes", assigntest.LoseRequest},
		"failover, a lost reply":              {func(f *fleet) { f.Failover(0) }, "the lease begins later", assigntest.LoseReply},
		"lost pool":                           {func(f *fleet) { f.Flush() }, "the pool is missing", assigntest.LoseRequest},
		"lost pool, a lost reply":             {func(f *fleet) { f.Flush() }, "the lease begins later", assigntest.LoseReply},
		"failover, a lost reply to the lease": {func(f *fleet) { f.Failover(0) }, "the lease begins later", assigntest.NoFault},
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				a := f.assigner()
				l := f.assign(a)
				f.reserve(l, 30*time.Second)
				tt.fail(f)
				logged := len(f.log.String())
				begin, last := time.Now(), tt.last
				f.SetFaults(func(op assigntest.Op) assigntest.Fault {
					switch {
					case op.Write == nil || last == assigntest.NoFault:
						return assigntest.NoFault
					case time.Since(begin) < 20*time.Second:
						return assigntest.LoseRequest
					}
					fault := last
					last = assigntest.NoFault
					return fault
				})
				if last == assigntest.NoFault {
					f.faultWrites(poolWrite, assigntest.LoseReply)
				}
				for range 5 {
					if _, err := l.Reserve(f.Context(), time.Now().Add(time.Minute)); !errors.Is(err, workerassign.ErrLeaseLost) {
						t.Errorf("Reserve returned %v, want ErrLeaseLost", err)
					}
				}
				if log := f.log.String()[logged:]; strings.Contains(log, "floor=") {
					t.Errorf("a floor that is not set, or not known to be set, was logged: %s", log)
				}
				floor := f.assign(a).NotBefore()
				log := f.log.String()
				if n := strings.Count(log, tt.text); n != 1 || !strings.Contains(log, "floor="+floor.Format("2006-01-02T15:04:05.000Z07:00")) {
					t.Errorf("the floor was logged %d times, want once, and %v: %s", n, floor, log)
				}
				if n := strings.Count(log, "floor="); n != 1 {
					t.Errorf("%d records have the floor, want 1: %s", n, log)
				}
			})
		})
	}
}
