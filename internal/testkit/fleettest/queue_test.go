package fleettest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// Many hosts that start at the same time do not keep a server busy with calls that lose a race. This one serves 5,000
// calls a second. The state that a host has read is old when the server comes to its write.
func TestStartsQueued(t *testing.T) {
	hosts := size(t, HostsEnv, 10_000, testkit.Size(1_000, 5_000))
	synctest.Test(t, func(t *testing.T) {
		memory, server := memoryTarget(), make(chan struct{}, 1)
		open := memory.Open
		memory.Open = func(pool string) recycled.Store {
			return slottest.Queue{Store: open(pool), Server: server, Call: 200 * time.Microsecond}
		}
		s := startTest{hosts: hosts, within: time.Second, meter: newMeter(memory, "starts")}
		for _, on := range []string{"an empty pool", "released slots"} {
			begin := time.Now()
			s.run(t, on)
			// Three calls for each host, with the release.
			if took, least := time.Since(begin), time.Duration(3*hosts)*200*time.Microsecond; took > 5*least+2*time.Second {
				t.Errorf("%d hosts started and ended on %s in %v; without races it would take %v", hosts, on, took, least)
			}
		}
	})
}
