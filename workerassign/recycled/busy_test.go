package recycled_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign"
)

// A crowd takes its slots although the store requires a third of the hosts' timeout for the calls that are necessary. Hosts whose
// timeout ends try again. If they paused too shortly, the store would be busy with writes that lose a race, permanently.
func TestCrowdOnBusyStore(t *testing.T) {
	hosts := 2000
	if testkit.Race || testing.Short() {
		hosts = 500
	}
	inFleet(t, func(f *fleet) {
		f.max = 1<<22 - 1
		f.createPool()
		store := slottest.Queue{Store: f.Memory, Server: make(chan struct{}, 1), Call: workerassign.DefaultTimeout / 3 / time.Duration(2*hosts)}
		begin, failed := time.Now(), make([]int, hosts)
		var running sync.WaitGroup
		for host := range hosts {
			running.Go(func() {
				time.Sleep(rand.N(time.Second))
				for ; time.Since(begin) < 5*time.Minute; failed[host]++ {
					l, err := f.assignerOn(store).Assign(context.Background(), f.request())
					if err == nil {
						l.Reserve(context.Background(), time.Now().Add(poolH-poolB))
						return
					}
					time.Sleep(rand.N(5 * time.Second))
				}
				f.Errorf("host %d has no lease after %v", host, time.Since(begin))
			})
		}
		running.Wait()
		sum := 0
		for _, n := range failed {
			sum += n
		}
		c := f.Counts()
		t.Logf("all have a lease after %v; %d times a timeout ended; %d reads, %d writes, %d slots", time.Since(begin), sum, c.Reads, c.Writes, f.Dump().Pool.Slots)
		if sum > 3*hosts {
			t.Errorf("the timeouts of %d hosts ended %d times; want at most %d", hosts, sum, 3*hosts)
		}
	})
}
