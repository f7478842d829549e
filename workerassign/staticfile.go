package workerassign

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/millis"
	"github.com/ringuid/ringuid/internal/options"
	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/internal/workerfile"
)

// A StaticFileOption configures an assigner of StaticFile. If its value is invalid, Assign returns an error
// that wraps ErrOption.
type StaticFileOption interface{ applyStaticFile(*staticFileConfig) }

type staticFileConfig struct {
	config
	horizon time.Duration
	newFile bool
}

type staticFileOption func(*staticFileConfig)

func (o staticFileOption) applyStaticFile(c *staticFileConfig) { o(c) }

func (o option) applyStaticFile(c *staticFileConfig) { o.timeoutOption(&c.config) }

// WithFileHorizon sets how far beyond the generator's clock StaticFile grants time. It must be greater than
// 0. The default is DefaultHorizon. For full borrowing it must be at least the sum of the generator's borrow
// limit, 1.5 times what it reserves ahead, and one time unit. After a crash, the next lease begins up to
// the horizon after the present.
func WithFileHorizon(d time.Duration) StaticFileOption {
	return staticFileOption(func(c *staticFileConfig) {
		options.Set(&c.horizon, d, d > 0, c.setError, "the horizon is %v; must be greater than 0", d)
	})
}

// WithNewFile declares that a file which does not exist never existed, and that the worker ID has not been
// used up to the present. Without this option, the first lease begins after the horizon (WithFileHorizon),
// because the file may have been lost. Use it for the first start only. It has no effect if the file exists, or its lock file shows
// that it existed.
func WithNewFile() StaticFileOption {
	return staticFileOption(func(c *staticFileConfig) { c.newFile = true })
}

// StaticFile returns an assigner that assigns the given worker ID, like Static, and keeps its high-water
// mark in the file at path: the end of all time that was granted. So uniqueness does not depend on the
// clock: a lease begins at the mark, whatever the clock shows, and Reserve writes the new mark to disk before
// it grants time. After Release, the mark is the time that the generator has used.
//
// The lease can be granted time in the future, up to the horizon (WithFileHorizon), so that a generator can
// borrow. After a crash, a generator waits until its clock, and what it may borrow, reaches the mark.
//
// A lease holds a lock on the file from Assign to Release, or to the end of the process. If another
// process, or another assigner, holds it, Assign returns an error that wraps ErrInUse. Assign does not
// wait. A generator that tries to change its worker ID at the borrow limit logs that error; with uid.WithRollover(false) it
// does not try. The lock is on a second file with the suffix ".lock", which stays there. Assign creates both files.
// Their directory must exist. A relative path refers to the working directory at the time of StaticFile.
//
// If the file does not exist, although its lock file shows that it did, or if its content is not what this
// package wrote, Assign returns an error that wraps ErrCorrupt. So it does if the file or the lock file is a
// copy, which may be older than the original, or comes from another machine: the file records its inode
// number and, on Linux, its time of creation, and the machine ID of the operating system where that is
// known. A container often has none. Where files have no time of creation (other systems, Linux before 4.11, ext4
// with inodes of 128 bytes), a copy may have the number of its original, and is not noticed. If the file belongs to another worker ID, the error wraps ErrOption.
// Other errors of the file wrap ErrFile. For a renewal (uid.Cached.Renew) Assign returns an error that wraps ErrRenewal.
//
// If neither file exists, it is not known whether they were lost. Then the lease begins after the horizon,
// which is safe if the clock is right and the worker ID is not in use; see WithNewFile for the first start.
//
// StaticFile does not detect that a whole machine or file system was set back to a snapshot, or that two machines
// or containers, each with a file of its own, use the same worker ID at the same time.
func StaticFile(workerID int64, path string, opts ...StaticFileOption) Assigner {
	s := &staticFile{id: workerID, machine: lockedfile.MachineID, cfg: staticFileConfig{config: newConfig(), horizon: DefaultHorizon}}
	if workerID < 0 {
		s.cfg.setError("static worker ID is %d; must be at least 0", workerID)
	}
	options.Apply(opts, func(o StaticFileOption) { o.applyStaticFile(&s.cfg) }, s.cfg.setError)
	var err error
	if s.file, err = workerfile.New(path, workerfile.StaticHeader); err != nil {
		s.cfg.setError("%v", err)
	}
	return s
}

