package filestore

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ringuid/ringuid/internal/backoff"
	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/options"
	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/internal/workerfile"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// An Option configures a Store. If its value is invalid, Read and Write return an error that wraps workerassign.ErrOption, and Take
// and CreateTag one that wraps segment.ErrOption.
type Option interface{ apply(*config) }

type option func(*config)

func (o option) apply(c *config) { o(c) }

type config struct {
	timeout     time.Duration
	logger      *slog.Logger
	copyGap     int64 // of WithCopyGap; 0: a copy of the tags is refused
	err, tagErr error // the error of the first invalid option, for pools and for tags
}

// setError records the error of an invalid option, unless there is one already.
func (c *config) setError(format string, args ...any) {
	options.SetError(&c.err, workerassign.ErrOption, "filestore: "+format, args...)
	options.SetError(&c.tagErr, segment.ErrOption, "filestore: "+format, args...)
}

// WithTimeout bounds a Read or a Write whose context has no deadline. It must be greater than 0. The default is workerassign.DefaultTimeout.
func WithTimeout(d time.Duration) Option {
	return option(func(c *config) { options.SetTimeout(&c.timeout, d, c.setError) })
}

// WithLogger sets the logger. The default is slog.Default().
func WithLogger(l *slog.Logger) Option {
	return option(func(c *config) { options.SetLogger(&c.logger, l, c.setError) })
}

// WithCopyGap accepts a file that is a copy or comes from another machine: all tags continue n numbers beyond their
// counters, and from then on the file is no copy. n must be 1 to math.MaxInt64, and greater than what was handed out
// of any tag after the copy was made. Nobody may use the original any longer. Use it for one start only, because it
// accepts any later copy too, and only while the host's clock is right. A tag that CreateTag creates afterwards, with an
// UnusedBefore before that time, begins n numbers beyond its Start, because it may have been created after the copy
// was made; after several copies, the sum.
func WithCopyGap(n int64) Option {
	return option(func(c *config) {
		options.Set(&c.copyGap, n, n >= 1, c.setError, "the gap after a copy is %d; must be at least 1", n)
	})
}

// A Store is a recycled.Store in a file, and a segment.Source and segment.Creator in another one. New returns one. It is safe for
// concurrent use, also if several Stores have the same path.
type Store struct {
	file *workerfile.File // for its path, its lock, and the steps of replacing it
	tags *tagFile
	cfg  config
	now  func() time.Time

	last atomic.Pointer[decodedSlotFile] // so that content which has not changed is not decoded again
}

var (
	_ recycled.Store  = (*Store)(nil)
	_ segment.Creator = (*Store)(nil)
)

// decodedSlotFile is the content of a slot file. It does not change.
type decodedSlotFile struct {
	data    []byte
	content *slotFileContent
}

// TagsSuffix is what the path of the file of tags has more than that of New.
const TagsSuffix = ".tags"

