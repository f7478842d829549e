package ringbuffer

import "context"

// Put puts a run behind the runs that are in the ring. If the ring is full, the put policy decides
// what happens; by default the run is discarded and Put returns ErrFull. While the provider is being
// asked for a run, that run counts too, because its place is reserved. Put may wait for other
// goroutines that put, but only for the time that storing a run takes, and never for a provider. If
// ctx ends while Put waits, Put returns the error of ctx.
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
		r.wakePadder() // it may have found no room, and takers may wait for it
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

// handleFull calls the put policy for a run that does not fit.
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

// reservePlace reserves a place for one more run and reports whether there was one. Takers only free
// places, so the place stays reserved until publish or releasePlace is called.
func (r *Ring) reservePlace() bool {
	for {
		reservedTail, room := r.hasRoom()
		if !room {
			return false
		}
		if r.testHookReserve != nil {
			r.testHookReserve()
		}
		if r.reservedTail.CompareAndSwap(reservedTail, reservedTail+1) {
			return true
		}
	}
}

// hasRoom reports whether one more place can be reserved. It also returns the value of r.reservedTail
// that the answer is based on.
func (r *Ring) hasRoom() (reservedTail uint64, room bool) {
	s := r.current.Load() // before reservedTail, which is then at least the index of this run
	reservedTail = r.reservedTail.Load()
	used := reservedTail - s.index
	if !s.usedUp() {
		used++
	}
	return reservedTail, used <= r.indexMask
}

// releasePlace releases a reserved place.
func (r *Ring) releasePlace() { r.reservedTail.Add(^uint64(0)) }

// publish puts a run. The caller holds the put lock and has reserved a place. The slot of that place
// still has a run that takers have left. A slow taker that looks there for the successor of its run
// finds an index other than the one that it expects.
//
// The stores have this order: slot, tail, broadcast. The first one publishes the run. Takers read
// only slots, so they do not depend on the store of the tail. A taker that has used up the run
// before the tail is stored finds no successor, and waits for a broadcast; at least the one of this
// call is still to come. The tail is for goroutines that put, for the threshold, and for the
// decision whether the padder pauses again.
func (r *Ring) publish(run Run) {
	index := r.tail.Load() + 1
	r.slots[index&r.indexMask].Store(&runState{
		index:          index,
		precedingTotal: r.totalPut,
		first:          run.First,
		length:         uint64(run.Length),
	})
	if r.testHookPublish != nil {
		r.testHookPublish()
	}
	r.totalPut += uint64(run.Length)
	r.tail.Store(index)
	r.runAvailable.broadcast()
}
