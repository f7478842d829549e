//go:build unix

package fleettest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/ledger"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// Kill kills the server many times in the middle of Assign, Reserve and Release, while generators run. No UID
// is generated twice. newStore returns another client of the store.
func Kill(t *testing.T, newStore func() recycled.Store, kill, restart func()) {
	KillTimes(t, Kills(), nil, newStore, kill, restart)
}

// KillTimes is Kill with a given number of kills, by a fleet that follows another one if previous is not nil. It returns the fleet.
func KillTimes(t *testing.T, kills int, previous *Fleet, newStore func() recycled.Store, kill, restart func()) *Fleet {
	f := New()
	f.Begin(slottest.Read(t, newStore(), recycled.Query{All: true}), previous)
	f.First(t, newStore())
	for n := range 4 {
		f.Run(newStore(), n%2 == 0, time.Duration(n)*time.Second)
	}
	for range 3 {
		f.RunLeases(newStore())
	}
	var moments []*moment
	for n := range kills {
		f.WaitLeases(t, 10) // a floor may delay them
		time.Sleep(rand.N(100 * time.Millisecond))
		moments = append(moments, f.killDuring(t, call(n)%calls, kill))
		restart()
	}
	f.WaitLeases(t, 10)
	f.Check(t, int64(kills)*100)
	failed := 0
	for _, m := range moments {
		if m.failed.Load() {
			failed++
		}
	}
	t.Logf("the server was killed %d times, each in the middle of a call; %d of the calls failed", kills, failed)
	return f
}

// Pause pauses the server for longer than a grant: UIDs flow until its end, and then takes fail with
// uid.ErrLease, or wait for the lease as long as their contexts allow, if the store's call has not returned
// yet. When the server continues, so do the generators.
func Pause(t *testing.T, newStore func() recycled.Store, pause, resume func()) {
	f := New()
	f.First(t, newStore())
	for _, cached := range []bool{true, false} {
		p := f.Process(newStore())
		g, err := NewGenerator(t.Context(), p.Assigner, cached)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		var last time.Time // the greatest time of a UID
		take := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			for range 10 {
				id, err := g.NextContext(ctx)
				if err != nil {
					return err
				}
				p.Add(id)
				if at := g.Parse(id).Time; at.After(last) {
					last = at
				}
			}
			return nil
		}
		begin, before := time.Now(), f.Generated()
		testkit.Eventually(t, "UIDs for as long as the lease needs to be extended", func() bool {
			take()
			return time.Since(begin) > 2*reserve && f.Generated() >= before+100
		})
		testkit.Retry(t, "a UID before the pause", take)
		pause()
		paused := time.Now()
		testkit.Eventually(t, "takes fail because of the lease", func() bool {
			err = take()
			named := errors.Is(err, uid.ErrLease) || errors.Is(err, context.DeadlineExceeded) && strings.Contains(err.Error(), "the lease")
			return named && time.Since(paused) > 3*Horizon
		})
		flowed := last.Sub(paused)
		resume()
		if flowed > Horizon+ClockBound {
			t.Errorf("cached %v: the last UID is of %v after the beginning of the pause, want at most %v", cached, flowed, Horizon+ClockBound)
		}
		resumed := time.Now()
		testkit.Retry(t, "a UID after the pause", take)
		t.Logf("cached %v: UIDs flowed for %v of the pause, and again %v after it", cached, flowed, time.Since(resumed))
		g.Close()
	}
	f.Check(t, 200)
}

// stoppedArg begins the argument of the process that StoppedProcess starts.
const stoppedArg = "stopped "

// StoppedProcess stops a process for longer than its lease, while another takes its slot. When it continues,
// it stamps nothing beyond its grant, takes another slot, and no UID is generated twice. The process is
// a child with the test of t. newStore returns a client of the store at an address.
func StoppedProcess(t *testing.T, start func(t *testing.T) (address string), newStore func(t *testing.T, address string) recycled.Store) {
	if arg, ok := strings.CutPrefix(testkit.ChildArg(), stoppedArg); ok {
		kind, address, _ := strings.Cut(arg, " ")
		log, store := ledger.NewChild(os.Stdout), newStore(t, address)
		First(t, log.Operator(store))
		printUIDs(t, log.Client(store, ClockBound), kind == "cached")
	}
	for _, kind := range []string{"cached", "default"} {
		t.Run(kind, func(t *testing.T) { stoppedProcess(t, kind, start(t), newStore) })
	}
}

