package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/ringuid/ringuid/internal/backoff"
	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/segment"
)

// A tagCall is a call that changes the file. The goroutine that uses the file executes all calls that
// wait, with one write.
type tagCall struct {
	// apply executes the call. After an error it has changed nothing.
	apply func(*tagContent) error

	err  error         // set before done is closed
	done chan struct{} // closed when the call was executed, or has failed
}

// do executes a call. It returns when that is done, when the call has failed, or when ctx ends.
func (f *tagFile) do(ctx context.Context, call *tagCall) error {
	if ctx.Err() != nil {
		return fmt.Errorf("filestore: %s was not used: %w", f, context.Cause(ctx))
	}
	f.mu.Lock()
	f.waiting = append(f.waiting, call)
	f.mu.Unlock()
	select {
	case <-call.done: // another goroutine has executed it
		return call.err
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		if f.withdraw(call) {
			return fmt.Errorf("filestore: %s was not used: %w", f, context.Cause(ctx))
		}
		return fmt.Errorf("filestore: %s was being written: %w", f, context.Cause(ctx))
	}
	select {
	case <-call.done:
		return call.err
	default:
	}
	// If the file cannot be used, this call has failed, and the others try for themselves.
	if err := f.use(ctx); err != nil && f.withdraw(call) {
		return err
	}
	<-call.done
	return call.err
}

// withdraw removes a call that waits, and reports whether it did: if not, the call is being executed, or was.
func (f *tagFile) withdraw(call *tagCall) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := slices.Index(f.waiting, call)
	if n >= 0 {
		f.waiting = slices.Delete(f.waiting, n, n+1)
	}
	return n >= 0
}

// use locks and reads the file, and executes all calls that wait. If it returns an error, it has executed
// none.
func (f *tagFile) use(ctx context.Context) error {
	if f.contended {
		// Other processes try to acquire the lock in intervals. Without a pause they would hardly ever do so
		// while this one does not have it.
		backoff.Sleep(ctx, politeFilePause)
	}
	file, err := lockedfile.Open(ctx, f.path(), lockedfile.Waiting{
		MaxPause: maxFilePause,
		Hook:     f.hook,
		Failed:   func(lock string, _ error) { os.Chtimes(lock, time.Now(), time.Now()) }, // see isContended
	})
	if err != nil {
		return f.wrap(err)
	}
	defer file.Close()
	if !f.cleaned {
		lockedfile.RemoveTemporaries(file.Path)
		f.cleaned = true
	}
	defer func() { f.contended = isContended(file.Lock) }()
	content, err := f.read(file)
	if err == nil {
		err = f.hook.After(lockedfile.StepRead)
	}
	if err != nil {
		return f.wrap(err)
	}
	f.mu.Lock()
	calls := f.waiting
	f.waiting = nil
	f.mu.Unlock()
	f.execute(file, content, calls)
	return nil
}

const (
	maxFilePause    = 40 * time.Millisecond // the longest pause between two attempts to acquire the lock
	politeFilePause = 5 * time.Millisecond  // the pause before a process uses the file again while others wait for it
)

// isContended reports whether a process has tried to acquire the lock lately. Processes that wait set the time
// of the lock file.
func isContended(lock *os.File) bool {
	info, err := lock.Stat()
	return err == nil && time.Since(info.ModTime()).Abs() < 2*maxFilePause
}

// execute executes calls, and writes the file if one of them has changed its content.
func (f *tagFile) execute(file *lockedfile.File, content *tagContent, calls []*tagCall) {
	err := errors.New("the goroutine ended") // replaced below; a test's hook may end the goroutine
	defer func() {
		for _, call := range calls {
			if err != nil {
				call.err = err
			}
			close(call.done)
		}
	}()
	data := f.data
	f.data, f.content = nil, nil // content is changed now, and is not the file's if the write fails
	changed := false
	for _, call := range calls {
		call.err = call.apply(content)
		changed = changed || call.err == nil
	}
	if !changed {
		if err = nil; content.id != "" {
			f.data, f.content = data, content
		}
		return
	}
	err = f.write(file, content)
}

// write replaces the file, and returns when the new one is on disk.
func (f *tagFile) write(file *lockedfile.File, c *tagContent) error {
	c.lockID, c.machine = file.LockID, f.machine()
	var data []byte
	err := file.Write(fileLockMarker, func(id string) []byte {
		c.id = id
		data = c.encode()
		return data
	})
	if err != nil {
		return f.wrap(err)
	}
	f.data, f.content = data, c
	return nil
}

// fileLockMarker is written to the lock file after the file was written first.
const fileLockMarker = "ringuid-segments-lock v1: do not delete\n"

// wrap wraps an error of the operating system.
func (f *tagFile) wrap(err error) error {
	if errors.Is(err, segment.ErrSource) {
		return err
	}
	if errors.Is(err, lockedfile.ErrNames) {
		return fmt.Errorf("%w: %s: %w", segment.ErrSource, f, err)
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("filestore: %s: %w: all processes must run as the user who created the file, and may write to its directory", f, err)
	}
	return fmt.Errorf("filestore: %s: %w", f, err)
}
