package filestore

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/workerfile"
	"github.com/ringuid/ringuid/segment"
)

// fileAdvice says what to do about a file that cannot be used.
const fileAdvice = "put the original file back, with the same lock file, or see WithCopyGap; or delete it and its lock file, and create its tags again, " +
	"each with a Start beyond all numbers that were handed out"

// read returns the content of the file. If there was never a file, the content has no id. The caller must hold the
// lock.
func (f *tagFile) read(file *lockedfile.File) (*tagContent, error) {
	data, id, err := file.Read()
	switch {
	case errors.Is(err, lockedfile.ErrMissing):
		return nil, f.refuse(err)
	case errors.Is(err, fs.ErrNotExist):
		return &tagContent{path: f.path(), index: map[string]int{}}, nil
	case err != nil:
		return nil, err
	}
	content := f.content
	if content == nil || !bytes.Equal(f.data, data) {
		if content, err = decodeFile(data); err != nil {
			if other := workerfile.Other(data, workerfile.SegmentsHeader); other != nil {
				return nil, fmt.Errorf("%w: %s: %w", segment.ErrSource, f, other)
			}
			return nil, f.refuse(err)
		}
		content.path = f.path()
	}
	var reason error
	switch {
	case content.machine != f.machine():
		reason = lockedfile.ErrMachine
	case content.id != id || content.lockID != file.LockID:
		reason = lockedfile.ErrCopy
	default:
		f.data, f.content = data, content
		return content, nil
	}
	if f.copyGap == 0 {
		return nil, f.refuse(reason)
	}
	f.data, f.content = nil, nil
	content.raiseAll(f.copyGap, time.Now())
	return content, f.write(file, content)
}

// refuse returns the error for a file that cannot be used.
func (f *tagFile) refuse(err error) error {
	return fmt.Errorf("%w: %s: %w: "+fileAdvice, segment.ErrSource, f, err)
}
