package ringbuffer

import (
	"context"
	"errors"
	"runtime/debug"
)

// errNoRoom says within the package that there is no room for another run.
var errNoRoom = errors.New("ringbuffer: no room")

// Put puts a run behind those in the ring. When the ring is full the put policy decides;
// without one the run is discarded and Put returns ErrFull. It waits for others that put.
func (r *Ring) Put(ctx context.Context, run Run) error {
	if err := run.check(); err != nil {
		return err
	}
	select {
	case r.putLock <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	room := r.hasRoom()
	closed := r.closed.Load()
	if room && !closed {
		r.publish(run)
	}
	<-r.putLock
	switch {
	case closed:
		return ErrClosed
	case !room:
		r.counts.rejectedPuts.Add(1)
		return r.cfg.PutPolicy.OnFull(ctx, r, run)
	}
	return nil
}

// Pad puts one run of the provider's, in the caller's goroutine, if the ring is empty.
// Where another goroutine is at it, Pad waits for that one; where no run may be put yet, it
// waits as Wait does. What the provider fails with is returned.
func (r *Ring) Pad(ctx context.Context) error {
	select {
	case r.putLock <- struct{}{}: // the common case: there is nobody to wait for
		if done, err := r.padLocked(ctx); done {
			return err
		}
	default:
	}
	for {
		fresh := r.fresh.next()
		if r.closed.Load() {
			return ErrClosed
		}
		if r.hasRun() {
			return nil
		}
		select {
		case r.putLock <- struct{}{}:
		case <-fresh:
			return nil
		case <-ctx.Done():
			return waitError(context.Cause(ctx), r.emptyError())
		case <-r.ctx.Done():
			return ErrClosed
		}
		if done, err := r.padLocked(ctx); done {
			return err
		}
		// A failure wakes it as well, and then the next try returns that.
		if err := r.sleep(ctx, fresh); err != nil {
			return err
		}
	}
}

// padLocked is called with the put lock held, and gives it back. It returns false if no run
// may be put yet.
func (r *Ring) padLocked(ctx context.Context) (done bool, err error) {
	if r.closed.Load() {
		err = ErrClosed
	} else if !r.hasRun() { // else another put one while this waited
		if err = r.padOne(ctx); err == nil {
			r.counts.paddings[Caller].Add(1)
		}
	}
	<-r.putLock
	return err != errNoRoom && !isNotYet(err), err
}

// padOne gets a run from the provider and puts it, if there is room. The caller holds the
// put lock.
func (r *Ring) padOne(ctx context.Context) error {
	if r.closed.Load() {
		return ErrClosed
	}
	if end := r.ended.Load(); end != nil {
		return *end
	}
	if !r.hasRoom() || r.cfg.Provider == nil {
		return errNoRoom
	}
	run, err := r.nextRun(ctx)
	if err == nil {
		err = run.check()
	}
	if err != nil {
		r.failed(err)
		return err
	}
	r.publish(run)
	r.worked()
	return nil
}

// nextRun calls the provider, with a context that Close cancels too.
func (r *Ring) nextRun(ctx context.Context) (run Run, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	if ctx.Done() == nil {
		ctx = r.ctx
	} else if ctx != r.ctx {
		both, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(r.ctx, cancel)()
		ctx = both
	}
	return r.cfg.Provider.NextRun(ctx)
}

// hasRoom tells whether another run may be put. The caller holds the put lock, so the
// answer yes stays true.
func (r *Ring) hasRoom() bool {
	s := r.current.Load()
	used := r.tail.Load() - s.number
	if !s.spent() {
		used++
	}
	return used <= r.mask
}

// publish puts a run. The caller holds the put lock and has seen that there is room: the
// place belongs to a run that takers have left, and if a slow one still looks at it for a
// successor, it sees a number that is not the one it looks for.
func (r *Ring) publish(run Run) {
	number := r.tail.Load() + 1
	r.slots[number&r.mask].Store(&slot{
		number: number,
		before: r.total,
		first:  run.First,
		length: uint64(run.Length),
	})
	r.total += uint64(run.Length)
	r.tail.Store(number) // from here on takers may move to it
	r.fresh.broadcast()
}
