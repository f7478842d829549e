package segment

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// opening is one try to open a Sequence, for whose result any number of callers can wait.
type opening struct {
	demand demand        // of the calls that wait for it
	last   error         // of the try before this one
	done   chan struct{} // closed when the fields below are set

	seq     *Sequence
	err     error
	since   time.Time // when the first try of the present series of failures failed
	tries   int       // how many have failed since then
	retryAt time.Time // no other try begins before
}

// The pauses after a try that has failed. The error of a tag that does not exist is returned for longestPause without
// asking the source again, so that a tag that is created is found within this time.
const (
	shortestPause = 10 * time.Millisecond
	longestPause  = 500 * time.Millisecond
)

// nextOpening returns the opening that follows after another one, which may be nil.
func nextOpening(previous *opening) *opening {
	o := &opening{done: make(chan struct{})}
	if previous != nil && previous.err != nil {
		o.last, o.since, o.tries = previous.err, previous.since, previous.tries
	}
	return o
}

// opened returns an opening that has succeeded.
func opened(s *Sequence) *opening {
	o := &opening{done: make(chan struct{}), seq: s}
	close(o.done)
	return o
}

// failed sets the fields that describe a failure, if o.err is not nil. The caller closes o.done.
func (o *opening) failed() {
	if o.err == nil {
		return
	}
	now := time.Now()
	if o.since.IsZero() {
		o.since = now
	}
	pause := withJitter(min(shortestPause<<min(o.tries, 10), longestPause*2/3))
	if hopelessTry(o.err) {
		pause = longestPause
	}
	o.tries++
	o.retryAt = now.Add(pause)
}

// finished reports whether the try is over.
func (o *opening) finished() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

// lastError returns the error of the last try that is over, which is nil if it succeeded. Then since is valid, too.
func (o *opening) lastError() error {
	if o.finished() {
		return o.err
	}
	return o.last
}

// rests reports whether the try has failed so lately that its error is returned instead of that of another try.
func (o *opening) rests() bool { return o.err != nil && time.Now().Before(o.retryAt) }

// await calls start until an opening succeeds, which it returns. It returns an error if an opening has failed in a
// way that waiting does not cure, an *EmptyError after maxWait or when ctx ends, and ErrClosed after b.close.
func (b *background) await(ctx context.Context, maxWait time.Duration, empty EmptyError, start func() (*opening, error)) (*opening, error) {
	caller := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, maxWait, fmt.Errorf("%w: within %v", errNotInTime, maxWait))
	defer cancel()
	for {
		o, err := start()
		if err != nil {
			return nil, err
		}
		var retry <-chan time.Time
		o.demand.add(1)
		select {
		case <-o.done:
		case <-b.ctx.Done():
		case <-ctx.Done():
		}
		o.demand.add(-1)
		if o.finished() {
			switch {
			case o.err == nil:
				return o, nil
			case b.ctx.Err() != nil:
				return nil, ErrClosed // which may be the reason why it has failed
			case hopelessTry(o.err):
				return nil, o.err
			}
			if empty.Since.IsZero() { // the entry of a tag may be replaced meanwhile, and its series begins again
				empty.Since = o.since
			}
			empty.Tries, empty.Cause = max(o.tries, empty.Tries+1), o.err
			retry = time.After(time.Until(o.retryAt))
		} else if empty.Cause == nil {
			empty.Since, empty.Tries, empty.Cause = o.demand.outage()
		}
		select {
		case <-retry:
		case <-b.ctx.Done():
			return nil, ErrClosed
		case <-ctx.Done():
			if empty.Wait = context.Cause(ctx); caller.Err() != nil {
				empty.Wait = ended(caller)
			}
			return nil, &empty
		}
	}
}

// background runs the goroutines of a Tags or a Daily, and ends them.
type background struct {
	ctx    context.Context // ends with close
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup
}

func newBackground() *background {
	b := new(background)
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// run runs f in a goroutine. It returns false if close was called.
func (b *background) run(f func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.wg.Go(f)
	return true
}

// close ends the context of the goroutines, and returns a channel that is closed when all of them have ended.
func (b *background) close() <-chan struct{} {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.cancel()
	done := make(chan struct{})
	go func() {
		b.wg.Wait()
		close(done)
	}()
	return done
}

// closeFinally closes a Sequence, and returns when no code of the source runs any more, however long that takes.
func (s *Sequence) closeFinally() {
	for s.Close() != nil {
		// Close has waited for closeTimeout.
	}
}
