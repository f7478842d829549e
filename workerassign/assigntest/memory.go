package assigntest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ringuid/ringuid/workerassign/recycled"
)

// Memory is a recycled.Store that keeps one pool in memory. It is a server and a client of it in one, and has
// methods that inject faults; Client returns other clients. It starts no goroutines and never sleeps, so a simulation
// can use it. NewMemory returns one. All methods are safe for concurrent use.
//
// Memory checks what it is given: a record with a time that is not a whole millisecond, for example, is an
// error that wraps workerassign.ErrPermanent.
type Memory struct {
	*server
	name string
}

// server is the store of a Memory.
type server struct {
	clock     func() time.Time
	noLoss    bool
	hostClock bool

	mu     sync.Mutex
	offset time.Duration // of the store's clock
	term   int           // increases with each new history
	pool   recycled.Pool
	slots  map[int64]recycled.Slot
	byFree []freeSlot                    // in order
	byName map[string]map[int64]struct{} // worker IDs by the name of the holder, if it is not ""

	journal     []change // what the last writes replaced, the oldest first
	writeCount  int
	counts      Counts
	faults      func(Op) Fault
	delayed     []recycled.Write
	lag         int
	down        bool
	pausedUntil chan struct{} // closed by Resume; nil if the server is not paused
}

// Counts is how often a Memory was called.
type Counts struct {
	Reads, Writes int64 // calls
	Slots         int64 // slots that Read returned
}

// journalLength is the least number of writes that Failover and LoseWrites can lose.
const journalLength = 4096

// change is what one write replaced. A record that did not exist has the revision 0.
type change struct {
	pool  *recycled.Pool // nil: the write did not change the pool
	slots []recycled.Slot
}

// freeSlot is an entry of the index of slots by the time when they become free.
type freeSlot struct {
	freeAt   int64 // Unix milliseconds
	workerID int64
}

func (a freeSlot) compare(b freeSlot) int {
	return cmp.Or(cmp.Compare(a.freeAt, b.freeAt), cmp.Compare(a.workerID, b.workerID))
}

// A MemoryOption configures a Memory.
type MemoryOption interface{ apply(*server) }

type memoryOption func(*server)

func (o memoryOption) apply(c *server) { o(c) }

// WithClock sets the store's clock. The default is time.Now.
func WithClock(now func() time.Time) MemoryOption {
	return memoryOption(func(m *server) { m.clock = now })
}

// WithNoLoss makes the store one that loses no acknowledged writes, as far as it knows: recycled.State.NoLoss is
// true, and Start keeps the history.
func WithNoLoss() MemoryOption { return memoryOption(func(m *server) { m.noLoss = true }) }

// WithHostClock makes the store one that has no clock: recycled.State.HostClock is true.
func WithHostClock() MemoryOption { return memoryOption(func(m *server) { m.hostClock = true }) }

// NewMemory returns a store that has no pool yet.
func NewMemory(opts ...MemoryOption) *Memory {
	m := &server{clock: time.Now, term: 1, slots: map[int64]recycled.Slot{}, byName: map[string]map[int64]struct{}{}}
	for _, o := range opts {
		o.apply(m)
	}
	return &Memory{server: m}
}

// Client returns another client of the store. Its name is in the Op of its calls, so that faults can
// be injected into the calls of one client.
func (m *Memory) Client(name string) *Memory { return &Memory{server: m.server, name: name} }

// String implements recycled.Store.
func (m *Memory) String() string { return "memory store" }

// Counts returns how often the store was called.
func (m *server) Counts() Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.counts
}

// Dump returns the whole state, without faults. It is not counted.
func (m *server) Dump() recycled.State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.read(recycled.Query{All: true}, 0)
}

// Read implements recycled.Store.
func (m *Memory) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	fault := m.faultOf(Op{Client: m.name, Query: &q})
	if err := m.reach(ctx, fault); err != nil {
		return recycled.State{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return recycled.State{}, ErrDown
	}
	m.counts.Reads++
	s := m.read(q, m.lag)
	m.counts.Slots += int64(len(s.Slots))
	if fault != NoFault {
		return recycled.State{}, fmt.Errorf("%w: the reply of a read was lost", ErrFault)
	}
	return s, nil
}

