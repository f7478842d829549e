package fleettest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// queued is a store whose server serves one call after the other. Each takes a time, and others wait meanwhile.
type queued struct {
	recycled.Store
	server chan struct{} // has one element while the server serves a call
	each   time.Duration
}

// serve waits for the calls before this one, and for this one.
func (q queued) serve(ctx context.Context) error {
	select {
	case q.server <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	time.Sleep(q.each)
	<-q.server
	return nil
}

// Read implements recycled.Store.
func (q queued) Read(ctx context.Context, query recycled.Query) (recycled.State, error) {
	if err := q.serve(ctx); err != nil {
		return recycled.State{}, err
	}
	return q.Store.Read(ctx, query)
}

// Write implements recycled.Store.
func (q queued) Write(ctx context.Context, w recycled.Write) (bool, error) {
	if err := q.serve(ctx); err != nil {
		return false, err
	}
	return q.Store.Write(ctx, w)
}

// Many hosts that start at the same time do not keep a server busy with calls that lose a race. This one serves 5,000
// calls a second. The state that a host has read is old when the server comes to its write.
func TestStartsQueued(t *testing.T) {
	small := 5_000
	if testkit.Race {
		small = 1_000
	}
	hosts := size(t, HostsEnv, 10_000, small)
	synctest.Test(t, func(t *testing.T) {
		memory, server := memoryTarget(), make(chan struct{}, 1)
		open := memory.Open
		memory.Open = func(pool string) recycled.Store { return queued{open(pool), server, 200 * time.Microsecond} }
		s := startTest{hosts: hosts, within: time.Second, meter: newMeter(memory, "starts")}
		for _, on := range []string{"an empty pool", "released slots"} {
			begin := time.Now()
			s.run(t, on)
			// Three calls for each host, with the release.
			if took, least := time.Since(begin), time.Duration(3*hosts)*200*time.Microsecond; took > 5*least+5*time.Second {
				t.Errorf("%d hosts started and ended on %s in %v; without races it would take %v", hosts, on, took, least)
			}
		}
	})
}
