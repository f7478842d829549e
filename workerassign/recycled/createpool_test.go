package recycled_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/leasetest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// R7: a process whose pool is lost with everything in it begins with a floor, also if CreatePool has created it: the process has found
// it before.
func TestRule7CreatedPoolIsLost(t *testing.T) {
	inFleet(t, func(f *fleet) {
		a := f.assigner()
		granted := f.reserve(f.assign(a), 30*time.Second)
		f.Flush()
		floor := f.Dump().Now.Add(poolFloor)
		l := f.assign(a)
		if l.NotBefore().Before(granted) {
			t.Errorf("a lease of worker ID %d begins at %v, and %v was granted before", l.WorkerID(), l.NotBefore(), granted)
		}
		f.wantTime("NotBefore after the pool was lost", l.NotBefore(), floor)
	})
}

// R7: a pool that is missing, although this process has used it, begins with a floor on a store that loses no
// acknowledged writes too: somebody has deleted the pool.
func TestRule7NewPoolNoLoss(t *testing.T) {
	inFleet(t, func(f *fleet) {
		a := f.assignerOn(f.Memory)
		f.wantTime("NotBefore of the first pool", f.assign(a).NotBefore(), time.Now())
		f.Flush()
		f.wantTime("NotBefore after the pool was deleted", f.assign(a).NotBefore(), f.Dump().Now.Add(poolFloor))
		if log := f.log.String(); !strings.Contains(log, "the pool is missing, although this process has used it") || !strings.Contains(log, "floor=") {
			t.Errorf("the log is %q; want the floor with its reason", log)
		}
	}, assigntest.WithNoLoss())
}

// R7: the log of a first start does not say that writes were lost, because nobody knows that. It says why there is a
// floor, and how to avoid it.
func TestNewPoolLog(t *testing.T) {
	for _, created := range []bool{false, true} {
		inFleet(t, func(f *fleet) {
			if created {
				f.createPool()
			}
			f.assign(f.assignerOn(f.Memory))
			log := f.log.String()
			if created && log != "" || strings.Contains(log, "lost writes") {
				t.Errorf("created: %v: the log is %q", created, log)
			}
			for _, want := range []string{"level=WARN", "the pool is missing, and is created with a floor, because it may have been lost", `\"ringuid pool create\"`, "recycled.CreatePool"} {
				if !created && (!strings.Contains(log, want) || strings.Count(log, "\n") != 1) {
					t.Errorf("the log is %q; want one warning with %q", log, want)
				}
			}
		})
	}
}

// CreatePool creates a pool without a floor, with the durations and the first worker ID of its options. The first generator gives it its
// format.
func TestCreatePool(t *testing.T) {
	inFleet(t, func(f *fleet) {
		opts := []recycled.Option{recycled.WithHorizon(10 * time.Minute), recycled.WithFencing(time.Minute), recycled.WithSkew(7 * time.Second), recycled.WithFirstWorkerID(20)}
		if err := recycled.CreatePool(f.Context(), f.Memory, opts...); err != nil {
			t.Fatal(err)
		}
		p := f.Dump().Pool
		if want := (recycled.Pool{Revision: 1, First: 20, History: f.Dump().History, Since: p.Since, Horizon: 10 * time.Minute, Fencing: time.Minute, Skew: 7 * time.Second}); p != want {
			t.Errorf("the pool is %+v, want %+v", p, want)
		}
		l := f.assign(f.assignerOn(f.Memory, opts...))
		f.wantTime("NotBefore", l.NotBefore(), time.Now())
		if p := f.Dump().Pool; l.WorkerID() != 20 || p.Format != f.request().Format || !p.Floor.IsZero() {
			t.Errorf("worker ID %d, want 20; the pool is %+v, want it with the generator's format", l.WorkerID(), p)
		}
		r := f.request()
		r.Format = "1-30-20-13"
		_, err := f.assignerOn(f.Memory, opts...).Assign(f.Context(), r)
		leasetest.WantError(t, "another format", err, recycled.ErrPoolFormat)
	})
}

