package segment

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
)

// A Tags hands out the numbers of many tags of one source. It makes the Sequence of a tag at its first use, and drops
// it when it is idle. All methods are safe for concurrent use. NewTags returns one.
//
// Its tags share the source: WithMaxTakes limits their requests, and a source that does not answer is asked only by a
// few of them. The log has one record when a source begins to fail, at most one a minute, and one when it works
// again, with the number of failures. Failures of single tags, such as ErrSetBack, are at most one record per second,
// with the number of tags.
type Tags struct {
	source  Source
	cfg     tagsConfig
	tags    sync.Map     // the name of a tag: *tagEntry
	dropped atomic.Int64 // how many entries have received != nil
	work    *background
	queue   *takeQueue
	log     *tagsLog

	adding sync.Mutex   // held while an entry is added; entries are removed without it
	count  atomic.Int64 // how many entries there are

	failed failedTags
}

// tagEntry is one tag of a Tags.
type tagEntry struct {
	seq atomic.Pointer[Sequence] // nil if the tag is not open

	mu       sync.Mutex // for the fields below; no code of the user runs while it is held
	opening  *opening   // the last one, if it runs or has failed
	received []int64    // what was received of each member of the source, from before the tag was dropped
	used     uint64     // how many calls had used the tag when that was last checked
	removed  bool       // whether the entry was removed from Tags.tags
}

// ErrTooManyTags is the error for a tag beyond the limit of WithMaxTags.
var ErrTooManyTags = errors.New("segment: too many tags")

// errTagsNotMade is the error of methods of a Tags that NewTags has not made.
var errTagsNotMade = fmt.Errorf("%w: the Tags must be created by NewTags", ErrOption)

// NewTags returns a Tags. It does not use the source. Invalid arguments are errors that wrap ErrOption. The caller
// must call Close.
func NewTags(src Source, opts ...TagsOption) (*Tags, error) {
	cfg, err := newTagsConfig(opts)
	if err != nil {
		return nil, err
	}
	members, err := membersOf(src)
	if err != nil {
		return nil, err
	}
	if cfg.create != nil {
		if err := checkCreator(src, "WithCreate"); err != nil {
			return nil, err
		}
	}
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.name
	}
	t := &Tags{source: src, cfg: cfg, work: newBackground()}
	t.log = newTagsLog(cfg.logger, t.work)
	t.queue = newTakeQueue(names, cfg.maxTakes, cfg.tryTimeout, t.log)
	if cfg.idle > 0 {
		t.work.run(t.dropIdle)
	}
	return t, nil
}

// Next returns the next number of a tag. It is Sequence.Next; the first use of a tag waits in the same way until the
// source has returned as many ranges as WithCapacity says. If the source has no such tag, the error wraps ErrNoTag; a
// tag that is created later is found within a second.
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
	if e, ok := t.tags.Load(tag); ok {
		if s := e.(*tagEntry).seq.Load(); s != nil {
			return s, nil
		}
	}
	empty := EmptyError{Tag: tag, Source: t.source.String()}
	o, err := t.work.await(ctx, t.cfg.maxWait, empty, func() (*opening, error) {
		for {
			e, err := t.entry(tag)
			if err != nil {
				return nil, err
			}
			if o, err := t.startOpening(tag, e); err != errRemoved {
				return o, err
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return o.seq, nil
}

// entry returns the entry of a tag. It adds one if there is none.
func (t *Tags) entry(tag string) (*tagEntry, error) {
	if e, ok := t.tags.Load(tag); ok {
		return e.(*tagEntry), nil
	}
	if err := CheckTag(tag); err != nil {
		return nil, err
	}
	t.adding.Lock()
	defer t.adding.Unlock()
	if e, ok := t.tags.Load(tag); ok {
		return e.(*tagEntry), nil
	}
	if t.count.Load() >= int64(t.cfg.maxTags) && !t.removeDropped() {
		return nil, fmt.Errorf("%w: %d tags are in memory, and %q would be one more: see WithMaxTags and WithIdle", ErrTooManyTags, t.cfg.maxTags, tag)
	}
	t.count.Add(1)
	e := new(tagEntry)
	t.tags.Store(strings.Clone(tag), e) // a tag may be a part of a long text, which must not stay in memory
	return e, nil
}

// errRemoved is the error of startOpening for an entry that was removed meanwhile.
var errRemoved = errors.New("segment: the entry was removed")

// startOpening returns the result of opening a tag, which may still have to come.
func (t *Tags) startOpening(tag string, e *tagEntry) (*opening, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch s := e.seq.Load(); {
	case e.removed:
		return nil, errRemoved
	case s != nil:
		return opened(s), nil
	case e.opening != nil && (!e.opening.finished() || e.opening.rests()):
		return e.opening, nil
	}
	tag = strings.Clone(tag) // as for the entry
	o := nextOpening(e.opening)
	o.demand.queue, o.demand.tag = t.queue, tag
	if !t.work.run(func() { t.openTag(tag, e, o) }) {
		return nil, ErrClosed
	}
	e.opening = o
	return o, nil
}

// openTag opens a tag.
func (t *Tags) openTag(tag string, e *tagEntry, o *opening) {
	e.mu.Lock()
	received := e.received
	e.mu.Unlock()
	o.err = fmt.Errorf("%w: code of the source has ended the goroutine that opens tag %q", ErrSource, tag) // if it does
	defer func() {
		o.failed()
		e.mu.Lock()
		if o.err == nil {
			if received != nil {
				t.dropped.Add(-1)
			}
			e.opening, e.used, e.received = nil, 0, nil
			e.seq.Store(o.seq)
		}
		e.mu.Unlock()
		close(o.done)
		switch {
		case o.seq != nil && t.work.ctx.Err() != nil:
			o.seq.closeFinally() // Close may not have seen it, and waits for this goroutine
		case o.err != nil && received == nil:
			t.removeLater(tag, e)
		}
	}()
	o.seq, o.err = t.make(tag, received, o)
}

// make returns the Sequence of a tag, and creates the tag if it does not exist and WithCreate was used.
func (t *Tags) make(tag string, received []int64, o *opening) (*Sequence, error) {
	return newSequence(t.work.ctx, t.source, tag, t.cfg.config, func(p *provider) {
		for i, end := range received {
			p.sources[i].end.Store(end)
		}
		p.create = t.cfg.create
		p.queue, p.demand = t.queue, &o.demand
	})
}

// Stats returns an iterator over the tags that are in memory, with their Stats, in no order.
func (t *Tags) Stats() iter.Seq2[string, Stats] { return inMemory(t, (*Sequence).Stats) }

// Health returns an iterator over the tags that are in memory, with their Health, in no order.
func (t *Tags) Health() iter.Seq2[string, Health] { return inMemory(t, (*Sequence).Health) }

// inMemory returns an iterator over the tags that are in memory, with what of returns for each.
func inMemory[T any](t *Tags, of func(*Sequence) T) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		if t == nil || t.work == nil {
			return
		}
		t.tags.Range(func(tag, e any) bool {
			s := e.(*tagEntry).seq.Load()
			return s == nil || yield(tag.(string), of(s))
		})
	}
}
