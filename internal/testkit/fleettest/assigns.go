package fleettest

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// Assigns measures how many calls of Assign, Reserve and Release a store serves in a second, from one client and
// from 16 at the same time. All leases are taken from a pool with enough free slots, then each is extended, and
// then each is released. As a test, it does so once, with 64 leases.
var Assigns = Part{name: "assigns", run: assigns}

func assigns(t *testing.T, target Target) {
	m := newMeter(target, "assigns")
	req := Request()
	req.MaxWorkerID = 1<<20 - 1
	var assigners []*recycled.Assigner
	for n := range clients {
		// The grace is long: see startTest.
		assigners = append(assigners, slottest.New(t, m.store(n), recycled.WithHorizon(time.Hour),
			recycled.WithClockBound(30*time.Minute)))
	}
	leases := make([]workerassign.Lease, target.leases())
	// There are twice as many free slots as are taken, so that few clients want the same one.
	m.grow(t, assigners[0], req, int64(2*len(leases)))
	least := time.Duration(0)
	if isMeasuring() {
		least = 10 * time.Second
	}
	steps := []struct {
		name string
		call func(n int) error
	}{
		{"Assign", func(n int) (err error) { leases[n], err = assigners[n%clients].Assign(t.Context(), req); return err }},
		{"Reserve", func(n int) error { _, err := leases[n].Reserve(t.Context(), time.Now().Add(time.Minute)); return err }},
		{"Release", func(n int) error { return leases[n].Release(t.Context(), time.Time{}) }},
	}
	for _, parallel := range []int{1, 16} {
		var took [3]time.Duration
		var made [3]counts
		rounds := 0
		for began := time.Now(); rounds == 0 || time.Since(began) < least; rounds++ {
			for i, step := range steps {
				before, begin := m.counts(), time.Now()
				inParallel(parallel, len(leases), func(n int) {
					if err := step.call(n); err != nil {
						t.Error(err)
					}
				})
				took[i] += time.Since(begin)
				c := m.counts().since(before)
				made[i] = counts{made[i].reads + c.reads, made[i].writes + c.writes, made[i].lost + c.lost, made[i].statements + c.statements}
				if t.Failed() {
					return
				}
			}
		}
		calls := int64(rounds * len(leases))
		text := ""
		for i, step := range steps {
			text += fmt.Sprintf("%s %s", step.name, short(float64(calls)/took[i].Seconds()))
			if target.Statements != nil {
				text += fmt.Sprintf(" (%.1f %s)", each(made[i].statements, int(calls)), target.Statement)
			}
			text += ", "
			if n := made[i]; n.reads != n.writes || n.reads != calls+n.lost {
				t.Errorf("%d calls of %s cost %d reads and %d writes, of which %d lost a race; want one of each for a call and for a lost race",
					calls, step.name, n.reads, n.writes, n.lost)
			}
		}
		target.report(t, parallel, fmt.Sprintf("calls per second, %d in parallel", parallel), "1 read and 1 write for each try",
			"%s%.2f tries for each Assign", text, each(made[0].writes, int(calls)))
	}
}

// BenchmarkAssign measures Assign and Release, one after the other.
func BenchmarkAssign(b *testing.B, s recycled.Store) {
	a := Assigner(s)
	for b.Loop() {
		l, err := a.Assign(b.Context(), Request())
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Release(b.Context(), time.Time{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReserve measures Reserve of parallel leases, each of which writes.
func BenchmarkReserve(b *testing.B, newStore func() recycled.Store) {
	const leases = 16
	ready := make(chan workerassign.Lease, leases)
	for range leases {
		l, err := recycled.New(newStore()).Assign(b.Context(), Request())
		if err != nil {
			b.Fatal(err)
		}
		ready <- l
	}
	b.SetParallelism(leases / runtime.GOMAXPROCS(0))
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		l := <-ready
		for until := time.Now(); pb.Next(); until = until.Add(time.Millisecond) {
			if _, err := l.Reserve(b.Context(), until); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
