package segment

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"
)

// A Tags hands out the numbers of many tags of one source. It makes the Sequence of a tag at its first use, and drops it when
// it is idle. All methods are safe for concurrent use. NewTags returns one.
type Tags struct {
	source Source
	cfg    tagsConfig
	tags   sync.Map // the name of a tag: *tagEntry
	open   atomic.Int64
	work   *background
}

// tagEntry is one tag of a Tags.
type tagEntry struct {
	seq atomic.Pointer[Sequence] // nil if the tag is not open

	mu       sync.Mutex // for the fields below; no code of the user runs while it is held
	opening  *opening   // nil if nobody opens the tag
	err      error      // of the last try to open it; valid until retryAt
	retryAt  time.Time
	received []int64 // what was received of each member of the source, from before the tag was dropped
	taken    uint64  // Stats.Taken when the tag was last checked for use
	removed  bool    // whether the entry was removed from Tags.tags
}

// ErrTooManyTags is the error for a tag beyond the limit of WithMaxTags.
var ErrTooManyTags = errors.New("segment: too many tags")

// errTagsNotMade is the error of methods of a Tags that NewTags has not made.
var errTagsNotMade = fmt.Errorf("%w: the Tags must be created by NewTags", ErrOption)

// unknownPause is how long the error of a tag that could not be opened is returned without asking the source again. So a tag
// that is created is found within this time.
const unknownPause = 500 * time.Millisecond

// NewTags returns a Tags. It does not use the source. Invalid arguments are errors that wrap ErrOption. The caller must call
// Close.
func NewTags(src Source, opts ...TagsOption) (*Tags, error) {
	cfg, err := newTagsConfig(opts)
	if err != nil {
		return nil, err
	}
	if _, err := membersOf(src); err != nil {
		return nil, err
	}
	if _, ok := src.(Creator); cfg.create != nil && !ok {
		return nil, fmt.Errorf("%w: the source cannot create tags, which WithCreate requires", ErrOption)
	}
	t := &Tags{source: src, cfg: cfg, work: newBackground()}
	if cfg.idle > 0 {
		t.work.run(t.dropIdle)
	}
	return t, nil
}

// Next returns the next number of a tag. It is Sequence.Next; the first use of a tag also waits until the source has
// returned a range. If the source has no such tag, the error wraps ErrNoTag; a tag that is created later is found
// within a second.
func (t *Tags) Next(tag string) (int64, error) {
	if t != nil {
		if e, ok := t.tags.Load(tag); ok {
			if s := e.(*tagEntry).seq.Load(); s != nil {
				if v, ok := s.ring.TryTake(); ok {
					return s.enc.decode(v), nil
				}
			}
		}
	}
	return t.NextContext(context.Background(), tag)
}

// NextContext is like Next, but waits no longer than until ctx ends.
func (t *Tags) NextContext(ctx context.Context, tag string) (int64, error) {
	r, err := t.Claim(ctx, tag, 1)
	return r.First, err
}

// NextN fills dst with numbers of a tag. It is Sequence.NextN.
func (t *Tags) NextN(tag string, dst []int64) (int, error) {
	return t.NextNContext(context.Background(), tag, dst)
}

// NextNContext is like NextN, but waits no longer than until ctx ends.
func (t *Tags) NextNContext(ctx context.Context, tag string, dst []int64) (int, error) {
	return fill(dst, func(n int64) (Range, error) { return t.Claim(ctx, tag, n) })
}

// Claim takes up to n numbers of a tag. It is Sequence.Claim.
func (t *Tags) Claim(ctx context.Context, tag string, n int64) (Range, error) {
	for {
		s, err := t.sequence(ctx, tag)
		if err != nil {
			return Range{}, err
		}
		r, err := s.Claim(ctx, n)
		if err != nil && s.closed.Load() && t.work.ctx.Err() == nil {
			continue // the tag was dropped meanwhile
		}
		return r, err
	}
}

// sequence returns the Sequence of a tag. It opens the tag if it is not open.
func (t *Tags) sequence(ctx context.Context, tag string) (*Sequence, error) {
	if t == nil || t.work == nil {
		return nil, errTagsNotMade
	}
	if t.work.ctx.Err() != nil {
		return nil, ErrClosed
	}
	loaded, ok := t.tags.Load(tag)
	if !ok {
		if err := CheckTag(tag); err != nil {
			return nil, err
		}
		if t.open.Add(1) > int64(t.cfg.maxTags) {
			t.open.Add(-1)
			return nil, fmt.Errorf("%w: %d tags are in memory, and %q would be one more: see WithMaxTags and WithIdle", ErrTooManyTags, t.cfg.maxTags, tag)
		}
		if loaded, ok = t.tags.LoadOrStore(tag, new(tagEntry)); ok {
			t.open.Add(-1)
		}
	}
	e := loaded.(*tagEntry)
	if s := e.seq.Load(); s != nil {
		return s, nil
	}
	o, err := t.startOpening(tag, e)
	if err == errRemoved {
		return t.sequence(ctx, tag)
	}
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeoutCause(ctx, t.cfg.maxWait, fmt.Errorf("%w: within %v", errNotInTime, t.cfg.maxWait))
	defer cancel()
	s, err := o.wait(waiting, t.work.ctx.Done())
	if err != nil && waiting.Err() != nil && errors.Is(err, context.Cause(waiting)) {
		err = &EmptyError{Tag: tag, Source: t.describe(), Wait: err}
	}
	return s, err
}

