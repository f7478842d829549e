package fleettest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// Starts measures how long it takes until many hosts that start within a second have a slot each: on an empty
// pool, and then on the slots that these hosts have released; for 10,000 hosts, and for a tenth of them. The hosts share
// clients of the store. As a test, it starts 200 hosts within 100 ms.
var Starts = Part{name: "starts", run: starts}

func starts(t *testing.T, target Target) {
	s := startTest{within: 100 * time.Millisecond}
	numbers := []int{size(t, HostsEnv, 10_000, 200)}
	if isMeasuring() {
		s.within = time.Second
		numbers = append([]int{max(numbers[0]/10, 1)}, numbers...)
	}
	for i, n := range numbers {
		s.hosts, s.meter = n, newMeter(target, fmt.Sprintf("starts%d", i))
		if s.run(t, "an empty pool") {
			s.run(t, "released slots")
		}
	}
}

// startTest is one call of Starts.
type startTest struct {
	hosts  int
	within time.Duration
	meter  *meter
}

// startTimeout is how long the hosts try.
const startTimeout = 5 * time.Minute

// run starts the hosts, and releases their slots at the end. It reports whether all have started.
func (s *startTest) run(t *testing.T, on string) bool {
	req := Request()
	req.MaxWorkerID = 1<<20 - 1
	leases, took := make([]workerassign.Lease, s.hosts), make([]time.Duration, s.hosts)
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	var starting sync.WaitGroup
	var refused atomic.Int64
	before, begin := s.meter.counts(), time.Now()
	for n := range s.hosts {
		starting.Go(func() {
			time.Sleep(rand.N(s.within))
			// The grace is so long that no slot, none of which is extended, becomes free during the test.
			a := slottest.New(t, s.meter.store(n), recycled.WithHorizon(time.Hour),
				recycled.WithClockBound(30*time.Minute))
			l, err := a.Assign(ctx, req)
			if err != nil {
				if refused.Add(1) == 1 {
					t.Errorf("host %d: %v", n, err)
				}
				return
			}
			leases[n], took[n] = l, time.Since(begin)
		})
	}
	starting.Wait()
	what := fmt.Sprintf("%d hosts start within %v on %s", s.hosts, s.within, on)
	if n := refused.Load(); n > 0 {
		t.Errorf("%s: %d have no slot after %v", what, n, startTimeout)
		return false
	}
	c := s.meter.counts().since(before)
	slices.Sort(took)
	used := map[int64]bool{}
	for _, l := range leases {
		used[l.WorkerID()] = true
	}
	if len(used) != s.hosts {
		t.Errorf("%d hosts have %d worker IDs", s.hosts, len(used))
	}
	slots, statements := s.meter.pool(t).Slots, ""
	if s.meter.target.Statements != nil {
		statements = fmt.Sprintf("; %.1f %s", each(c.statements, s.hosts), s.meter.target.Statement)
	}
	s.meter.target.report(t, 20, what, "1 read and 1 write, and as many for each lost race",
		"all have a slot after %.1f s, half of them after %.1f s; for each Assign %.2f reads, %.2f writes, of which %.2f lost a race%s; the pool has %d slots",
		took[s.hosts-1].Seconds(), took[s.hosts/2].Seconds(), each(c.reads, s.hosts), each(c.writes, s.hosts), each(c.lost, s.hosts), statements, slots)
	if c.reads > int64(40*s.hosts) || c.writes > int64(40*s.hosts) {
		t.Errorf("%d hosts made %d reads and %d writes; want at most 40 of each for a host", s.hosts, c.reads, c.writes)
	}
	inParallel(clients*clients, s.hosts, func(n int) {
		if err := leases[n].Release(t.Context(), time.Time{}); err != nil {
			t.Error(err)
		}
	})
	return true
}

// inParallel calls f with the numbers below n, in several goroutines.
func inParallel(goroutines, n int, f func(n int)) {
	var running sync.WaitGroup
	for g := range goroutines {
		running.Go(func() {
			for i := g; i < n; i += goroutines {
				f(i)
			}
		})
	}
	running.Wait()
}