// stoppedProcess is StoppedProcess for one kind of generator.
func stoppedProcess(t *testing.T, kind, address string, newStore func(t *testing.T, address string) recycled.Store) {
	f := New()
	child := testkit.StartChild(t, stoppedArg+kind+" "+address)
	uids := make(chan int64, 1<<20) // of the child
	go func() {
		defer close(uids)
		feed := f.log.Feed()
		for line := range child.Lines() {
			if feed(line) {
				continue
			}
			if id, err := strconv.ParseInt(line, 10, 64); err == nil {
				uids <- id
			}
		}
	}()
	w := f.Writer()
	add := func(id int64) (unit, worker int64) {
		f.Add(w, uid.ID(id))
		unit, worker, _ = Layout().Split(id)
		return unit, worker
	}
	var worker int64
	for range 1000 {
		id, ok := <-uids
		if !ok {
			t.Fatal("the process has ended")
		}
		_, worker = add(id)
	}
	// If the process is stopped in the middle of a transaction, nobody can take its slot. Then it is stopped again.
	var p *Process
	var g uid.Generator
	testkit.Retry(t, "the slot of the stopped process is free", func() (err error) {
		child.Resume()
		time.Sleep(rand.N(3 * time.Millisecond))
		child.Pause()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		p = f.Process(newStore(t, address), recycled.WithWorkerID(worker))
		g, err = NewGenerator(ctx, p.Assigner, kind == "cached") // waits until the slot is free
		return err
	})
	defer g.Close()
	first, err := g.Next()
	if err != nil {
		t.Fatal(err)
	}
	p.Add(first)
	begin := g.Parse(first).Time
	child.Resume()
	own, later := 0, 0  // of its lease, and of later ones
	var after time.Time // the time of a UID that the process stamped with the worker ID after it had lost the slot
	testkit.Retry(t, "the process generates UIDs of another lease, and the next lease was lost if that has the same worker ID", func() error {
		p.Take(g, 10)
		for len(uids) > 0 {
			unit, of := add(<-uids)
			at := g.Format().Epoch().Add(time.Duration(unit) * time.Millisecond)
			switch {
			case of != worker:
				later++
			case at.Before(begin):
				own++
			default:
				later++
				after = at
			}
		}
		// On a busy machine the next lease may end because it was not extended in time, and the process take the slot again.
		if later >= 1000 && (after.IsZero() || g.Stats().LostLeases > 0) {
			return nil
		}
		return fmt.Errorf("%d UIDs with its worker ID, %d, and %d of later leases; it used that worker ID again at %v; the next lease: %+v", own, worker, later, after, g.Stats())
	})
	if !after.IsZero() {
		t.Logf("the process has stamped %v with worker ID %d; the next lease's first UID is of %v, and it was lost", after, worker, begin)
	}
	t.Logf("after it continued, the process generated %d UIDs with worker ID %d and %d of later leases; in all %s", own, worker, later, f.End())
	child.Process.Kill()
	for id := range uids { // also until the ledger has all that it printed
		add(id)
	}
	f.Check(t, 1000)
}

// printUIDs generates UIDs until the process is killed. It prints each when it has been generated.
func printUIDs(t *testing.T, s *ledger.Client, cached bool) {
	g, err := NewGenerator(t.Context(), s.Assigner(Assigner(s)), cached)
	if err != nil {
		t.Fatal(err)
	}
	for {
		for range 20 {
			id, err := g.Next()
			if err != nil {
				break // the lease was lost, and is replaced in the background
			}
			parts := g.Parse(id)
			s.Stamp(parts.WorkerID, parts.Time)
			fmt.Println(int64(id))
		}
		time.Sleep(2 * time.Millisecond)
	}
}
