package ringbuffer

import (
	"context"
	"fmt"

	"github.com/ringuid/ringuid/internal/errmask"
)

// TryTake takes one integer from the current run. It never blocks. It is one load, one atomic add
// and one comparison, so that it can be inlined. false means only that the current run is used up,
// not that the ring is empty: the caller should then call Take.
func (r *Ring) TryTake() (int64, bool) {
	if r != nil {
		if s := r.current.Load(); s != nil {
			n := s.taken.Add(1) - 1
			return s.first + int64(n), n < s.length
		}
	}
	return 0, false
}

// Take takes one integer. If the ring is empty, the take policy decides what happens. ctx is passed
// to the policy. If the ring is not empty, ctx is not checked.
func (r *Ring) Take(ctx context.Context) (int64, error) {
	if v, ok := r.TryTake(); ok {
		return v, nil
	}
	v, _, err := r.Claim(ctx, 1)
	return v, err
}

// Claim takes up to n consecutive integers with one atomic add. It returns the first one and how
// many there are: at least 1, and fewer than n if the run ends before. If the ring is empty, the
// take policy decides what happens, as for Take. An n less than 1 is an error that wraps ErrConfig.
func (r *Ring) Claim(ctx context.Context, n int64) (first, got int64, err error) {
	return r.ClaimAfter(ctx, n, nil)
}

// ClaimAfter is like Claim, but calls before, unless that is nil, each time right before it tries to take: so before was
// called before the integers were taken, and after the wait for them, if there was one.
func (r *Ring) ClaimAfter(ctx context.Context, n int64, before func()) (first, got int64, err error) {
	if n < 1 {
		return 0, 0, claimError(n)
	}
	if !r.initialized() {
		return 0, 0, errNotInitialized
	}
	for {
		if before != nil {
			before()
		}
		if first, got := r.TryClaim(n); got > 0 {
			return first, got, nil
		}
		if err := r.handleEmpty(ctx); err != nil {
			return 0, 0, err
		}
	}
}

// TryClaim is like Claim, but does not wait or call the take policy: got is 0 if the ring is empty or closed,
// or if n is less than 1.
func (r *Ring) TryClaim(n int64) (first, got int64) {
	if n < 1 || !r.initialized() {
		return 0, 0
	}
	for {
		s := r.current.Load()
		if first, got := s.claim(uint64(n)); got > 0 {
			return first, int64(got)
		}
		if !r.advance(s) {
			return 0, 0
		}
	}
}

// claimError returns the error of Claim for an n less than 1.
func claimError(n int64) error {
	return fmt.Errorf("%w: the number of integers to claim is %d; must be at least 1", ErrConfig, n)
}

// advance replaces the used-up run s by its successor as the current run. It reports whether
// another run than s is current now. The taker whose swap succeeds also checks the threshold, so
// the check happens once per run.
func (r *Ring) advance(s *runState) bool {
	if r.closed.Load() {
		return false
	}
	next := r.slots[(s.index+1)&r.indexMask].Load()
	if next == nil || next.index != s.index+1 {
		// The successor was not put yet; or this taker was suspended while the ring went round
		// once, and the successor is used up and replaced.
		return r.current.Load() != s
	}
	if r.current.CompareAndSwap(s, next) && r.tail.Load()-next.index+1 <= r.lowWatermark {
		// At most lowWatermark runs are left, and the current one is about to lose an integer, so
		// the fill level is below the threshold.
		r.onLowWatermark(next.index)
	}
	return true
}

// hasRun reports whether a take would find an integer. Like advance, it checks the slot of the next
// run. It does not compare with the tail, which may be behind that slot, or ahead of what this taker
// sees: see publish.
func (r *Ring) hasRun() bool {
	s := r.current.Load()
	if !s.usedUp() {
		return true
	}
	next := r.slots[(s.index+1)&r.indexMask].Load()
	return next != nil && next.index == s.index+1 || r.current.Load() != s
}

// handleEmpty calls the take policy, unless the ring is closed or the provider is exhausted. It
// returns nil if the take must try again.
func (r *Ring) handleEmpty(ctx context.Context) error {
	if r.closed.Load() {
		return ErrClosed
	}
	if end := r.exhaustedError.Load(); end != nil {
		if r.hasRun() {
			return nil // this run was put before the provider was exhausted
		}
		r.counters.rejectedTakes.Add(1)
		return *end
	}
	r.counters.rejectedTakes.Add(1)
	r.wakePadder()
	err := r.cfg.TakePolicy.OnEmpty(ctx, waiter{r})
	if err == ErrEmpty {
		err = r.emptyError()
	}
	switch {
	case err == nil || r.closed.Load():
		return err
	case r.exhaustedError.Load() != nil:
		// The provider was exhausted meanwhile. Its error is final, so the runs that were put
		// before must be taken first: try again.
		return nil
	}
	return maskRingErrors(err) // the ring is neither closed nor exhausted, whatever the policy returned
}

// Wait waits until the ring is not empty and returns nil. It returns ErrClosed if the ring is
// closed, and the provider's error if the provider is exhausted. If ctx ends first, it returns an
// error that wraps the error of ctx, ErrEmpty and the last padding error.
func (r *Ring) Wait(ctx context.Context) error {
	if !r.initialized() {
		return errNotInitialized
	}
	for {
		available := r.runAvailable.subscribe()
		if r.closed.Load() {
			return ErrClosed
		}
		if r.hasRun() {
			return nil
		}
		if r.testHookWait != nil {
			r.testHookWait()
		}
		if end := r.exhaustedError.Load(); end != nil {
			return *end
		}
		if err := r.awaitRun(ctx, available); err != nil {
			return err
		}
	}
}

// awaitRun wakes the padder and waits for a signal of runAvailable.
func (r *Ring) awaitRun(ctx context.Context, available <-chan struct{}) error {
	r.wakePadder()
	select {
	case <-available:
		return nil
	case <-ctx.Done():
		return waitError(errmask.Ended(ctx, ErrClosed, ErrExhausted), r.emptyError())
	case <-r.ctx.Done():
		return ErrClosed
	}
}

// emptyError returns why the ring is empty, if it is.
func (r *Ring) emptyError() *EmptyError { return r.lastEmptyError.Load() }