// New returns a store that keeps the slots of a pool in the file at path, and tags of package segment in the file path + TagsSuffix. Any
// number of processes on one host can use it, and no server is required. The first call of Read or Write creates
// the file of the pool, and the first call of CreateTag that of the tags. Their directory must exist. New does not access the file system. Invalid arguments
// are reported by the store's methods. A relative path refers to the working directory at the time of
// New. A symbolic link leads to the same two files.
//
// Durability: each Write writes the whole file to a new one, syncs that to disk and renames it. So an
// acknowledged write is lost only if the disk loses data that was flushed to it, and recycled.State.NoLoss is
// true. The cost of a Write grows with the number of slots. The file consists of lines of text, which
// an operator can read: which process has which worker ID, and until when.
//
// Clock: the host's, and recycled.State.HostClock is true.
//
// History: a random text that is written when the file is created. Each content of the file records the
// identity (the inode number and, on Linux, the time of creation) of itself and of its lock file. If
// these have another identity, they were copied, or restored from a backup. Then the store gets another
// history, so that the pool gets a floor (see recycled.Pool), and all leases are lost. Without a time of
// creation (another system, Linux before 4.11, ext4 with inodes of 128 bytes), a copy may have the
// identity of its original: then call Assigner.RaiseFloor after a restore.
//
// A file that is missing although it existed, or whose content is not what a store wrote, is an error
// that wraps ErrCorrupt and ErrPermanent. The store does not detect the following, which can lead to
// duplicate UIDs:
//
//   - The file and its lock file (the same name with the suffix ".lock") disappear together: they were
//     deleted, or were in a temporary directory or in a container's own file system, which ends with the
//     container. The next pool starts at the first worker ID and the present. That is safe only if no
//     process still generates UIDs with the old one, and if the clock has passed all UIDs: wait for the
//     borrow limit of the generators.
//   - The whole machine, or the whole file system, is set back to a snapshot. Before services start
//     again, call Assigner.RaiseFloor. A machine that was cloned must get a new file, and a Prefix of its
//     own if both belong to one fleet.
//   - Several hosts use the file over a network file system. Each host requires a file of its own, and a
//     Prefix of its own if their UIDs must be distinct.
//
// # Tags
//
// Durability is the same: a Take is lost only if the disk loses data that was flushed to it. The Takes of several goroutines at the same
// time share one write. The cost of a write grows with the number of tags: with 10,000 tags, it is a few times that with one. A Take
// blocks while another process has the file, until its context ends; it does not end during a write. A crash may leave a temporary
// file behind, with the same name, ".tmp-ringuid" and a number. The next Store removes it.
//
// The file records its identity, as that of the pool does, and the machine ID of the operating system where that is known. If it or its lock
// file is a copy, for example of a backup, which may be older than the original, or comes from another machine, if it is missing although
// its lock file shows that it existed, or if its content is not what a Store wrote, Take and CreateTag return an error that
// wraps segment.ErrSource, and change nothing. So they do if a file has several names (hard links). See WithCopyGap for a copy that is used
// on purpose. If both files are lost, the tags are lost too: if they are created again, a number can be handed out twice. That a whole
// machine or file system was set back to a snapshot is noticed only by those who remember later ranges, by segment.Request.AtLeast. So it
// is with a copy where files have no time of creation (see History).
//
// # All files
//
// All processes must run as the same user, because only the owner may access the files. On systems
// without the file locks that this package supports (see workerassign.File), the store's methods return an error.
func New(path string, opts ...Option) *Store {
	s := &Store{cfg: config{timeout: workerassign.DefaultTimeout}, now: time.Now}
	options.Apply(opts, func(o Option) { o.apply(&s.cfg) }, s.cfg.setError)
	var err error
	if s.file, err = workerfile.New(path, workerfile.SlotsHeader); err != nil {
		s.cfg.setError("%v", err)
	}
	s.tags = newTagFile(s.file.Path, s.cfg.copyGap)
	return s
}

// String implements recycled.Store and segment.Source.
func (s *Store) String() string {
	if s == nil || s.file == nil {
		return "invalid file"
	}
	return "file " + s.file.Path
}

// Read implements recycled.Store. It blocks while another process or goroutine holds the lock of the file.
func (s *Store) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	var state recycled.State
	err := s.withLock(ctx, func(file *lockedfile.File, log *safelog.Queue) error {
		content, err := s.load(file, log)
		if err != nil {
			return err
		}
		// A process that ended in the middle of a write may have left a file whose name is not on disk
		// yet. Package recycled relies on what it reads after an ambiguous write.
		if err := lockedfile.SyncDirectory(filepath.Dir(file.Path)); err != nil {
			return s.file.Wrap(err)
		}
		state = recycled.State{Pool: content.pool, Now: s.now().Round(0), HostClock: true, History: content.history, NoLoss: true}
		state.Slots = content.find(q, state.Now)
		return nil
	})
	return state, err
}

// Write implements recycled.Store. It blocks like Read.
func (s *Store) Write(ctx context.Context, w recycled.Write) (written bool, err error) {
	err = s.withLock(ctx, func(file *lockedfile.File, log *safelog.Queue) error {
		content, err := s.load(file, log)
		if err != nil {
			return err
		}
		next, ok := content.apply(w)
		if !ok {
			return nil
		}
		err = s.write(file, next)
		written = err == nil
		return err
	})
	return written, err
}

