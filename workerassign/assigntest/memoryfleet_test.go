//go:build unix

package assigntest

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// distantStore is a store whose calls take a millisecond each way.
type distantStore struct{ recycled.Store }

// Read implements recycled.Store.
func (s distantStore) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	time.Sleep(time.Millisecond)
	defer time.Sleep(time.Millisecond)
	return s.Store.Read(ctx, q)
}

// Write implements recycled.Store.
func (s distantStore) Write(ctx context.Context, w recycled.Write) (bool, error) {
	time.Sleep(time.Millisecond)
	defer time.Sleep(time.Millisecond)
	return s.Store.Write(ctx, w)
}

// A store in memory is killed in the middle of calls, and loses its last writes if it may, while generators run.
func TestMemoryKilled(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]MemoryOption{"loses writes": nil, "loses no writes": {WithNoLoss()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits most of the time
			m := NewMemory(opts...)
			fleettest.Kill(t, func() recycled.Store { return distantStore{m} }, func() {
				fault := []Fault{LoseRequest, LoseReply, Delay}[rand.IntN(3)]
				m.SetFaults(func(Op) Fault { return fault })
				time.Sleep(rand.N(10 * time.Millisecond))
				m.Kill()
			}, func() {
				if opts == nil {
					m.Failover(rand.IntN(50))
				}
				m.Start()
				m.SetFaults(nil)
				m.Deliver()
			})
		})
	}
}

// A store in memory does not answer for longer than a grant.
func TestMemoryPaused(t *testing.T) {
	t.Parallel()
	m := NewMemory()
	fleettest.Pause(t, func() recycled.Store { return m }, m.Pause, m.Resume)
}
