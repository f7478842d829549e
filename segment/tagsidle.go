package segment

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// dropIdle drops the tags that are not used, until Close.
func (t *Tags) dropIdle() {
	ticker := time.NewTicker(t.cfg.idle)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-t.work.ctx.Done():
			return
		}
		t.tags.Range(func(_, e any) bool {
			t.dropIfIdle(e.(*tagEntry))
			return t.work.ctx.Err() == nil
		})
	}
}

// dropIfIdle closes the Sequence of a tag that was not used since the last call. What was received is remembered, so
// that a counter that is set back meanwhile is refused, until the memory is needed for other tags.
func (t *Tags) dropIfIdle(e *tagEntry) {
	s := e.seq.Load()
	if s == nil {
		return
	}
	stats := s.Stats()
	used := stats.Issued + stats.RejectedTakes // calls that fail keep the tag, and so its Health, in memory
	waits := s.provider.demand.waits()
	e.mu.Lock()
	if waits || used != e.used {
		e.used = used
		e.mu.Unlock()
		return
	}
	e.seq.Store(nil)
	e.received = s.provider.received()
	t.dropped.Add(1)
	e.mu.Unlock()
	if s.Close() != nil && !t.work.run(s.closeFinally) {
		s.closeFinally() // Close of the Tags does not see the Sequence, and waits for this goroutine
	}
	e.mu.Lock()
	if e.received != nil { // nobody has opened the tag again
		e.received = s.provider.received() // also of a range that arrived meanwhile
	}
	e.mu.Unlock()
}

// received returns the end of what was received from each member.
func (p *provider) received() []int64 {
	ends := make([]int64, len(p.sources))
	for i, m := range p.sources {
		ends[i] = m.end.Load()
	}
	return ends
}

// Close ends the Tags: calls return ErrClosed, waiting calls return, and no goroutine runs on, unless the error wraps
// ErrBusy because the source or a policy still runs after 5 seconds. The numbers in memory are lost. It may be
// called more than once. Close of a nil Tags does nothing.
func (t *Tags) Close() error {
	if t == nil || t.work == nil {
		return nil
	}
	ended := t.work.close()
	t.queue.close()
	defer t.log.close()
	var busy atomic.Pointer[error]
	var wg sync.WaitGroup
	// A tag that becomes open after this loop was closed by openTag before ended is.
	places := make(chan struct{}, 64) // for so many at a time, unless they wait for the source
	limited := true
	t.tags.Range(func(_, e any) bool {
		s := e.(*tagEntry).seq.Load()
		if s == nil {
			return true
		}
		if limited {
			select {
			case places <- struct{}{}:
			case <-time.After(time.Second):
				limited = false
			}
		}
		wg.Go(func() {
			if err := s.Close(); err != nil {
				busy.Store(&err)
			}
			select {
			case <-places:
			default:
			}
		})
		return true
	})
	wg.Wait()
	select {
	case <-ended:
	case <-time.After(closeTimeout):
		return fmt.Errorf("%w: the source, in a call for a tag that was being opened or dropped", ErrBusy)
	}
	if err := busy.Load(); err != nil {
		return *err
	}
	return nil
}
