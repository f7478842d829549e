package segment

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"time"

	"github.com/ringuid/ringuid/internal/lockedfile"
)

// File is a Source in a file, for all processes of one host. No server is required. It is safe for concurrent
// use, also if several Files have the same path. Create one with NewFile; the methods of the zero value return an
// error that wraps ErrOption.
//
// Durability: each Take writes the whole file to a new one, syncs that to disk and renames it, so an acknowledged
// Take is lost only if the disk loses data that was flushed to it. The Takes of several goroutines at
// the same time share one write. The cost of a write grows with the number of tags: with 10,000 tags, it is a few
// times that with one. A Take blocks while another process has the file, until its context ends; it does not
// end during a write.
//
// File creates a lock file next to the file, with the same name and the suffix ".lock". It stays there. A crash may leave a
// temporary file behind, with the same name, ".tmp-ringuid" and a number. The next File removes it. The following rules
// apply to the file and the lock file:
//
//   - Keep them on persistent storage, not in a temporary directory or in a container's own file system. If both
//     files are lost, the tags are lost too: if they are created again, a number can be handed out twice.
//   - Do not put them on a network file system that other hosts write to.
//   - Run all processes as the same user, because only the owner may access the files.
//
// The file records its inode number and, on Linux, its time of creation, and the machine ID of the operating system
// where that is known. If it or its lock file is a copy, for example of a backup, which may be older than the
// original, or comes from another machine, if it is missing although its lock file shows that it existed, or if its
// content is not what File wrote, all methods return an error that wraps ErrSource, and change nothing. So they do if
// a file has several names (hard links). See WithCopyGap for a copy that is used on purpose. File does not notice
// that a whole machine or file system was set back to a snapshot; but those who remember later ranges do, by
// Request.AtLeast.
//
// On systems without the file locks that this package supports (plan9, js, wasip1, aix, solaris), all methods
// return an error.
type File struct {
	path string
	err  error // of NewFile: an invalid argument
	cfg  fileConfig

	machine func() string
	hook    lockedfile.Hook // for tests

	turn chan struct{} // has capacity 1: the goroutine that has filled it uses the file

	mu      sync.Mutex
	waiting []*fileCall // the calls that the next goroutine to use the file executes

	// The following fields belong to the goroutine that has the turn.
	data      []byte       // what the file contained when this File used it last; nil if that is not known
	content   *fileContent // what data means
	contended bool         // whether another process was waiting for the lock lately
	cleaned   bool         // whether temporary files that a crash left behind were removed
}

var _ Creator = (*File)(nil)

type fileConfig struct {
	copyGap int64 // 0: a copy is refused
}

// A FileOption configures a File. If its value is invalid, all methods return an error that wraps ErrOption.
type FileOption func(*File)

// WithCopyGap accepts a file that is a copy or comes from another machine: all tags continue n numbers beyond their
// counters, and from then on the file is no copy. n must be 1 to math.MaxInt64, and greater than what was handed out
// of any tag after the copy was made. Nobody may use the original any longer. Use it for one start only, because it
// accepts any later copy too. A tag that CreateTag creates afterwards, with an UnusedBefore before that time, begins
// n numbers beyond its Start, because it may have been created after the copy was made.
func WithCopyGap(n int64) FileOption {
	return func(f *File) {
		if n < 1 {
			f.setError("the gap after a copy is %d; must be at least 1", n)
		}
		f.cfg.copyGap = n
	}
}

// NewFile returns a source that keeps its tags in the file at path. The first CreateTag creates the file. Its
// directory must exist. NewFile does not access the file system. Invalid arguments are reported by the methods. A
// relative path refers to the working directory at the time of NewFile.
func NewFile(path string, opts ...FileOption) *File {
	f := &File{machine: sync.OnceValue(lockedfile.MachineID), turn: make(chan struct{}, 1)}
	for _, o := range opts {
		if o == nil {
			f.setError("an option of the file is nil; must not be nil")
			continue
		}
		o(f)
	}
	if path == "" {
		f.setError("the path of the file is empty; must not be empty")
		return f
	}
	abs, err := filepath.Abs(path) // so that a later change of the working directory has no effect
	if err != nil {
		f.setError("the path of the file, %q: %v", path, err)
		abs = path
	}
	f.path = abs
	return f
}

// setError sets the error of NewFile, unless there is one.
func (f *File) setError(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf("%w: "+format, append([]any{ErrOption}, args...)...)
	}
}

// check returns an error if f was not made by NewFile, or with invalid arguments.
func (f *File) check() error {
	if f == nil || f.turn == nil {
		return fmt.Errorf("%w: the File must be created by NewFile", ErrOption)
	}
	return f.err
}