// Of two first generators with different formats, the pool has the format of one. The other one is refused.
func TestCreatePoolTwoFormats(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.createPool()
		formats := []string{"1-28-22-13", "1-30-20-13"}
		results := make(chan error, len(formats))
		for _, format := range formats {
			go func() {
				r := f.request()
				r.Format = format
				_, err := f.assignerOn(slowStore{f.Memory, time.Millisecond}).Assign(f.Context(), r)
				results <- err
			}()
		}
		first, second := <-results, <-results
		if first == nil {
			first, second = second, first
		}
		if leasetest.WantError(t, "the other format", first, recycled.ErrPoolFormat); second != nil {
			t.Errorf("both are refused: %v", second)
		}
	})
}

// R7: the format of a pool of CreatePool is written together with the floor if the store has another history by then.
func TestR7CreatePoolBeforeFailover(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.createPool()
		f.Failover(0)
		f.wantTime("NotBefore", f.assign(f.assignerOn(f.Memory)).NotBefore(), f.Dump().Now.Add(poolFloor))
		if p := f.Dump().Pool; p.Format != f.request().Format {
			t.Errorf("the pool is %+v; must have the generator's format", p)
		}
	})
}

// R7: CreatePool refuses a store that has a pool, or slots of one that was lost, and changes nothing.
func TestR7CreatePoolRefuses(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.assign(f.assigner())
		before, writes := f.Dump(), f.Writes()
		err := recycled.CreatePool(f.Context(), f.Memory)
		leasetest.WantError(t, "a pool", err, recycled.ErrPoolExists, `memory store has one with 1 slots, for the format "1-28-22-13"`)
		if f.Writes() != writes {
			t.Errorf("CreatePool has written; the state was %+v, and is %+v", before, f.Dump())
		}
	})
	inFleet(t, func(f *fleet) {
		s := f.Dump()
		slot := recycled.Slot{WorkerID: 5, Revision: 1, From: s.Now.Truncate(time.Second), Until: s.Now.Truncate(time.Second), Written: s.Now.Truncate(time.Second), FreeAt: s.Now.Truncate(time.Second)}
		if ok, err := f.Write(f.Context(), slottest.Swap(s, nil, slot)); !ok || err != nil {
			t.Fatalf("Write = %v, %v", ok, err)
		}
		err := recycled.CreatePool(f.Context(), f.Memory)
		leasetest.WantError(t, "a slot", err, recycled.ErrPool, "memory store has no pool, but the slot of worker ID 5: the pool was lost: see doc/fleet.md, A slot or the pool is missing")
		if p := f.Dump().Pool; p.Revision != 0 {
			t.Errorf("the pool is %+v", p)
		}
	})
	inFleet(t, func(f *fleet) {
		err := recycled.CreatePool(f.Context(), &replica{Store: f.Memory, readOnly: true})
		if err == nil || !strings.Contains(err.Error(), "the server is read-only: it may be a replica: use the primary") || f.Writes() != 0 {
			t.Errorf("on a replica: %v, after %d writes", err, f.Writes())
		}
	})
}

