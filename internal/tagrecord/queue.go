package tagrecord

import (
	"context"
	"sync"
	"time"

	"github.com/ringuid/ringuid/internal/backoff"
	"github.com/ringuid/ringuid/internal/random"
)

// Queue lets the calls of one tag in this process through one after the other, in the order in which they came, so
// that they do not compete for the tag's record. The calls of different tags do not wait for each other. The
// zero value is ready for use. It is safe for concurrent use.
type Queue struct {
	mu   sync.Mutex
	tags map[string]*turn // those with calls
}

// turn is the queue of one tag.
type turn struct {
	taken chan struct{} // holds a value while a call runs
	calls int           // how many calls run or wait; guarded by Queue.mu
}

// Enter waits for the tag's turn. The call must call leave at its end, once. If ctx ends before, Enter returns its
// cause.
func (q *Queue) Enter(ctx context.Context, tag string) (leave func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	q.mu.Lock()
	t := q.tags[tag]
	if t == nil {
		t = &turn{taken: make(chan struct{}, 1)}
		if q.tags == nil {
			q.tags = map[string]*turn{}
		}
		q.tags[tag] = t
	}
	t.calls++
	q.mu.Unlock()
	select {
	case t.taken <- struct{}{}: // goroutines that wait to send are served in their order
		return func() {
			<-t.taken
			q.remove(tag, t)
		}, nil
	case <-ctx.Done():
		q.remove(tag, t)
		return nil, context.Cause(ctx)
	}
}

// remove ends one call of a tag.
func (q *Queue) remove(tag string, t *turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.calls--; t.calls == 0 {
		delete(q.tags, tag)
	}
}

// The pauses after lost races.
const (
	firstPause = 4 * time.Millisecond
	maxPause   = 512 * time.Millisecond
)

// Pause waits after a call has lost the n-th race against another process, n at least 1: a random time, which is
// longer on average the more races were lost. If ctx ends before, it returns its cause.
func Pause(ctx context.Context, n int) error {
	longest := min(firstPause<<min(n-1, 10), maxPause)
	if backoff.Sleep(ctx, time.Duration(random.IntN(ctx, int(longest)))) != nil {
		return context.Cause(ctx)
	}
	return nil
}
