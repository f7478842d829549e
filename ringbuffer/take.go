package ringbuffer

import "context"

// TryTake takes one integer from the current run. It never blocks, and its whole work is
// one load, one atomic add and one comparison, so that it can be inlined: false says only
// that the current run is spent, and Take is to be called.
func (r *Ring) TryTake() (int64, bool) {
	if r != nil {
		if s := r.current.Load(); s != nil {
			n := s.taken.Add(1) - 1
			return s.first + int64(n), n < s.length
		}
	}
	return 0, false
}

// Take takes one integer. When the ring is empty the take policy decides; ctx is for a
// policy that waits, and is not looked at where there is something to take.
func (r *Ring) Take(ctx context.Context) (int64, error) {
	if v, ok := r.TryTake(); ok {
		return v, nil
	}
	v, _, err := r.Claim(ctx, 1)
	return v, err
}

// Claim takes up to n consecutive integers, by one atomic add, and returns the first and
// how many there are: at least 1, and fewer than n where a run ends. When the ring is empty
// the take policy decides, as with Take. n must be at least 1; less returns nothing.
func (r *Ring) Claim(ctx context.Context, n int64) (first, got int64, err error) {
	if n < 1 {
		return 0, 0, nil
	}
	if !r.initialized() {
		return 0, 0, errNotInitialized
	}
	for {
		s := r.current.Load()
		if first, got := s.claim(uint64(n)); got > 0 {
			return first, int64(got), nil
		}
		if r.advance(s) {
			continue
		}
		if err := r.handleEmpty(ctx); err != nil {
			return 0, 0, err
		}
	}
}

// advance moves takers from the spent run s to its successor, and tells whether the current
// run is another one now. The one that moves them also looks at the threshold, so that
// takers do so once a run.
func (r *Ring) advance(s *runState) bool {
	if r.closed.Load() {
		return false
	}
	next := r.slots[(s.index+1)&r.indexMask].Load()
	if next == nil || next.index != s.index+1 {
		// Not put yet; or, if this taker slept through a lap, long gone.
		return r.current.Load() != s
	}
	if r.current.CompareAndSwap(s, next) && r.tail.Load()-next.index+1 <= r.lowWatermark {
		// low runs are left, and the one just begun is about to lose an integer: the fill
		// level is below the threshold.
		r.onLowWatermark(next.index)
	}
	return true
}

// hasRun tells whether a take would find something. As advance does, it looks for the slot of the
// next run and not at the tail, which may be behind it or ahead of what this taker sees: see
// publish.
func (r *Ring) hasRun() bool {
	s := r.current.Load()
	if !s.usedUp() {
		return true
	}
	next := r.slots[(s.index+1)&r.indexMask].Load()
	return next != nil && next.index == s.index+1 || r.current.Load() != s
}

// onEmpty asks the policy what a take shall do, unless there is nothing to ask about. It
// returns nil when the take shall look again.
func (r *Ring) handleEmpty(ctx context.Context) error {
	if r.closed.Load() {
		return ErrClosed
	}
	if end := r.exhaustedError.Load(); end != nil {
		if r.hasRun() {
			return nil // put before the end came
		}
		r.counters.rejectedTakes.Add(1)
		return *end
	}
	r.counters.rejectedTakes.Add(1)
	r.wakePadder()
	err := r.callTakePolicy(ctx)
	switch {
	case err == nil || r.closed.Load():
		return err
	case r.exhaustedError.Load() != nil:
		// The end came meanwhile, and its error is final: before it is returned, what was
		// put before it has to be taken.
		return nil
	}
	return maskRingErrors(err) // the ring is neither closed nor exhausted, whatever the policy returned
}

// Wait waits until there is something to take, and returns nil; ErrClosed when the ring
// closes first; the provider's error when it is exhausted; and an error that wraps that of
// ctx, ErrEmpty and the last padding error when ctx ends first.
func (r *Ring) Wait(ctx context.Context) error {
	if !r.initialized() {
		return errNotInitialized
	}
	for {
		fresh := r.runAvailable.subscribe()
		if r.closed.Load() {
			return ErrClosed
		}
		if r.hasRun() {
			return nil
		}
		if end := r.exhaustedError.Load(); end != nil {
			return *end
		}
		if err := r.awaitRun(ctx, fresh); err != nil {
			return err
		}
	}
}

// sleep waits for a signal, with the padder awake.
func (r *Ring) awaitRun(ctx context.Context, fresh <-chan struct{}) error {
	r.wakePadder()
	select {
	case <-fresh:
		return nil
	case <-ctx.Done():
		return waitError(context.Cause(ctx), r.emptyError())
	case <-r.ctx.Done():
		return ErrClosed
	}
}

// emptyError says why the ring is empty.
func (r *Ring) emptyError() *EmptyError { return r.lastEmptyError.Load() }
