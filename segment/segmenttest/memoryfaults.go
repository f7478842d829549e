package segmenttest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringuid/ringuid/segment"
)

var (
	// ErrFault is wrapped by the errors of calls into which a Memory injected a fault.
	ErrFault = errors.New("segmenttest: injected fault")

	// ErrDown is returned by the calls of a Memory that was killed.
	ErrDown = errors.New("segmenttest: the memory source is down")
)

// An Op is a call of Take or CreateTag. Exactly one of Take and Create is not nil.
type Op struct {
	Client string // the name of the client; "" for the Memory that NewMemory returned
	Tag    string
	Take   *segment.Request
	Create *segment.TagConfig
}

// A Fault is what happens to a call.
type Fault int

// The faults of a call. Each of them results in an error.
const (
	NoFault     Fault = iota
	LoseRequest       // the request is lost: nothing is written
	LoseReply         // the call is executed, but the caller does not learn of it
	Block             // the call blocks until its context ends, and then nothing is written
)

// SetFaults sets a function that decides for each call what happens to it. nil means no faults. f is called
// without a lock, before the call reaches the store. It may call methods of the Memory, and it may block,
// for example for as long as a server takes.
func (m *Memory) SetFaults(f func(Op) Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = f
}

// reach waits while the server is paused. It returns an error if the call does not reach the server.
func (s *server) reach(ctx context.Context, op Op) (Fault, error) {
	if ctx.Err() != nil {
		return NoFault, context.Cause(ctx)
	}
	s.mu.Lock()
	f := s.faults
	s.mu.Unlock()
	fault := NoFault
	if f != nil {
		fault = f(op)
	}
	if fault == LoseRequest {
		return fault, fmt.Errorf("%w: a request was lost", ErrFault)
	}
	for ctx.Err() == nil {
		s.mu.Lock()
		resumed := s.resumed
		s.mu.Unlock()
		if resumed == nil && fault != Block {
			return fault, nil
		}
		select {
		case <-resumed: // never, if that is nil
		case <-ctx.Done():
		}
	}
	return fault, context.Cause(ctx)
}

// Kill makes all calls fail at once until Start is called. Nothing that was acknowledged is lost.
func (m *Memory) Kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = true
}

// Start ends what Kill began.
func (m *Memory) Start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = false
}

// Pause makes all calls block until their contexts end, or until Resume is called.
func (m *Memory) Pause() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.resumed == nil {
		m.resumed = make(chan struct{})
	}
}

// Resume ends what Pause began.
func (m *Memory) Resume() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.resumed != nil {
		close(m.resumed)
		m.resumed = nil
	}
}

// Writes returns how many calls have written something.
func (m *Memory) Writes() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.writes
}

// LoseWrites loses the last n writes, and nobody notices it: somebody has restored an older copy. At most the
// last 4096 writes are lost.
func (m *Memory) LoseWrites(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lose(n)
}

// Failover loses the last n writes, as a failover to a replica does that has not received them, and begins a
// new history: all tags continue beyond a gap. n may be 0. At most the last 4096 writes are lost.
func (m *Memory) Failover(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lose(n)
	m.history++
	m.changed = time.Now()
}

// lose takes back the last n writes. The caller must hold the lock.
func (s *server) lose(n int) {
	for ; n > 0 && len(s.journal) > 0; n-- {
		w := s.journal[len(s.journal)-1]
		s.journal = s.journal[:len(s.journal)-1]
		if w.existed {
			s.tags[w.tag] = w.old
		} else {
			delete(s.tags, w.tag)
		}
	}
}

// SetCounter sets the next number of a tag, as an operator does who changes the store's record. It panics if there
// is no such tag, or if next is negative. math.MaxInt64 means that the tag has no more numbers.
func (m *Memory) SetCounter(tag string, next int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.existing(tag)
	if next < 0 {
		panic(fmt.Sprintf("segmenttest: the counter is %d; must be at least 0", next))
	}
	t.next, t.history = next, m.history
	m.write(tag, t)
}

// SetStep sets the step of a tag, as an operator does. It panics if there is no such tag, or if the step is less
// than 1.
func (m *Memory) SetStep(tag string, step int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.existing(tag)
	if step < 1 || step > segment.MaxStep {
		panic(fmt.Sprintf("segmenttest: the step is %d; must be 1 to %d", step, int64(segment.MaxStep)))
	}
	t.step = step
	m.write(tag, t)
}

// Counter returns the next number of a tag; 0 if there is no such tag, and math.MaxInt64 if it has no more
// numbers.
func (m *Memory) Counter(tag string) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ok := m.tags[tag]
	if ok && t.history != m.history {
		return beyond(t.next, m.gap)
	}
	return t.next
}

// RemoveTag removes a tag, as an operator does. It is the same if there is no such tag.
func (m *Memory) RemoveTag(tag string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.tags, tag)
}

// existing returns a record that must exist. The caller must hold the lock.
func (s *server) existing(tag string) memoryTag {
	t, ok := s.tags[tag]
	if !ok {
		panic(fmt.Sprintf("segmenttest: there is no tag %q", tag))
	}
	return t
}