// CreatePool returns the error of a bad option, of a store that is nil, and of a store that fails. If the reply to its write was lost,
// the next call says that the pool exists.
func TestCreatePoolErrors(t *testing.T) {
	inFleet(t, func(f *fleet) {
		leasetest.WantError(t, "option", recycled.CreatePool(f.Context(), f.Memory, recycled.WithHorizon(-1)), workerassign.ErrOption, "the horizon is -1ns")
		leasetest.WantError(t, "nil", recycled.CreatePool(f.Context(), nil), workerassign.ErrOption, "must not be nil")
		f.SetFaults(func(assigntest.Op) assigntest.Fault { return assigntest.LoseRequest })
		if err := recycled.CreatePool(f.Context(), f.Memory); err == nil || !strings.Contains(err.Error(), "recycled: cannot read the pool in memory store: ") {
			t.Errorf("the store is down: %v", err)
		}
		f.faultWrites(anyWrite, assigntest.LoseReply)
		if err := recycled.CreatePool(f.Context(), f.Memory); err == nil || !strings.Contains(err.Error(), "recycled: cannot create the pool in memory store: ") {
			t.Errorf("the reply was lost: %v", err)
		}
		f.SetFaults(nil)
		leasetest.WantError(t, "again", recycled.CreatePool(f.Context(), f.Memory), recycled.ErrPoolExists, "has one with 0 slots, which no generator has used yet")
		f.wantTime("NotBefore", f.assign(f.assignerOn(f.Memory)).NotBefore(), time.Now())
	})
}

// R7: a process that declares less than the pool has is refused, because the floor follows from what it declares if the pool is lost.
func TestR7SmallerDurationsAreRefused(t *testing.T) {
	for _, tt := range []struct {
		create, own recycled.Option
		text        string
	}{
		{recycled.WithHorizon(10 * time.Minute), recycled.WithHorizon(10*time.Minute - time.Millisecond), "the horizon is 9m59.999s; must be at least that of the pool, 10m0s (WithHorizon)"},
		{recycled.WithFencing(time.Minute), recycled.WithFencing(time.Second), "the fencing time is 1s; must be at least that of the pool, 1m0s (WithFencing)"},
		{recycled.WithSkew(time.Minute), recycled.WithSkew(0), "the skew is 0s; must be at least that of the pool, 1m0s (WithSkew)"},
	} {
		inFleet(t, func(f *fleet) {
			f.createPool(tt.create)
			_, err := f.assignerOn(f.Memory, tt.own).Assign(f.Context(), f.request())
			leasetest.WantError(t, tt.text, err, workerassign.ErrOption, tt.text)
			f.assign(f.assignerOn(f.Memory, tt.create))
			f.assign(f.assignerOn(f.Memory, recycled.WithHorizon(time.Hour), recycled.WithFencing(time.Hour), recycled.WithSkew(time.Hour)))
		})
	}
}

// R7: a pool with a horizon of ten minutes is lost. The next process begins behind everything that was granted, because it could only start
// with at least this horizon.
func TestR7LostPoolWithALongHorizon(t *testing.T) {
	inFleet(t, func(f *fleet) {
		horizon := recycled.WithHorizon(10 * time.Minute)
		granted := f.reserve(f.assign(f.assigner(horizon)), time.Hour)
		if ahead := time.Until(granted); ahead < 9*time.Minute {
			t.Fatalf("the grant reaches %v ahead", ahead)
		}
		f.Flush()
		if begin := f.assign(f.assignerOn(f.Memory, horizon)).NotBefore(); begin.Before(granted) {
			t.Errorf("the lease begins at %v, and %v was granted", begin, granted)
		}
	})
}

// Of two that create the pool at the same time, one does. A store that never writes is an error when the time is over.
func TestCreatePoolRaces(t *testing.T) {
	inFleet(t, func(f *fleet) {
		other := sync.OnceFunc(func() { f.createPool(recycled.WithHorizon(time.Hour)) })
		err := recycled.CreatePool(f.Context(), beforeWrites{f.Memory, func(recycled.Write) { other() }})
		if leasetest.WantError(t, "another was first", err, recycled.ErrPoolExists); f.Dump().Pool.Horizon != time.Hour {
			t.Errorf("the pool is %+v", f.Dump().Pool)
		}
	})
	inFleet(t, func(f *fleet) {
		begin := time.Now()
		err := recycled.CreatePool(f.Context(), refusingStore{f.Memory}, recycled.WithTimeout(time.Minute))
		if leasetest.WantError(t, "refused", err, context.DeadlineExceeded, "recycled: cannot create the pool in memory store: "); time.Since(begin) != time.Minute {
			t.Errorf("after %v", time.Since(begin))
		}
	})
}

