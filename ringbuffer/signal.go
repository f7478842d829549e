package ringbuffer

import "sync/atomic"

// signal wakes all who wait for an event. To miss none, a waiter gets the channel first,
// then looks whether the event is still to come, and only then waits. Neither side waits for the
// other: a goroutine that is suspended in between delays nobody.
type signal struct {
	ch atomic.Pointer[chan struct{}] // nil while nobody waits
}

// next returns the channel that the next broadcast closes.
func (s *signal) subscribe() <-chan struct{} {
	for {
		if ch := s.ch.Load(); ch != nil {
			return *ch
		}
		ch := make(chan struct{})
		if s.ch.CompareAndSwap(nil, &ch) {
			return ch
		}
	}
}

// broadcast wakes all who called next before.
func (s *signal) broadcast() {
	// Who stores a channel after this look sees the event when it looks for it.
	if s.ch.Load() == nil {
		return
	}
	if ch := s.ch.Swap(nil); ch != nil {
		close(*ch)
	}
}