// withLock locks the file and calls f with it, and with a log that is written after the release of the lock.
func (s *Store) withLock(ctx context.Context, f func(file *lockedfile.File, log *safelog.Queue) error) error {
	if s == nil || s.file == nil {
		return fmt.Errorf("%w: filestore: the Store must be created by New", workerassign.ErrOption)
	}
	if s.cfg.err != nil {
		return s.cfg.err
	}
	ctx, cancel := backoff.WithTimeout(ctx, s.cfg.timeout)
	defer cancel()
	log := safelog.NewQueue(s.cfg.logger)
	defer log.Flush(safelog.FlushTimeout)
	file, err := s.file.Open(ctx, log)
	if err != nil {
		if wait := (*lockedfile.WaitError)(nil); errors.As(err, &wait) {
			err = &workerassign.RetryError{Operation: "waiting for the lock " + wait.Path, Attempts: wait.Attempts, Elapsed: wait.Elapsed, Cause: wait.Cause, LastErr: wait.LastErr}
		}
		return markPermanent(err)
	}
	defer file.Close()
	return markPermanent(f(file, log))
}

// load returns the content of the file. It creates the file if there was never one, and gives it another
// history if it is a copy. The caller must hold the lock.
func (s *Store) load(file *lockedfile.File, log *safelog.Queue) (*slotFileContent, error) {
	data, id, err := file.Read()
	switch {
	case errors.Is(err, lockedfile.ErrMissing):
		return nil, fmt.Errorf("%w: %s is missing, but its lock file shows that it existed: restore its latest content; or end all processes that "+
			"use it, delete the lock file too, and wait until the clock has passed all UIDs", workerassign.ErrCorrupt, s.file.Path)
	case errors.Is(err, fs.ErrNotExist):
		content := &slotFileContent{history: rand.Text()}
		return content, s.write(file, content)
	case err != nil:
		return nil, s.file.Wrap(err)
	}
	content, err := s.decode(data)
	if other := s.file.Other(data); err != nil && other != nil {
		return nil, fmt.Errorf("%w: %s: %w", workerassign.ErrCorrupt, s.file.Path, other)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w: restore its latest content; or end all processes that use it, delete it and its lock file, "+
			"and wait until the clock has passed all UIDs", workerassign.ErrCorrupt, s.file.Path, err)
	}
	if content.fileID != id || content.lockID != file.LockID {
		log.Log(slog.LevelWarn, "filestore: a slot file, or its lock file, is a copy; it gets another history", "file", s.file.Path)
		renewed := *content
		renewed.history = rand.Text()
		return &renewed, s.write(file, &renewed)
	}
	if err := file.Mark(workerfile.LockMarker); err != nil { // the process that wrote the file has ended before it did
		return nil, s.file.Wrap(err)
	}
	return content, nil
}

// write replaces the file, and returns when the new one is on disk.
func (s *Store) write(file *lockedfile.File, c *slotFileContent) error {
	c.lockID = file.LockID
	var data []byte
	err := file.Write(workerfile.LockMarker, func(id string) []byte {
		c.fileID = id
		data = c.encode()
		return data
	})
	if err != nil {
		return s.file.Wrap(err)
	}
	s.last.Store(&decodedSlotFile{data, c})
	return nil
}

// decode returns the content of the file whose bytes are data.
func (s *Store) decode(data []byte) (*slotFileContent, error) {
	if last := s.last.Load(); last != nil && bytes.Equal(last.data, data) {
		return last.content, nil
	}
	content, err := decodeSlotFile(data)
	if err == nil {
		s.last.Store(&decodedSlotFile{data, content})
	}
	return content, err
}

// permanentFileError is an error of a file that another try does not fix. It matches ErrPermanent.
type permanentFileError struct{ err error }

// Error implements error.
func (e permanentFileError) Error() string { return e.err.Error() }

// Is reports whether target is ErrPermanent.
func (e permanentFileError) Is(target error) bool { return target == workerassign.ErrPermanent }

// Unwrap returns the error of the file.
func (e permanentFileError) Unwrap() error { return e.err }

// markPermanent marks an error as permanent if another try does not fix it.
func markPermanent(err error) error {
	for _, permanent := range []error{workerassign.ErrCorrupt, lockedfile.ErrNames, lockedfile.ErrNotRegular, fs.ErrNotExist, fs.ErrPermission,
		errors.ErrUnsupported, syscall.ENOTDIR, syscall.EISDIR, syscall.ENAMETOOLONG} {
		if errors.Is(err, permanent) {
			return permanentFileError{err}
		}
	}
	return err
}
