package assigntest

import (
	"context"
	"slices"
	"time"

	"github.com/ringuid/ringuid/workerassign/recycled"
)

// brokenStore is a store with a defect, around a Memory that has none.
type brokenStore struct {
	*Memory
	onRead  func(m *Memory, ctx context.Context, q recycled.Query) (recycled.State, error) // nil: no defect
	onWrite func(m *Memory, ctx context.Context, w recycled.Write) (bool, error)
}

func (b brokenStore) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	if b.onRead == nil {
		return b.Memory.Read(ctx, q)
	}
	return b.onRead(b.Memory, ctx, q)
}

func (b brokenStore) Write(ctx context.Context, w recycled.Write) (bool, error) {
	if b.onWrite == nil {
		return b.Memory.Write(ctx, w)
	}
	return b.onWrite(b.Memory, ctx, w)
}

// changeRead returns a Read that changes what it has read.
func changeRead(change func(q recycled.Query, s *recycled.State)) func(*Memory, context.Context, recycled.Query) (recycled.State, error) {
	return func(m *Memory, ctx context.Context, q recycled.Query) (recycled.State, error) {
		s, err := m.Read(ctx, q)
		if err == nil {
			change(q, &s)
		}
		return s, err
	}
}

// freeByClock returns a Read that finds free slots by a clock that is ahead of the store's by d.
func freeByClock(d time.Duration) func(*Memory, context.Context, recycled.Query) (recycled.State, error) {
	return func(m *Memory, ctx context.Context, q recycled.Query) (recycled.State, error) {
		m.StepClock(d)
		s, err := m.Read(ctx, q)
		m.StepClock(-d)
		s.Now = s.Now.Add(-d)
		return s, err
	}
}

// changeSlots returns a Write that changes slots before it writes them.
func changeSlots(change func(*recycled.Slot)) func(*Memory, context.Context, recycled.Write) (bool, error) {
	return func(m *Memory, ctx context.Context, w recycled.Write) (bool, error) {
		w = cloneWrite(w)
		for n := range w.Slots {
			change(&w.Slots[n])
		}
		return m.Write(ctx, w)
	}
}

// unchecked writes records with the next revision, whatever they replace, if some say so.
func unchecked(pool, slots bool) func(*Memory, context.Context, recycled.Write) (bool, error) {
	return func(m *Memory, ctx context.Context, w recycled.Write) (bool, error) {
		if err := m.reach(ctx, m.faultOf(Op{Write: &w})); err != nil {
			return false, err
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.down {
			return false, ErrDown
		}
		w = cloneWrite(w)
		if pool && w.Pool != nil {
			w.Pool.Revision, w.ReplacedPool = m.pool.Revision+1, &m.pool
		}
		for n := range w.Slots {
			if slots {
				w.Replaced[n] = m.slots[w.Slots[n].WorkerID]
				w.Slots[n].Revision = w.Replaced[n].Revision + 1
			}
		}
		return m.write(w), nil
	}
}

// inParts writes each record by itself.
func inParts(m *Memory, ctx context.Context, w recycled.Write) (bool, error) {
	all := true
	for n := range w.Slots {
		ok, err := m.Write(ctx, recycled.Write{History: w.History, Slots: w.Slots[n : n+1], Replaced: w.Replaced[n : n+1]})
		if err != nil {
			return false, err
		}
		all = all && ok
	}
	if w.Pool != nil {
		ok, err := m.Write(ctx, recycled.Write{History: w.History, Pool: w.Pool, ReplacedPool: w.ReplacedPool})
		return all && ok, err
	}
	return all, nil
}

// readThenWrite compares in one step, and writes in another, which compares the slots that are replaced again, but not their
// revisions.
func readThenWrite(m *Memory, ctx context.Context, w recycled.Write) (bool, error) {
	s := m.Dump()
	if w.Pool != nil && w.Pool.Revision != s.Pool.Revision+1 || w.History != s.History {
		return false, nil
	}
	for _, slot := range w.Slots {
		n := slices.IndexFunc(s.Slots, func(old recycled.Slot) bool { return old.WorkerID == slot.WorkerID })
		if n < 0 && slot.Revision != 1 || n >= 0 && slot.Revision != s.Slots[n].Revision+1 {
			return false, nil
		}
	}
	time.Sleep(time.Millisecond)
	m.mu.Lock()
	defer m.mu.Unlock()
	for n, was := range w.Replaced {
		if have := m.slots[w.Slots[n].WorkerID]; have.Token != was.Token || !have.Until.Equal(was.Until) {
			return false, nil
		}
	}
	m.force(w)
	return true, nil
}

// queryByName returns a Read that finds names which match.
func queryByName(match func(name, query string) bool) func(*Memory, context.Context, recycled.Query) (recycled.State, error) {
	return func(m *Memory, ctx context.Context, q recycled.Query) (recycled.State, error) {
		if q.Name == "" {
			return m.Read(ctx, q)
		}
		s, err := m.Read(ctx, recycled.Query{All: true})
		s.Slots = slices.DeleteFunc(s.Slots, func(slot recycled.Slot) bool { return !match(slot.Holder.Name, q.Name) })
		return s, err
	}
}

func (m *server) startWithSameHistory() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = false
}

func (m *server) deliverUnchecked() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.delayed {
		m.force(w)
	}
	m.delayed = nil
}
