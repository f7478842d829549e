package ringbuffer

import "context"

// Put puts a run behind those in the ring. When the ring is full the put policy decides;
// without one the run is discarded and Put returns ErrFull. A run that the provider is being
// asked for has its place already, so it counts. Put waits for others that put, for no longer
// than it takes to store a run, and never for a provider.
func (r *Ring) Put(ctx context.Context, run Run) error {
	if !r.initialized() {
		return errNotInitialized
	}
	if err := run.check(); err != nil {
		return err
	}
	if r.closed.Load() {
		return ErrClosed
	}
	if !r.reservePlace() {
		r.counters.rejectedPuts.Add(1)
		return r.handleFull(ctx, run)
	}
	if err := r.putLock.acquire(ctx); err != nil {
		r.releasePlace()
		return err
	}
	closed := r.closed.Load()
	if !closed {
		r.publish(run)
	}
	r.putLock.release()
	if closed {
		return ErrClosed
	}
	return nil
}

// onFull asks the policy what to do with a run that has no place.
func (r *Ring) handleFull(ctx context.Context, run Run) error {
	if r.closed.Load() {
		return ErrClosed
	}
	err := r.callPutPolicy(ctx, run)
	if r.closed.Load() {
		return err
	}
	return maskRingErrors(err)
}

// reserve reserves a place for one more run, unless the ring is full. Takers only free places,
// so the place is there until a run was published or unreserve was called.
func (r *Ring) reservePlace() bool {
	for {
		promised, room := r.hasRoom()
		if !room {
			return false
		}
		if r.reservedTail.CompareAndSwap(promised, promised+1) {
			return true
		}
	}
}

// room reports whether there is a place for one more run than were promised one.
func (r *Ring) hasRoom() (promised uint64, room bool) {
	s := r.current.Load() // before promised, which so is not less than its number
	promised = r.reservedTail.Load()
	used := promised - s.index
	if !s.usedUp() {
		used++
	}
	return promised, used <= r.indexMask
}

// unreserve gives a place back.
func (r *Ring) releasePlace() { r.reservedTail.Add(^uint64(0)) }

// publish puts a run. The caller holds the put lock and has reserved a place: it belongs to a run
// that takers have left, and if a slow one still looks at it for a successor, it sees a number
// that is not the one it looks for.
//
// The order of the stores: slot, tail, broadcast. The run is published by the first. Takers look
// at slots alone, so it makes no difference to them when the tail follows: one that has emptied
// the run before finds no successor, and waits for a broadcast, of which at least one is to come.
// The tail is for those who put, for the threshold and for the padder's rest.
func (r *Ring) publish(run Run) {
	number := r.tail.Load() + 1
	r.slots[number&r.indexMask].Store(&runState{
		index:          number,
		precedingTotal: r.totalPut,
		first:          run.First,
		length:         uint64(run.Length),
	})
	if r.testHookPublish != nil {
		r.testHookPublish()
	}
	r.totalPut += uint64(run.Length)
	r.tail.Store(number)
	r.runAvailable.broadcast()
}
