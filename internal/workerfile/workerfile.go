// Package workerfile has the files of worker IDs: a locked file that is replaced atomically (package lockedfile), with the errors
// that packages workerassign and recycled return, and a file that one lease holds.
package workerfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/safelog"
)

// The errors that package workerassign exports.
var (
	ErrCorrupt = errors.New("workerassign: corrupt worker file")
	ErrFile    = errors.New("workerassign: worker file")
	ErrInUse   = errors.New("workerassign: worker ID in use")
)

// The headers of the files, and of files of segments, whose name and version begin their text.
const (
	CounterHeader  = "ringuid-worker v1"
	SlotsHeader    = "ringuid-slots v1"
	StaticHeader   = "ringuid-static v1"
	SavedHeader    = "ringuid-saved v1"
	SegmentsHeader = "ringuid-segments v1"
)

// LockMarker is written to the lock file after the first content of the file was written. If the lock file has this
// content and the file does not exist, the file was lost.
const LockMarker = "ringuid-worker-lock v1: do not delete\n"

// A File is the path of a file, and what is done with it.
type File struct {
	Path string          // absolute
	Hook lockedfile.Hook // for tests; nil: none

	header  string
	cleaned atomic.Bool // whether temporary files that a crash left behind were removed
}

// New returns the file at path, whose text begins with a header. It does not access the file system.
func New(path, header string) (*File, error) {
	f := &File{header: header}
	if path == "" {
		return f, errors.New("the path of the worker file is empty; must not be empty")
	}
	abs, err := filepath.Abs(path) // so that a later change of the working directory has no effect
	if err != nil {
		return f, fmt.Errorf("the path of the worker file, %q: %w", path, err)
	}
	f.Path = abs
	return f, nil
}

// Open locks the file. It waits while another process or goroutine holds the lock, and tries again if the lock file was deleted or
// replaced. If ctx ends first, the error is a *lockedfile.WaitError; others wrap ErrFile. The caller must close the file.
func (f *File) Open(ctx context.Context, log *safelog.Queue) (*lockedfile.File, error) {
	file, err := lockedfile.Open(ctx, f.Path, lockedfile.Waiting{
		MaxPause: lockedfile.DefaultMaxPause,
		Hook:     f.Hook,
		Long: func(lock string, waited time.Duration, lastErr error) {
			log.Log(slog.LevelWarn, "workerassign: still waiting for a lock", "lock", lock, "for", waited.Round(time.Millisecond), "err", lastErr)
		},
	})
	if err != nil {
		return nil, f.Wrap(err)
	}
	f.removeTemporaries(file)
	return file, nil
}

// removeTemporaries removes temporary files that a crash left behind, the first time that f has its lock.
func (f *File) removeTemporaries(file *lockedfile.File) {
	if !f.cleaned.Swap(true) {
		lockedfile.RemoveTemporaries(file.Path)
	}
}

// Wrap wraps an error of the operating system in ErrFile. It does not change other errors of this package, and those of waiting.
func (f *File) Wrap(err error) error {
	if wait := (*lockedfile.WaitError)(nil); errors.Is(err, ErrCorrupt) || errors.Is(err, ErrFile) || errors.As(err, &wait) {
		return err
	}
	return fmt.Errorf("%w %s: %w", ErrFile, f.Path, err)
}

// Other returns the error for the content of a file that another part of the library has written, or nil. What is to be done about
// a damaged file would be wrong for it: a slot file that is overwritten, or a worker file that is deleted, loses which worker IDs are used.
func (f *File) Other(data []byte) error { return Other(data, f.header) }

// Other is File.Other for a file whose content begins with another header.
func Other(data []byte, header string) error {
	for _, other := range []struct{ header, what string }{
		{CounterHeader, "a worker file, of disposable worker IDs (workerassign.NewFile)"},
		{SlotsHeader, "a slot file, of recycled worker IDs (package filestore)"},
		{StaticHeader, "a file of static worker IDs (workerassign.StaticFile)"},
		{SavedHeader, "a file of saved leases (recycled.Saved)"},
		{SegmentsHeader, "a file of tags (package filestore)"},
	} {
		if other.header != header && bytes.HasPrefix(data, []byte(other.header+" ")) {
			return errors.New("it is " + other.what + "; use another path, or what has written it; do not change or delete it")
		}
	}
	return nil
}
