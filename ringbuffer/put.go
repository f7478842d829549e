package ringbuffer

import "context"

// Put puts a run behind the runs that are in the ring. If the ring is full, the put policy decides
// what happens; by default the run is discarded and Put returns ErrFull. Put may wait for other
// goroutines that put, but only for the time that storing a run takes. If ctx ends while Put waits, Put
// returns the error of ctx. On a ring with a provider, Put returns an error that wraps ErrConfig.
func (r *Ring) Put(ctx context.Context, run Run) error {
	switch {
	case !r.initialized():
		return errNotInitialized
	case r.closed.Load():
		return ErrClosed
	case r.cfg.Provider != nil:
		return errPutWithProvider
	}
	if err := run.check(); err != nil {
		return err
	}
	if err := r.turn.acquire(ctx); err != nil {
		return err
	}
	room := r.hasRoom()
	if room {
		r.publish(run)
	}
	r.turn.release()
	switch {
	case r.closed.Load(): // perhaps while Put waited
		return ErrClosed
	case room:
		return nil
	}
	r.counters.rejectedPuts.Add(1)
	err := r.cfg.PutPolicy.OnFull(ctx, r, run)
	if r.closed.Load() {
		return err
	}
	return maskRingErrors(err)
}

// hasRoom reports whether there is room for one more run. In a turn that stays true, because takers only
// make room. Without a turn, the tail may be one behind the current run: see publish.
func (r *Ring) hasRoom() bool {
	s := r.current.Load() // before the tail, which would otherwise be behind by any number
	used := int64(r.tail.Load() - s.index)
	if !s.usedUp() {
		used++
	}
	return used < int64(r.cfg.Capacity)
}

// publish puts a run, for which there is room. The caller has the turn. The slot of the run still has a
// run that takers have left. A slow taker that looks there for the successor of its run finds an index
// other than the one that it expects.
//
// The stores have this order: slot, tail, broadcast. The first one publishes the run. Takers read
// only slots, so they do not depend on the store of the tail. A taker that has used up the run
// before the tail is stored finds no successor, and waits for a broadcast; at least the one of this
// call is still to come. The tail is for goroutines that put, for the threshold, and for the
// decision whether the padder pauses again.
//
// A run that is put although the ring was closed meanwhile is lost, as all others.
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