// A refusingStore writes nothing.
type refusingStore struct{ recycled.Store }

func (refusingStore) Write(context.Context, recycled.Write) (bool, error) { return false, nil }

// R7: a process that declares a greater horizon creates a pool that was lost as it was, so that the others can go on. But the floor
// follows from what it declares: an operator may have raised the pool's, and that was lost, too.
func TestR7LostPoolIsCreatedAsItWas(t *testing.T) {
	inFleet(t, func(f *fleet) {
		first, greater := f.assigner(), f.assigner(recycled.WithHorizon(10*time.Minute))
		f.assign(first)
		f.assign(greater)
		f.Flush()
		f.wantTime("NotBefore", f.assign(greater).NotBefore(), f.Dump().Now.Add(poolFloor+10*time.Minute-poolH))
		if p := f.Dump().Pool; p.Horizon != poolH {
			t.Errorf("the pool is %+v, want the former horizon", p)
		}
		f.assign(first)
	})
}

// raiseHorizon raises the horizon of the pool to ten minutes, as an operator may.
func (f *fleet) raiseHorizon() {
	f.Helper()
	s := f.Dump()
	p := s.Pool
	p.Revision++
	p.Horizon = 10 * time.Minute
	if ok, err := f.Write(f.Context(), slottest.Swap(s, &p)); !ok || err != nil {
		f.Fatalf("Write = %v, %v", ok, err)
	}
}

// R7: a failover loses the change of an operator who has raised the horizon. Grants reach further than the horizon of the pool then.
func TestR7FloorOfLostChange(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.assign(f.assigner())
		raised := recycled.WithHorizon(10 * time.Minute)
		f.raiseHorizon()
		granted := f.reserve(f.assign(f.assigner(raised)), time.Hour)
		for f.Dump().Pool.Horizon != poolH {
			f.Failover(1)
		}
		if begin := f.assign(f.assigner(raised)).NotBefore(); begin.Before(granted) {
			t.Errorf("a lease begins at %v, and the lost lease was granted until %v", begin, granted)
		}
	})
}

// R7: a process notices at an extension that an operator has raised the horizon. If the pool is lost then, it does not create it with
// its own, smaller one, because grants reach further.
func TestR7HorizonRaisedWhileRunning(t *testing.T) {
	inFleet(t, func(f *fleet) {
		a := f.assigner()
		l := f.assign(a)
		f.raiseHorizon()
		f.reserve(l, time.Hour)
		f.Flush()
		_, err := a.Assign(f.Context(), f.request())
		leasetest.WantError(t, "the pool is lost", err, workerassign.ErrOption, "must be at least that of the pool, 10m0s")
	})
}

// R7: the same if a failover loses the change, and the process with the smaller horizon is the one that notices the failover.
func TestR7FloorOfLostChangeThatWasSeen(t *testing.T) {
	inFleet(t, func(f *fleet) {
		a := f.assigner()
		l := f.assign(a)
		f.raiseHorizon()
		f.reserve(l, time.Hour)
		granted := f.reserve(f.assign(f.assigner(recycled.WithHorizon(10*time.Minute))), time.Hour)
		for f.Dump().Pool.Horizon != poolH {
			f.Failover(1)
		}
		f.assign(a)
		if floor := f.Dump().Pool.Floor; floor.Before(granted) {
			t.Errorf("the floor is %v, and the lost lease was granted until %v", floor, granted)
		}
	})
}

// A generator that is refused does not give the pool its format.
func TestRefusedGeneratorSetsNoFormat(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.createPool()
		_, err := f.assignerOn(f.Memory, recycled.WithWorkerID(500)).Assign(f.Context(), f.request())
		if leasetest.WantError(t, "too wide", err, workerassign.ErrWidth); f.Dump().Pool.Format != "" {
			t.Errorf("the pool is %+v", f.Dump().Pool)
		}
	})
}