// String implements Source.
func (f *File) String() string {
	if f == nil || f.path == "" {
		return "invalid file"
	}
	return fmt.Sprintf("file %q", f.path)
}

// Take implements Source. If its context ends while the range is being written, the range may be a gap.
func (f *File) Take(ctx context.Context, r Request) (Range, error) {
	if err := f.check(); err != nil {
		return Range{}, err
	}
	if err := r.Validate(); err != nil {
		return Range{}, err
	}
	var got Range // belongs to the call, which may be executed after Take has returned
	err := f.do(ctx, &fileCall{done: make(chan struct{}), apply: func(c *fileContent) (changed bool, err error) {
		got, err = c.take(r)
		return err == nil, err
	}})
	if err != nil {
		return Range{}, err
	}
	return got, nil
}

// CreateTag implements Creator. Acknowledged writes of a file are not lost, so UnusedBefore has an effect only if
// there is no file: it may have been lost, and CreateTag returns an error that wraps ErrNoTag, until somebody creates a
// tag without UnusedBefore, which says that the file is new; and after WithCopyGap.
func (f *File) CreateTag(ctx context.Context, tag string, c TagConfig) error {
	if err := f.check(); err != nil {
		return err
	}
	if err := CheckTag(tag); err != nil {
		return err
	}
	c, err := c.Validate()
	if err != nil {
		return err
	}
	return f.do(ctx, &fileCall{done: make(chan struct{}), apply: func(content *fileContent) (changed bool, err error) {
		if content.tag(tag) != nil {
			return false, fmt.Errorf("%w: %q, in %s", ErrTagExists, tag, f)
		}
		if content.id == "" && !c.UnusedBefore.IsZero() && len(content.tags) == 0 {
			return false, fmt.Errorf("%w: %q: %s does not exist: it is new, or was lost; only if it is new, call CreateTag(ctx, %q, segment.TagConfig{}) of the source once, "+
				"which says that no number was handed out", ErrNoTag, tag, f, tag)
		}
		next := c.Start
		if !c.UnusedBefore.IsZero() && c.UnusedBefore.UnixMilli() <= content.copied {
			next += min(content.copyGap, math.MaxInt64-next)
		}
		return true, content.add(fileTag{name: tag, next: next, step: c.Step, description: c.Description})
	}})
}

// RaiseTag raises a tag's counter, so that the next number is at least next, 1 to math.MaxInt64; the latter
// means that there are no more numbers. It is for operators, for example after a *SetBackError. It never lowers a
// counter. Errors wrap ErrTag, ErrOption, ErrNoTag or ErrSource, or are those of the operating system.
func (f *File) RaiseTag(ctx context.Context, tag string, next int64) error {
	if err := f.check(); err != nil {
		return err
	}
	if err := CheckTag(tag); err != nil {
		return err
	}
	if next < 1 {
		return fmt.Errorf("%w: the next number of a tag is %d; must be at least 1", ErrOption, next)
	}
	return f.do(ctx, &fileCall{done: make(chan struct{}), apply: func(content *fileContent) (changed bool, err error) {
		t := content.tag(tag)
		if t == nil {
			return false, fmt.Errorf("%w: %q, in %s", ErrNoTag, tag, f)
		}
		changed = next > t.next
		t.next = max(t.next, next)
		return changed, nil
	}})
}

// take takes a range of a tag.
func (c *fileContent) take(r Request) (Range, error) {
	t := c.tag(r.Tag)
	switch {
	case t == nil:
		return Range{}, fmt.Errorf("%w: %q, in the file %q: create it first", ErrNoTag, r.Tag, c.path)
	case t.next < r.AtLeast:
		return Range{}, &SetBackError{Tag: r.Tag, Counter: t.next, AtLeast: r.AtLeast}
	case t.next > MaxNumber:
		return Range{}, fmt.Errorf("%w: tag %q has handed out all numbers up to %d", ErrExhausted, r.Tag, int64(MaxNumber))
	}
	size := r.Size
	if size == 0 {
		size = t.step
	}
	got := Range{First: t.next, Length: min(size, math.MaxInt64-t.next), Stride: 1, Step: t.step}
	t.next += got.Length
	return got, nil
}

// raiseAll moves the counters of all tags by a gap, at the present time.
func (c *fileContent) raiseAll(gap int64, now time.Time) {
	c.copied, c.copyGap = max(c.copied, now.UnixMilli()), max(c.copyGap, gap)
	for i := range c.tags {
		t := &c.tags[i]
		t.next += min(gap, math.MaxInt64-t.next)
	}
}
