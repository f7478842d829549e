package segment

import (
	"context"
	"sync"
)

// opening is the result of opening a Sequence, for which any number of callers can wait.
type opening struct {
	done chan struct{}
	seq  *Sequence
	err  error
}

// wait waits for the result, for as long as ctx and closed allow.
func (o *opening) wait(ctx context.Context, closed <-chan struct{}) (*Sequence, error) {
	select {
	case <-o.done:
		return o.seq, o.err
	case <-closed:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
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
