package ringbuffer

import "sync/atomic"

// signal wakes all goroutines that wait for an event. To miss no event, a waiter first calls
// subscribe, then checks whether the event has already happened, and only then receives from the
// channel. Neither subscribe nor broadcast blocks, even if another goroutine is suspended within
// one of them.
type signal struct {
	ch atomic.Pointer[chan struct{}] // nil while no goroutine waits
}

// subscribe returns the channel that the next broadcast closes.
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

// broadcast wakes all goroutines that called subscribe before.
func (s *signal) broadcast() {
	// A waiter that stores its channel after this load checks for the event after that, and so
	// finds it.
	if s.ch.Load() == nil {
		return
	}
	if ch := s.ch.Swap(nil); ch != nil {
		close(*ch)
	}
}
