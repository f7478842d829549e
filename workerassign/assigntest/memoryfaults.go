package assigntest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringuid/ringuid/workerassign/recycled"
)

var (
	// ErrFault is wrapped by the errors of calls into which a Memory injected a fault.
	ErrFault = errors.New("assigntest: injected fault")

	// ErrDown is returned by Read and Write of a Memory that was killed.
	ErrDown = errors.New("assigntest: the memory store is down")
)

// An Op is a call of Read or Write. Exactly one of Query and Write is not nil.
type Op struct {
	Client string // the name of the client; "" for the Memory itself
	Query  *recycled.Query
	Write  *recycled.Write
}

// A Fault is what happens to a call of Read or Write.
type Fault int

// The faults of a call. Each of them results in an error.
const (
	NoFault     Fault = iota
	LoseRequest       // the request is lost: nothing is written
	LoseReply         // the write is made, but the caller does not learn of it
	Delay             // the write is made when Deliver is called, if its revisions still match; a read is lost
	Block             // the call blocks until its context ends, and then nothing is written
)

// SetFaults sets a function that decides for each call what happens to it. nil means no faults. f is called
// without a lock, before the call reaches the server, so it may call methods of m: that is what another
// process does just before this call.
func (m *server) SetFaults(f func(Op) Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = f
}

func (m *server) faultOf(op Op) Fault {
	m.mu.Lock()
	f := m.faults
	m.mu.Unlock()
	if f == nil {
		return NoFault
	}
	return f(op)
}

// reach waits while the server is paused. It returns an error if the call does not reach the server.
func (m *server) reach(ctx context.Context, fault Fault) error {
	if fault == LoseRequest {
		return fmt.Errorf("%w: a request was lost", ErrFault)
	}
	for ctx.Err() == nil {
		m.mu.Lock()
		resumed := m.pausedUntil
		m.mu.Unlock()
		if resumed == nil && fault != Block {
			return nil
		}
		select {
		case <-resumed: // never, if that is nil
		case <-ctx.Done():
		}
	}
	return context.Cause(ctx)
}

// Deliver makes the delayed writes whose revisions still match, in their order, and returns how many
// that were.
func (m *server) Deliver() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	made := 0
	for _, w := range m.delayed {
		if m.write(w) {
			made++
		}
	}
	m.delayed = nil
	return made
}

// Writes returns how many writes were made.
func (m *server) Writes() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.writeCount
}

// Failover loses the last n writes, as a failover to a replica does that has not received them, and
// begins a new history. n may be 0. At most the last 4096 writes are lost.
func (m *server) Failover(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lose(n)
	m.term++
}

// LoseWrites loses the last n writes without a new history, as a store does that breaks its contract.
// At most the last 4096 writes are lost.
func (m *server) LoseWrites(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lose(n)
}

// lose takes back the last n writes. The caller must hold the lock.
func (m *server) lose(n int) {
	kept := max(len(m.journal)-n, 0)
	for _, c := range slices.Backward(m.journal[kept:]) {
		if c.pool != nil {
			m.pool = *c.pool
		}
		for _, slot := range c.slots {
			m.setSlot(slot)
		}
	}
	m.journal = m.journal[:kept]
}

// Flush loses all records, and begins a new history.
func (m *server) Flush() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pool = recycled.Pool{}
	m.slots, m.byFree, m.journal = map[int64]recycled.Slot{}, nil, nil
	m.byName = map[string]map[int64]struct{}{}
	m.term++
}

// Delete removes a slot, as an operator might do by mistake.
func (m *server) Delete(workerID int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.setSlot(recycled.Slot{WorkerID: workerID})
}

// DeletePool removes the pool's record and keeps the slots, as an operator might do by mistake.
func (m *server) DeletePool() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pool = recycled.Pool{}
}

// Kill ends the server. Calls return ErrDown until Start.
func (m *server) Kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = true
}

// Start starts the server again. It has a new history, unless the store has the option WithNoLoss.
func (m *server) Start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = false
	if !m.noLoss {
		m.term++
	}
}

// Pause stops the server: calls block until Resume, or until their contexts end.
func (m *server) Pause() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pausedUntil == nil {
		m.pausedUntil = make(chan struct{})
	}
}

// Resume continues a server that is paused.
func (m *server) Resume() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pausedUntil != nil {
		close(m.pausedUntil)
		m.pausedUntil = nil
	}
}

// StepClock sets the store's clock forward by d, or back if d is negative.
func (m *server) StepClock(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.offset += d
}

// SetLag makes Read return the state before the last n writes, as a replica does that is behind. The
// clock and the history are current. The index of free slots and of names is current too, so a slot that
// was selected by it may not match the query.
func (m *server) SetLag(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lag = n
}

// now returns the store's clock. The caller must hold the lock.
func (m *server) now() time.Time { return m.clock().Add(m.offset).Round(0) }

// history returns the history. The caller must hold the lock.
func (m *server) history() string { return fmt.Sprint("memory ", m.term) }
