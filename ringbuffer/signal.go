package ringbuffer

import "sync"

// signal wakes all who wait for an event. To miss none, a waiter gets the channel first,
// then looks whether the event is still to come, and only then waits.
type signal struct {
	mu sync.Mutex
	ch chan struct{} // nil while nobody waits
}

// next returns the channel that the next broadcast closes.
func (s *signal) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

// broadcast wakes all who called next before.
func (s *signal) broadcast() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}