// describe returns the description of the source.
func (t *Tags) describe() string {
	name, err := describe(t.source)
	if err != nil {
		return "the source"
	}
	return name
}

// errRemoved is the error of startOpening for an entry that was removed meanwhile.
var errRemoved = errors.New("segment: the entry was removed")

// startOpening returns the result of opening a tag, which may still have to come.
func (t *Tags) startOpening(tag string, e *tagEntry) (*opening, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.removed:
		return nil, errRemoved
	case e.seq.Load() != nil:
		o := &opening{done: make(chan struct{}), seq: e.seq.Load()}
		close(o.done)
		return o, nil
	case e.opening != nil:
		return e.opening, nil
	case e.err != nil && time.Now().Before(e.retryAt):
		return nil, e.err
	}
	o := &opening{done: make(chan struct{})}
	if !t.work.run(func() { t.openTag(tag, e, o) }) {
		return nil, ErrClosed
	}
	e.opening = o
	return o, nil
}

// openTag opens a tag.
func (t *Tags) openTag(tag string, e *tagEntry, o *opening) {
	finished := false
	defer func() {
		if !finished {
			o.err = fmt.Errorf("%w: code of the source has ended the goroutine that opens tag %q", ErrSource, tag)
		}
		e.mu.Lock()
		e.opening, e.err = nil, o.err
		if o.err != nil {
			e.retryAt = time.Now().Add(unknownPause)
		} else {
			e.seq.Store(o.seq)
			e.taken = 0
		}
		e.mu.Unlock()
		close(o.done)
		switch {
		case o.seq != nil && t.work.ctx.Err() != nil:
			o.seq.Close() // Close may not have seen it
		case errors.Is(o.err, ErrNoTag):
			t.removeLater(tag, e)
		}
	}()
	e.mu.Lock()
	received := e.received
	e.mu.Unlock()
	o.seq, o.err = t.make(tag, received)
	finished = true
}

// make returns the Sequence of a tag, and creates the tag if it does not exist and WithCreate was used.
func (t *Tags) make(tag string, received []int64) (*Sequence, error) {
	remember := func(p *provider) {
		for i, end := range received {
			p.sources[i].end.Store(end)
		}
	}
	s, err := newSequence(t.work.ctx, t.source, tag, t.cfg.config, remember)
	if err == nil || t.cfg.create == nil || received != nil || !errors.Is(err, ErrNoTag) {
		return s, err
	}
	if err := createTag(t.work.ctx, t.source.(Creator), tag, *t.cfg.create, t.cfg.tryTimeout); err != nil && !errors.Is(err, ErrTagExists) {
		return nil, err
	}
	return newSequence(t.work.ctx, t.source, tag, t.cfg.config, remember)
}

// removeLater removes a tag that does not exist, so that unknown names do not fill the memory.
func (t *Tags) removeLater(tag string, e *tagEntry) {
	timer := time.NewTimer(unknownPause)
	defer timer.Stop()
	select {
	case <-timer.C:
		t.remove(tag, e, func() bool { return e.received == nil })
	case <-t.work.ctx.Done():
	}
}

// remove removes the entry of a tag that is not open, if condition returns true.
func (t *Tags) remove(tag string, e *tagEntry, condition func() bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.removed && e.opening == nil && e.seq.Load() == nil && condition() {
		e.removed = true
		t.tags.Delete(tag)
		t.open.Add(-1)
	}
}

// Stats returns an iterator over the statistics of the tags that are in memory, in no order.
func (t *Tags) Stats() iter.Seq[Stats] {
	return func(yield func(Stats) bool) {
		if t == nil || t.work == nil {
			return
		}
		t.tags.Range(func(_, e any) bool {
			s := e.(*tagEntry).seq.Load()
			return s == nil || yield(s.Stats())
		})
	}
}

// Health returns an iterator over the tags that are in memory, with their Health, in no order.
func (t *Tags) Health() iter.Seq2[string, Health] {
	return func(yield func(string, Health) bool) {
		if t == nil || t.work == nil {
			return
		}
		t.tags.Range(func(tag, e any) bool {
			s := e.(*tagEntry).seq.Load()
			return s == nil || yield(tag.(string), s.Health())
		})
	}
}