type staticFile struct {
	id      int64
	file    *workerfile.File
	machine func() string
	cfg     staticFileConfig
}

// Assign implements Assigner.
func (s *staticFile) Assign(ctx context.Context, r Request) (Lease, error) {
	if s.cfg.err != nil {
		return nil, s.cfg.err
	}
	if r.Renewal {
		return nil, fmt.Errorf("%w: static worker ID %d, and perhaps the file %s, may have been copied with this process: close the generator, and create one with another worker ID and file",
			ErrRenewal, s.id, s.file.Path)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("workerassign: %s was not opened: %w", s.file.Path, context.Cause(ctx))
	}
	now := r.Time().Round(0) // without a lock, because the clock is the user's
	// A queue, because the log handler may block, or wait for a lock of Divide that this goroutine holds.
	log := safelog.NewQueue(s.cfg.loggerFor(r))
	held, record, err := s.file.Hold(s.machine())
	if err != nil {
		return nil, err
	}
	l := &staticFileLease{assigner: s, held: held, request: r}
	if err := l.start(now, record, log); err != nil {
		held.Close()
		return nil, err
	}
	if ahead := l.from.Sub(now); ahead > aheadWarningDelay {
		log.Log(slog.LevelWarn, "workerassign: a static worker ID may have been used up to a time that the clock has not reached",
			"worker_id", s.id, "file", s.file.Path, "used", l.from, "ahead", ahead)
	}
	return l, nil
}

// start sets the beginning of the lease from the record in the file, and writes it if there is none.
func (l *staticFileLease) start(now time.Time, record *lockedfile.Decoder, log *safelog.Queue) error {
	s := l.assigner
	if record != nil {
		record.Prefix("worker")
		id := record.Number()
		mark := record.Time()
		record.Prefix("\n")
		switch {
		case record.Failed || record.Rest != "":
			return l.held.Corrupt(lockedfile.ErrContent)
		case id != s.id:
			return fmt.Errorf("%w: %s belongs to worker ID %d, and this assigner's is %d; use a file of its own for each worker ID", ErrOption, s.file.Path, id, s.id)
		}
		l.from, l.granted = mark, mark
		return nil
	}
	l.from = millis.Up(now.Add(1)) // another process may have used a time unit that begins exactly now
	if !s.cfg.newFile {
		l.from = millis.Up(now.Add(s.cfg.horizon))
		log.Log(slog.LevelWarn, "workerassign: the file of a static worker ID does not exist, so its first lease begins later; see WithNewFile",
			"worker_id", s.id, "file", s.file.Path, "begin", l.from)
	}
	l.granted = l.from
	return l.write(l.from)
}

// staticFileLease is a lease from from up to granted, the mark in the file.
type staticFileLease struct {
	assigner *staticFile
	request  Request
	from     time.Time

	mu       sync.Mutex // also held during writes
	held     *workerfile.Held
	granted  time.Time
	released bool
}

func (l *staticFileLease) WorkerID() int64      { return l.assigner.id }
func (l *staticFileLease) NotBefore() time.Time { return l.from }

// write writes a mark to the file.
func (l *staticFileLease) write(mark time.Time) error {
	return l.held.Write(func(e *lockedfile.Encoder) {
		e.Begin("worker")
		e.Numbers(l.assigner.id)
		e.Times(mark)
	})
}

// Reserve writes the granted time to the file before it returns it. It blocks on the disk, whatever ctx is.
func (l *staticFileLease) Reserve(_ context.Context, until time.Time) (Grant, error) {
	limit := millis.Down(l.request.Time().Round(0).Add(l.assigner.cfg.horizon)) // without the lock, because the clock is the user's
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released {
		return Grant{}, fmt.Errorf("%w: static worker ID %d may be in use by another generator", ErrReleased, l.assigner.id)
	}
	if next := millis.Earlier(millis.Up(until), limit); next.After(l.granted) {
		if err := l.write(next); err != nil {
			return Grant{}, err
		}
		l.granted = next
	}
	return Grant{Until: l.granted, Horizon: l.assigner.cfg.horizon}, nil
}

// Release writes the time that was used to the file, and lets others open it. If the write fails, the next
// lease begins at the end of what was granted.
func (l *staticFileLease) Release(_ context.Context, used time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released {
		return nil
	}
	l.released = true
	defer l.held.Close()
	return l.write(millis.Later(l.from, millis.Earlier(millis.Up(used), l.granted)))
}