// read returns the state before the last lag writes. The caller must hold the lock.
func (m *server) read(q recycled.Query, lag int) recycled.State {
	s := recycled.State{Pool: m.pool, Now: m.now(), HostClock: m.hostClock, History: m.history(), NoLoss: m.noLoss}
	slots := m.slots
	if lag > 0 {
		slots = maps.Clone(m.slots)
		for _, c := range slices.Backward(m.journal[max(len(m.journal)-lag, 0):]) {
			if c.pool != nil {
				s.Pool = *c.pool
			}
			for _, slot := range c.slots {
				slots[slot.WorkerID] = slot
			}
		}
	}
	selected := map[int64]struct{}{}
	add := func(workerID int64) {
		if _, twice := selected[workerID]; !twice && slots[workerID].Revision != 0 {
			selected[workerID] = struct{}{}
			s.Slots = append(s.Slots, slots[workerID])
		}
	}
	for _, workerID := range q.WorkerIDs {
		add(workerID)
	}
	if q.Name != "" {
		for _, workerID := range slices.Sorted(maps.Keys(m.byName[q.Name])) {
			add(workerID)
		}
	}
	for n, slot := range m.byFree {
		if n >= q.Free || slot.freeAt >= s.Now.UnixMilli() {
			break
		}
		add(slot.workerID)
	}
	if q.All {
		for _, workerID := range slices.Sorted(maps.Keys(slots)) {
			add(workerID)
		}
	}
	return s
}

// Write implements recycled.Store.
func (m *Memory) Write(ctx context.Context, w recycled.Write) (bool, error) {
	if err := checkWrite(w); err != nil {
		return false, err
	}
	fault := m.faultOf(Op{Client: m.name, Write: &w})
	if err := m.reach(ctx, fault); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return false, ErrDown
	}
	m.counts.Writes++
	switch fault {
	case Delay:
		m.delayed = append(m.delayed, cloneWrite(w))
		return false, fmt.Errorf("%w: a write was delayed", ErrFault)
	case LoseReply:
		m.write(w)
		return false, fmt.Errorf("%w: the reply of a write was lost", ErrFault)
	}
	return m.write(w), nil
}

// write compares and swaps. The caller must hold the lock.
func (m *server) write(w recycled.Write) bool {
	if w.History != m.history() || w.Pool != nil && !w.ReplacesPool(m.pool) {
		return false
	}
	for i, slot := range w.Slots {
		if !w.Replaces(i, m.slots[slot.WorkerID]) {
			return false
		}
	}
	m.force(w)
	return true
}

// force writes records whatever they replace. The caller must hold the lock.
func (m *server) force(w recycled.Write) {
	c := change{}
	if w.Pool != nil {
		before := m.pool
		c.pool, m.pool = &before, *w.Pool
	}
	for _, slot := range w.Slots {
		before := m.slots[slot.WorkerID]
		before.WorkerID = slot.WorkerID
		c.slots = append(c.slots, before)
		m.setSlot(slot)
	}
	if len(m.journal) == 2*journalLength {
		m.journal = append(m.journal[:0], m.journal[journalLength:]...)
	}
	m.journal = append(m.journal, c)
	m.writeCount++
}

// setSlot replaces a slot, or removes it if the revision is 0. The caller must hold the lock.
func (m *server) setSlot(slot recycled.Slot) {
	id := slot.WorkerID
	if old, ok := m.slots[id]; ok {
		n, _ := slices.BinarySearchFunc(m.byFree, freeSlot{old.FreeAt.UnixMilli(), id}, freeSlot.compare)
		m.byFree = slices.Delete(m.byFree, n, n+1)
		delete(m.byName[old.Holder.Name], id)
		delete(m.slots, id)
	}
	if slot.Revision == 0 {
		return
	}
	entry := freeSlot{slot.FreeAt.UnixMilli(), id}
	n, _ := slices.BinarySearchFunc(m.byFree, entry, freeSlot.compare)
	m.byFree = slices.Insert(m.byFree, n, entry)
	if name := slot.Holder.Name; name != "" {
		if m.byName[name] == nil {
			m.byName[name] = map[int64]struct{}{}
		}
		m.byName[name][id] = struct{}{}
	}
	m.slots[id] = slot
}
