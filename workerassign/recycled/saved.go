package recycled

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ringuid/ringuid/internal/backoff"
	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/millis"
	"github.com/ringuid/ringuid/internal/options"
	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/internal/workerfile"
	"github.com/ringuid/ringuid/workerassign"
)

// A SavedOption configures an assigner of Saved. If its value is invalid, Assign returns an error that wraps
// workerassign.ErrOption.
type SavedOption interface{ applySaved(*savedConfig) }

type savedConfig struct {
	span time.Duration
	err  error // the error of the first invalid argument
}

func (c *savedConfig) setError(format string, args ...any) {
	options.SetError(&c.err, workerassign.ErrOption, format, args...)
}

type savedOption func(*savedConfig)

func (o savedOption) applySaved(c *savedConfig) { o(c) }

// WithSpan sets how far ahead Saved leases a worker ID, and so how long the store may be down. It must be at
// least a second and at most the horizon of the pool (WithHorizon). The default is 24 hours.
func WithSpan(d time.Duration) SavedOption {
	return savedOption(func(c *savedConfig) {
		options.Set(&c.span, d, d >= time.Second && d <= millis.MaxDuration, c.setError, "the span is %v; must be 1s to %v", d, millis.MaxDuration)
	})
}

// Saved returns an assigner that leases one worker ID of r for a long span, a day by default (WithSpan), and keeps
// the lease in the file at path. So a service starts, and generates UIDs, while the store of r is down. If the
// store hangs, Assign waits 5 seconds for it first: the deadline of its context, or WithTimeout of r, must be longer.
//
// At each Assign, and when a quarter of the span has passed, Saved extends the lease in the store. If the store
// cannot be reached at Assign within 5 seconds, and the lease in the file has not ended, Assign uses that, and logs
// a warning. A lease begins at the end of what was granted or used before, or at the present if that is later.
// Reserve writes the new end to disk before it grants time. Release keeps the lease in the store, so that the
// worker ID remains the same. When a host is removed for good, its slot becomes free when the span has
// passed.
//
// The pool's horizon must be at least the span: create the pool with WithHorizon. Otherwise Assign returns
// an error that wraps workerassign.ErrOption. If the store can lose acknowledged writes, new leases begin later by the
// horizon after a failover, so use Saved with stores that do not lose them (State.NoLoss). An operator who calls
// Assigner.RaiseFloor must choose a floor that is later than the present and the span.
//
// A lease holds a lock on the file from Assign to Release, or to the end of the process: Assign returns an
// error that wraps workerassign.ErrInUse if another generator has the file, because there is one worker ID. So a
// generator cannot change to another worker ID at its borrow limit; it waits for the clock. With uid.WithRollover(false) it
// does not try, and logs nothing of it. A lease that was lost can be replaced by another Assign before its Release.
//
// The rules for the files, and the errors, are those of workerassign.StaticFile: a file that is missing although it existed, a
// copy, and a file of another machine are refused. If neither file exists, Assign takes another slot. A
// generator with another format than the one in the file is refused with ErrPoolFormat. A renewal (uid.Cached.Renew) is
// refused with workerassign.ErrRenewal.
//
// One assumption is left. If the file is set back while the store is down, together with its file system, for
// example to a snapshot of the machine, or if a machine is cloned with it, UIDs can be generated a second time:
// up to the borrow limit if the former process has ended and the clock is right, or for up to the span if it
// is still running. So they can if the process is copied while it runs. When the store can be reached, the second
// process that extends the lease, after a quarter of the span, finds that it is void (workerassign.ErrVoid): each
// extension has a fresh token, which is in the file before it is in the store. Its file grants nothing any more.
func Saved(r *Assigner, path string, opts ...SavedOption) workerassign.Assigner {
	s := &saved{recycled: r, machine: lockedfile.MachineID, storeTimeout: 5 * time.Second, cfg: savedConfig{span: 24 * time.Hour}}
	options.Apply(opts, func(o SavedOption) { o.applySaved(&s.cfg) }, s.cfg.setError)
	var err error
	if s.file, err = workerfile.New(path, workerfile.SavedHeader); err != nil {
		s.cfg.setError("%v", err)
	}
	if s.cfg.err == nil {
		s.cfg.err = r.usable()
	}
	return s
}

type saved struct {
	recycled     *Assigner
	file         *workerfile.File
	machine      func() string
	storeTimeout time.Duration // for the store, if there is a lease in the file
	cfg          savedConfig
}

