package filestore

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/segment"
)

// A tagFile is the file with the tags of a Store.
type tagFile struct {
	pool    string // the path of New, which may be a symbolic link
	copyGap int64  // 0: a copy is refused

	machine func() string
	hook    lockedfile.Hook // for tests

	turn chan struct{} // has capacity 1: the goroutine that has filled it uses the file

	mu      sync.Mutex
	waiting []*tagCall // the calls that the next goroutine to use the file executes

	// The following fields belong to the goroutine that has the turn.
	data      []byte      // what the file contained when this tagFile used it last; nil if that is not known
	content   *tagContent // what data means
	contended bool        // whether another process was waiting for the lock lately
	cleaned   bool        // whether temporary files that a crash left behind were removed
}

// newTagFile returns the file beside that of a pool, whose path is absolute.
func newTagFile(pool string, copyGap int64) *tagFile {
	return &tagFile{pool: pool, copyGap: copyGap, machine: sync.OnceValue(lockedfile.MachineID), turn: make(chan struct{}, 1)}
}

// path returns the path of the file. All names of the file of the pool lead to the same tags.
func (f *tagFile) path() string {
	path := f.pool
	for range 40 { // as Linux does
		target, err := os.Readlink(path)
		if err != nil {
			break // it is no link
		}
		if !filepath.IsAbs(target) {
			directory, _ := filepath.Split(path)
			target = directory + target // not Join, because ".." behind a link is that of where it leads to
		}
		path = target
		directory, name := filepath.Split(target)
		if resolved, err := filepath.EvalSymlinks(directory); err == nil {
			path = filepath.Join(resolved, name)
		}
	}
	return path + TagsSuffix
}

// String describes the file in errors.
func (f *tagFile) String() string { return fmt.Sprintf("file %q", f.path()) }

// checkTags returns the error of an invalid option, or of a value that New has not made.
func (s *Store) checkTags() error {
	if s == nil || s.tags == nil {
		return fmt.Errorf("%w: filestore: the Store must be created by New", segment.ErrOption)
	}
	return s.cfg.tagErr
}

// Take implements segment.Source. If its context ends while the range is being written, the range may be a gap.
func (s *Store) Take(ctx context.Context, r segment.Request) (segment.Range, error) {
	if err := s.checkTags(); err != nil {
		return segment.Range{}, err
	}
	if err := r.Validate(); err != nil {
		return segment.Range{}, err
	}
	var got segment.Range // belongs to the call, which may be executed after Take has returned
	err := s.tags.do(ctx, &tagCall{done: make(chan struct{}), apply: func(c *tagContent) (err error) {
		got, err = c.take(r)
		return err
	}})
	if err != nil {
		return segment.Range{}, err
	}
	return got, nil
}

// CreateTag implements segment.Creator. Acknowledged writes of a file are not lost, so UnusedBefore has an effect only if
// there is no file: it may have been lost, and CreateTag returns an error that wraps segment.ErrNoTag, until somebody creates a
// tag without UnusedBefore, which says that the file is new; and after WithCopyGap.
func (s *Store) CreateTag(ctx context.Context, tag string, c segment.TagConfig) error {
	if err := s.checkTags(); err != nil {
		return err
	}
	if err := segment.CheckTag(tag); err != nil {
		return err
	}
	c, err := c.Validate()
	if err != nil {
		return err
	}
	return s.tags.do(ctx, &tagCall{done: make(chan struct{}), apply: func(content *tagContent) error {
		if content.tag(tag) != nil {
			return fmt.Errorf("%w: %q, in %s", segment.ErrTagExists, tag, s.tags)
		}
		if content.id == "" && !c.UnusedBefore.IsZero() && len(content.tags) == 0 {
			return fmt.Errorf("%w: %q: %s does not exist: it is new, or was lost; only if it is new, call CreateTag(ctx, %q, segment.TagConfig{}) of the source once, "+
				"which says that no number was handed out", segment.ErrNoTag, tag, s.tags, tag)
		}
		next := c.Start
		if !c.UnusedBefore.IsZero() && c.UnusedBefore.UnixMilli() <= content.copied {
			next += min(content.copyGap, math.MaxInt64-next)
		}
		return content.add(fileTag{name: tag, next: next, step: c.Step, description: c.Description})
	}})
}

// take takes a range of a tag.
func (c *tagContent) take(r segment.Request) (segment.Range, error) {
	t := c.tag(r.Tag)
	switch {
	case t == nil:
		return segment.Range{}, fmt.Errorf("%w: %q, in the file %q: create it with CreateTag, beyond its numbers if it existed", segment.ErrNoTag, r.Tag, c.path)
	case t.next < r.AtLeast:
		return segment.Range{}, &segment.SetBackError{Tag: r.Tag, Counter: t.next, AtLeast: r.AtLeast}
	case t.next > segment.MaxNumber:
		return segment.Range{}, fmt.Errorf("%w: tag %q has handed out all numbers up to %d", segment.ErrExhausted, r.Tag, int64(segment.MaxNumber))
	}
	got := segment.Range{First: t.next, Length: min(cmp.Or(r.Size, t.step), math.MaxInt64-t.next), Stride: 1, Step: t.step}
	t.next += got.Length
	return got, nil
}

// raiseAll moves the counters of all tags by a gap, at the present time.
func (c *tagContent) raiseAll(gap int64, now time.Time) {
	c.copied = max(c.copied, now.UnixMilli())
	c.copyGap += min(gap, math.MaxInt64-c.copyGap) // a tag may have been lost with each copy, and created again beyond the gaps so far
	for i := range c.tags {
		t := &c.tags[i]
		t.next += min(gap, math.MaxInt64-t.next)
	}
}
