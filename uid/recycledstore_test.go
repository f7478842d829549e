package uid

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ringuid/ringuid/workerassign/recycled"
)

// slotServer is one server of a simulated slot store: its records, its clock and its history. It is not
// safe for concurrent use.
type slotServer struct {
	now     func() time.Time
	offset  time.Duration // of its clock from now
	history string
	noLoss  bool
	pool    recycled.Pool
	slots   []recycled.Slot // the slot of pool.First + n is slots[n]

	// Defects on purpose.
	comparesNothing bool // Write does not compare revisions (R2)
	ignoresHistory  bool // Write does not compare the history (R7)
	dropsFloor      bool // the pool's floor is not kept (R7)
	losesExtension  bool // the new until of an extension is not kept (R1)

	scanFrom       int // where the search for free slots begins
	mostFree       int // how many free slots a query returns at most; 0: as many as it asks for
	reads, writes  int
	held, mostHeld int // how many slots have a token, now and at most
}

// clone returns a copy of the records for another server.
func (s *slotServer) clone() *slotServer {
	c := *s
	c.slots = slices.Clone(s.slots)
	return &c
}

// clock returns the time of the server's clock.
func (s *slotServer) clock() time.Time { return s.now().Add(s.offset) }

// read answers a query.
func (s *slotServer) read(q recycled.Query) recycled.State {
	s.reads++
	state := recycled.State{Pool: s.pool, Now: s.clock(), History: s.history, NoLoss: s.noLoss}
	if q.All {
		state.Slots = slices.Clone(s.slots)
		return state
	}
	for _, id := range q.WorkerIDs {
		if n := id - s.pool.First; n >= 0 && n < int64(len(s.slots)) {
			state.Slots = append(state.Slots, s.slots[n])
		}
	}
	if q.Free == 0 && q.Name == "" {
		return state
	}
	free := q.Free
	if s.mostFree > 0 {
		free = min(free, s.mostFree)
	}
	for n := range s.slots {
		slot := &s.slots[(n+s.scanFrom)%len(s.slots)]
		switch {
		case slices.Contains(q.WorkerIDs, slot.WorkerID):
		case q.Name != "" && slot.Holder.Name == q.Name:
			state.Slots = append(state.Slots, *slot)
		case free > 0 && slot.FreeAt.Before(state.Now):
			state.Slots = append(state.Slots, *slot)
			free--
		}
		if free == 0 && q.Name == "" {
			break
		}
	}
	return state
}

// write compares and swaps.
func (s *slotServer) write(w recycled.Write) bool {
	if w.History != s.history && !s.ignoresHistory {
		return false
	}
	if s.ignoresHistory {
		w.ReplacedPool = &s.pool // it has the history of the pool
	}
	if w.Pool != nil && !w.ReplacesPool(s.pool) && !s.comparesNothing {
		return false
	}
	first := s.pool.First
	if w.Pool != nil {
		first = w.Pool.First
	}
	for i, slot := range w.Slots {
		n := slot.WorkerID - first
		var have recycled.Slot
		if n < 0 || n > int64(len(s.slots))+int64(len(w.Slots))-1 {
			return false
		}
		if n < int64(len(s.slots)) {
			have = s.slots[n]
		}
		if !w.Replaces(i, have) && !s.comparesNothing {
			return false
		}
	}
	s.writes++
	if w.Pool != nil {
		s.pool = *w.Pool
		if s.dropsFloor {
			s.pool.Floor = time.Time{}
		}
	}
	for _, slot := range w.Slots {
		n := int(slot.WorkerID - first)
		if n >= len(s.slots) {
			s.slots = append(s.slots, make([]recycled.Slot, n+1-len(s.slots))...)
		}
		before := s.slots[n]
		switch {
		case before.Token == "" && slot.Token != "":
			s.held++
		case before.Token != "" && slot.Token == "":
			s.held--
		}
		if slot.Token != "" && leaseOf(slot.Token) == leaseOf(before.Token) && s.losesExtension {
			slot.Until = before.Until
		}
		s.slots[n] = slot
	}
	s.mostHeld = max(s.mostHeld, s.held)
	return true
}

// slotMemory is a slot store in memory, for generators that run in a synctest bubble. Its clock is the
// bubble's. Each process has a connection of its own.
type slotMemory struct {
	mu     sync.Mutex
	server slotServer
}

// newSlotMemory returns a store without a pool that loses no writes.
func newSlotMemory() *slotMemory {
	return &slotMemory{server: slotServer{now: time.Now, history: "h1", noLoss: true}}
}

// restart gives the store another history, as after a failover that may have lost writes.
func (m *slotMemory) restart(history string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.server.history, m.server.noLoss = history, false
}

// slot returns the slot of a worker ID.
func (m *slotMemory) slot(workerID int64) recycled.Slot {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.server.slots[workerID-m.server.pool.First]
}

// calls returns how many times the store was read and written.
func (m *slotMemory) calls() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.server.reads + m.server.writes
}

// slotConnection is one process's connection to a slotMemory. It implements recycled.Store.
type slotConnection struct {
	memory *slotMemory
	mu     sync.Mutex
	down   bool
}

var errSlotsDown = errors.New("the slot store cannot be reached")

// setDown says whether the connection is down.
func (c *slotConnection) setDown(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = down
}

func (c *slotConnection) err(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down {
		return errSlotsDown
	}
	return ctx.Err()
}

// Read implements recycled.Store.
func (c *slotConnection) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	if err := c.err(ctx); err != nil {
		return recycled.State{}, err
	}
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	return c.memory.server.read(q), nil
}

// Write implements recycled.Store.
func (c *slotConnection) Write(ctx context.Context, w recycled.Write) (bool, error) {
	if err := c.err(ctx); err != nil {
		return false, err
	}
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	return c.memory.server.write(w), nil
}

// String implements recycled.Store.
func (c *slotConnection) String() string { return fmt.Sprintf("memory %p", c.memory) }