// Assign implements Assigner. It blocks on the store as long as Assigner.Assign, unless the file has a lease that
// can be used.
func (s *saved) Assign(ctx context.Context, req workerassign.Request) (workerassign.Lease, error) {
	if s.cfg.err != nil {
		return nil, s.cfg.err
	}
	if req.Renewal {
		return nil, fmt.Errorf("%w: the lease in %s may have been copied with this process: close the generator, and create one with another file, which does not exist",
			workerassign.ErrRenewal, s.file.Path)
	}
	ctx, cancel := backoff.WithTimeout(ctx, s.recycled.cfg.timeout)
	defer cancel()
	log := safelog.NewQueue(s.recycled.cfg.loggerFor(req))
	defer log.Flush(safelog.FlushTimeout)
	held, content, err := s.file.Hold(s.machine())
	if err != nil {
		return nil, err
	}
	done := false
	defer func() {
		if !done { // also after a panic, or runtime.Goexit, of the store or of the generator's clock
			held.Close()
		}
	}()
	l := &savedLease{assigner: s, held: held, request: req, lastTry: req.Time().Round(0)}
	if err := l.start(ctx, content, log); err != nil {
		return nil, err
	}
	done = true
	l.workerID = l.record.slot.WorkerID
	return l, nil
}

// start makes the lease usable: from the file, extended by the store if that can be reached, or from the store.
func (l *savedLease) start(ctx context.Context, content *lockedfile.Decoder, log *safelog.Queue) error {
	if content != nil {
		ok, err := l.resume(ctx, content, log)
		if ok || err != nil {
			return err
		}
	}
	return l.take(ctx)
}

// resume uses the lease in the file. It returns false if that has ended or was lost.
func (l *savedLease) resume(ctx context.Context, content *lockedfile.Decoder, log *safelog.Queue) (bool, error) {
	s := l.assigner
	record, ok := decodeSavedRecord(content)
	if !ok {
		return false, l.held.Corrupt(lockedfile.ErrContent)
	}
	if record.format != l.request.Format {
		return false, fmt.Errorf("%w: the format in %s is %q, and this generator's is %q; use another file and another pool for another format",
			ErrPoolFormat, s.file.Path, record.format, l.request.Format)
	}
	if id := s.recycled.cfg.workerID; id >= 0 && id != record.slot.WorkerID {
		return false, fmt.Errorf("%w: %s has a lease on worker ID %d, and this assigner's is %d (WithWorkerID); use a file of its own for each worker ID",
			workerassign.ErrOption, s.file.Path, record.slot.WorkerID, id)
	}
	l.record = record
	l.begin = millis.Later(record.mark, millis.Up(l.request.Time().Round(0).Add(1)))
	storeCtx := ctx
	if usable := l.begin.Before(record.slot.Until); usable {
		var cancel context.CancelFunc
		storeCtx, cancel = context.WithTimeout(ctx, s.storeTimeout)
		defer cancel()
	}
	err := l.extend(storeCtx)
	switch {
	case err == nil && (l.begin.Before(l.record.slot.Until) || l.begin.Equal(l.record.slot.From)): // or it waits for a floor, as when it was taken
		return true, nil
	case isTaken(err):
		log.Log(slog.LevelWarn, "recycled: the lease in a file was lost; another worker ID is leased", "file", s.file.Path, "err", err)
		return false, nil
	case ctx.Err() != nil, l.fileErr != nil, errors.Is(err, workerassign.ErrOption) || errors.Is(err, ErrPoolFormat) || errors.Is(err, ErrClockSkew):
		return false, err
	case l.begin.Before(record.slot.Until):
		l.logNotExtended(log, err)
		return true, nil
	case errors.Is(err, workerassign.ErrLeaseLost):
		return false, nil
	case err == nil:
		return false, fmt.Errorf("%w: worker ID %d is leased until %s, and must not be used before %s: set the clock of the host or of the store",
			ErrClockSkew, record.slot.WorkerID, l.record.slot.Until.Format(time.RFC3339Nano), l.begin.Format(time.RFC3339Nano))
	}
	return false, err
}

// take takes a slot from the store and extends it by the span. Each claim is in the file before it is in the store, so
// that a slot is not lost if the process ends in between.
func (l *savedLease) take(ctx context.Context) error {
	s := l.assigner
	_, err := s.recycled.assign(ctx, l.request, func(slot Slot) error {
		return l.write(savedRecord{format: l.request.Format}.acknowledged(slot))
	})
	if err != nil {
		return err
	}
	l.begin = millis.Later(l.record.mark, millis.Up(l.request.Time().Round(0).Add(1)))
	return l.extend(ctx)
}
