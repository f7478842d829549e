package leasing

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ringuid/ringuid/internal/backoff"
)

const (
	TryTimeout    = 10 * time.Second      // the longest time for one try, so that a dead connection is not waited for permanently
	retryBase     = 50 * time.Millisecond // the pause after the first failure; it doubles with each further one
	MaxRetryPause = 10 * time.Second      // the longest pause
)

// retryTask is a task that a Manager runs in the background, in one goroutine, until a try succeeds
// or the task is stopped.
type retryTask struct {
	mu       sync.Mutex
	running  bool
	stopped  bool
	timeout  time.Duration        // for one try; 0 means TryTimeout
	maxPause func() time.Duration // the longest pause between two tries; nil means MaxRetryPause
	err      error                // the error of the last try, while the task runs, or when that error ended it
	tried    chan struct{}        // closed after the next try; nil if nobody waits
}

// A try is one try of a task. It reports whether it changed anything.
type try func(context.Context) (changed bool, err error)

// retryPause returns the pause after a number of failures: 0 after none.
func retryPause(failures int64) time.Duration {
	if failures <= 0 {
		return 0
	}
	return min(retryBase<<min(failures-1, 16), MaxRetryPause)
}

// run starts a task after a delay, unless it is running, and returns the error of its last try, if
// that failed.
func (m *Manager) run(ctx context.Context, t *retryTask, action string, delay time.Duration, f try) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return m.runLocked(ctx, t, action, delay, f)
}

// runLocked is run for a caller that holds t.mu.
func (m *Manager) runLocked(ctx context.Context, t *retryTask, action string, delay time.Duration, f try) error {
	if !t.running && !t.stopped {
		t.running = true
		m.start(ctx, t, action, delay, f)
	}
	return t.err
}

// start starts the goroutine of a task.
func (m *Manager) start(ctx context.Context, t *retryTask, action string, delay time.Duration, f try) {
	m.cfg.Hooks.Go(func() {
		var changed bool
		err := errGoexit
		defer func() {
			if err == errGoexit { // deferred, so that such a task does not count as running; it is not tried again
				err, changed = m.leaseError("a try to "+action+" failed", err), true
				m.cfg.Log.Log(slog.LevelError, "uid: failed permanently", "action", action, "err", err)
				t.stop()
			}
			t.finish(err)
			if changed {
				m.notify()
			}
		}()
		if delay > 0 && !m.cfg.Hooks.Delay(ctx, delay) {
			err = nil
			return
		}
		changed, err = m.retry(ctx, t, action, f)
	})
}

// errGoexit is the error of a task whose goroutine the assigner has ended by runtime.Goexit, as a test's FailNow does.
var errGoexit = errors.New("the assigner ended the goroutine that called it")

// retry tries until a try succeeds, with growing pauses, or until ctx ends or the error is permanent.
// It logs the first failure, and the success after failures. It reports whether the last try changed anything, and the error that ended
// the task.
func (m *Manager) retry(ctx context.Context, t *retryTask, action string, f try) (bool, error) {
	for failures := int64(0); ; failures++ {
		changed, err := within(ctx, cmp.Or(t.timeout, TryTimeout), f)
		switch {
		case ctx.Err() != nil:
			return false, nil
		case err == nil:
			if failures > 0 {
				m.cfg.Log.Log(slog.LevelInfo, "uid: recovered", "action", action, "failures", failures)
			}
			return changed, nil
		case errors.Is(err, ErrWorkerID): // the next worker ID would be even greater
			m.cfg.Log.Log(slog.LevelError, "uid: failed permanently", "action", action, "err", err)
			t.stop()
			return true, err
		}
		if failures == 0 {
			m.cfg.Log.Log(slog.LevelWarn, "uid: failed, trying again", "action", action, "err", err)
		}
		t.recordFailure(err)
		pause := retryPause(failures + 1)
		if t.maxPause != nil {
			pause = min(pause, t.maxPause())
		}
		// Random, so that the hosts of a fleet do not all try at once.
		if !m.cfg.Hooks.Pause(ctx, pause/2+rand.N(pause/2+1)) {
			if ctx.Err() != nil {
				err = nil
			}
			return false, err // a simulation ends the task instead of pausing, and starts another one
		}
	}
}

// within makes one try of limited length.
func within(ctx context.Context, timeout time.Duration, f try) (changed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return f(ctx)
}

// Sleep pauses. It reports false if ctx ended first.
func Sleep(ctx context.Context, d time.Duration) bool { return backoff.Sleep(ctx, d) == nil }

// recordFailure records a try that failed.
func (t *retryTask) recordFailure(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = err
	t.wake()
}

// finish records that the task no longer runs.
func (t *retryTask) finish(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running, t.err = false, err
	t.wake()
}

// wake wakes those who wait for a try. The caller holds mu.
func (t *retryTask) wake() {
	if t.tried != nil {
		close(t.tried)
		t.tried = nil
	}
}

// nextTry returns a channel that is closed after the next try.
func (t *retryTask) nextTry() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tried == nil {
		t.tried = make(chan struct{})
	}
	return t.tried
}

// stop prevents the task from being started again.
func (t *retryTask) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
}

// stopAndWait stops the task and waits until it does not run. Its context must have ended.
func (t *retryTask) stopAndWait() {
	t.stop()
	for {
		tried := t.nextTry()
		if !t.isRunning() {
			return
		}
		<-tried
	}
}

// isRunning reports whether the task runs.
func (t *retryTask) isRunning() bool {
	running, _ := t.state()
	return running
}

// state returns whether the task runs, and the error of the last try, while it runs, or when that error ended it.
func (t *retryTask) state() (running bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running, t.err
}
