package uid

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"
)

const (
	tryTimeout = 10 * time.Second      // how long one try may take: a dead connection must not be waited for for ever
	retryBase  = 50 * time.Millisecond // the pause after a first failure; doubled by each more
	retryMax   = 10 * time.Second      // the longest pause
)

// errand is something that a keeper has done in the background: by one goroutine at a time,
// until it works, or is stopped.
type errand struct {
	mu      sync.Mutex
	running bool
	stopped bool
	limit   time.Duration        // how long one try may take; 0 for tryTimeout
	longest func() time.Duration // the longest pause between two tries; nil for retryMax
	err     error                // why the last try failed, while the errand runs or after that stopped it
	tried   chan struct{}        // closed after the next try; nil where nobody waits
}

// retryPause is the pause after so many failures, 0 after none.
func retryPause(failures int64) time.Duration {
	if failures <= 0 {
		return 0
	}
	return min(retryBase<<min(failures-1, 16), retryMax)
}

// run starts an errand unless it is running, after a delay, and returns why its last try failed,
// if that was a failure. A try that works tells whether it changed anything.
func (k *keeper) run(ctx context.Context, e *errand, what string, delay time.Duration, try func(context.Context) (bool, error)) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.running && !e.stopped {
		e.running = true
		k.start(ctx, e, what, delay, try)
	}
	return e.err
}

// start runs what run has found due. An assigner may end the goroutine, by runtime.Goexit: that is a
// failed try, and another goroutine goes on.
func (k *keeper) start(ctx context.Context, e *errand, what string, delay time.Duration, try func(context.Context) (bool, error)) {
	k.spawn(func() {
		ended := false
		defer func() {
			if !ended {
				k.cfg.log.Log(slog.LevelError, "uid: the assigner ended the goroutine that called it", "to", what)
				e.failed(leaseError("a try to "+what+" failed", errEndedGoroutine))
				k.start(ctx, e, what, min(max(2*delay, retryBase), retryMax), try)
			}
		}()
		switch {
		case delay > 0 && !k.delay(ctx, delay):
			e.end(nil)
		case k.persist(ctx, e, what, try):
			k.changed()
		}
		ended = true
	})
}

// errEndedGoroutine is what an assigner has done that has called runtime.Goexit.
var errEndedGoroutine = errors.New("the assigner ended the goroutine that called it")

// persist tries until it works, with growing pauses, or until ctx ends or nothing can make
// it work. It logs the first failure, and that it is over.
func (k *keeper) persist(ctx context.Context, e *errand, what string, try func(context.Context) (bool, error)) bool {
	for failures := int64(0); ; failures++ {
		changed, err := k.attempt(ctx, cmp.Or(e.limit, tryTimeout), try)
		switch {
		case ctx.Err() != nil:
			e.end(nil)
			return false
		case err == nil:
			if failures > 0 {
				k.cfg.log.Log(slog.LevelInfo, "uid: recovered", "did", what, "failures", failures)
			}
			e.end(nil)
			return changed
		case errors.Is(err, ErrWorkerID): // the next one would be greater still
			k.cfg.log.Log(slog.LevelError, "uid: failed permanently", "to", what, "err", err)
			e.stop()
			e.end(err)
			return true
		}
		if failures == 0 {
			k.cfg.log.Log(slog.LevelWarn, "uid: failed, trying again", "to", what, "err", err)
		}
		e.failed(err)
		pause := retryPause(failures + 1)
		if e.longest != nil {
			k.attempt(ctx, 0, func(context.Context) (bool, error) { // it reads the clock, which may be the user's
				pause = min(pause, e.longest())
				return false, nil
			})
		}
		// Not all hosts of a fleet at once.
		if !k.pause(ctx, pause/2+rand.N(pause/2+1)) {
			e.end(nil)
			return false
		}
	}
}

// attempt is one try, of bounded length unless most is 0. It returns a panic, which is the assigner's, as an
// error: a generator that has UIDs goes on.
func (k *keeper) attempt(ctx context.Context, most time.Duration, try func(context.Context) (bool, error)) (changed bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			k.cfg.log.Log(slog.LevelError, "uid: the assigner panicked", "panic", v, "stack", string(debug.Stack()))
			err = leaseError("the assigner panicked", fmt.Errorf("%v", v))
		}
	}()
	if most > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, most)
		defer cancel()
	}
	return try(ctx)
}

// sleep pauses, and tells whether that was not cut short.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// failed notes a try that failed.
func (e *errand) failed(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.err = err
	e.wake()
}

// end notes that the errand does not run any more.
func (e *errand) end(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running, e.err = false, err
	e.wake()
}

// wake wakes those who wait for a try. The lock is held.
func (e *errand) wake() {
	if e.tried != nil {
		close(e.tried)
		e.tried = nil
	}
}

// next returns a channel that is closed after the next try.
func (e *errand) next() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tried == nil {
		e.tried = make(chan struct{})
	}
	return e.tried
}

// stop keeps an errand from being started again.
func (e *errand) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stopped = true
}

// finish stops an errand and waits until it does not run; its context has ended.
func (e *errand) finish() {
	e.stop()
	for {
		tried := e.next()
		if !e.isRunning() {
			return
		}
		<-tried
	}
}

func (e *errand) isRunning() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.running
}
