package segment

import (
	"sync"
	"time"

	"github.com/ringuid/ringuid/internal/backoff"
)

// failedTags has the entries of tags that could not be opened, the oldest failure first. They are removed after a
// pause, so that the names of tags that do not exist do not fill the memory.
type failedTags struct {
	mu       sync.Mutex
	queue    []failedTag
	removing bool // whether a goroutine works on the queue
}

type failedTag struct {
	tag   string
	entry *tagEntry
	at    time.Time // when to remove it
}

// removeLater removes the entry of a tag that could not be opened after a pause, if nobody has opened it by then.
func (t *Tags) removeLater(tag string, e *tagEntry) {
	f := &t.failed
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = append(f.queue, failedTag{tag, e, time.Now().Add(longestPause)})
	if !f.removing {
		f.removing = t.work.run(t.removeFailed)
	}
}

// removeFailed removes what is in the queue, until it is empty or Close is called.
func (t *Tags) removeFailed() {
	f := &t.failed
	for {
		f.mu.Lock()
		if len(f.queue) == 0 || t.work.ctx.Err() != nil {
			f.queue, f.removing = nil, false
			f.mu.Unlock()
			return
		}
		next := f.queue[0]
		f.queue[0] = failedTag{}
		f.queue = f.queue[1:]
		f.mu.Unlock()
		backoff.Sleep(t.work.ctx, time.Until(next.at))
		t.remove(next.tag, next.entry, false)
	}
}

// remove removes the entry of a tag that is not open and rests: one that was dropped, or one that was not. It returns
// false if the entry is another.
func (t *Tags) remove(tag string, e *tagEntry, dropped bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	o := e.opening
	if e.removed || e.seq.Load() != nil || o != nil && (!o.finished() || o.rests()) || (e.received != nil) != dropped {
		return false
	}
	e.removed = true
	t.tags.Delete(tag)
	t.count.Add(-1)
	if dropped {
		t.dropped.Add(-1)
	}
	return true
}

// removeDropped removes the entry of one tag that was dropped, to make room. It returns false if there is none.
func (t *Tags) removeDropped() (removed bool) {
	if t.dropped.Load() == 0 {
		return false
	}
	t.tags.Range(func(tag, e any) bool {
		removed = t.remove(tag.(string), e.(*tagEntry), true)
		return !removed
	})
	return removed
}
