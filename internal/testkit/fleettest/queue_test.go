package fleettest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// Many hosts that start at the same time do not keep a server busy with calls that lose a race. This one serves as many calls a
// second as there are hosts. The state that a host has read is old when the server comes to its write.
func TestStartsQueued(t *testing.T) {
	hosts := size(t, HostsEnv, 10_000, testkit.Size(1_000, 5_000))
	synctest.Test(t, func(t *testing.T) {
		call := time.Second / time.Duration(hosts)
		memory, server := memoryTarget(), make(chan struct{}, 1)
		open := memory.Open
		memory.Open = func(pool string) recycled.Store {
			return slottest.Queue{Store: open(pool), Server: server, Call: call}
		}
		s := startTest{hosts: hosts, within: time.Second, meter: newMeter(memory, "starts")}
		for _, on := range []string{"an empty pool", "released slots"} {
			before, begin := s.meter.counts(), time.Now()
			s.run(t, on)
			// Each host makes three calls without races, with the release. The last hosts' pauses are long, so the time varies.
			lost, took := each(s.meter.counts().since(before).lost, hosts), time.Since(begin)
			if lost > 4 || took > 30*time.Second {
				t.Errorf("%d hosts started and ended on %s in %v, with %.1f lost races each; want at most 30 s, and 4", hosts, on, took, lost)
			}
		}
	})
}
