package workerfile

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/ringuid/ringuid/internal/lockedfile"
)

// A Held is a file with the record of one worker ID that one process holds from the start of a lease
// to its end. No other process can open it meanwhile.
//
// The content is lines of fields, like that of a slot file: a header, the identities of the file, its
// lock file and the machine, the record, and a checksum. So a copy of the file is noticed.
type Held struct {
	file    *File // for its path, its header and its errors
	locked  *lockedfile.File
	machine string
}

// Hold locks the file, and returns its record, or nil if there was never a file. The caller must call Close.
//
// Errors wrap ErrInUse if another process, or another assigner of this one, has the file, ErrCorrupt if
// the file is missing, has the wrong content or is a copy, or ErrFile.
func (f *File) Hold(machine string) (_ *Held, record *lockedfile.Decoder, err error) {
	locked, err := lockedfile.TryOpen(f.Path, f.Hook)
	if errors.Is(err, lockedfile.ErrHeld) {
		return nil, nil, fmt.Errorf("%w: another process, or another assigner of this process, has %s: end it first, or use another file and another worker ID", ErrInUse, f.Path)
	} else if err != nil {
		return nil, nil, f.Wrap(err)
	}
	f.removeTemporaries(locked)
	h := &Held{file: f, locked: locked, machine: machine}
	if record, err = h.read(); err != nil {
		h.Close()
	}
	return h, record, err
}

// advice says what to do about a file that cannot be used.
func (f *File) advice() string {
	advice := "put the original file back (a copy is refused); or make sure that no process uses the worker ID, and delete the file and its lock file"
	if f.header == StaticHeader {
		advice += "; then start without WithNewFile, and with no smaller WithFileHorizon than before"
	}
	return advice
}

// read returns the record in the file; nil if there was never a file.
func (h *Held) read() (*lockedfile.Decoder, error) {
	data, id, err := h.locked.Read()
	switch {
	case errors.Is(err, lockedfile.ErrMissing):
		return nil, fmt.Errorf("%w: %s is missing, but its lock file shows that it existed: %s", ErrCorrupt, h.file.Path, h.file.advice())
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, h.file.Wrap(err)
	}
	if other := h.file.Other(data); other != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrCorrupt, h.file.Path, other)
	}
	data, ok := lockedfile.CutChecksum(data)
	d := &lockedfile.Decoder{Rest: string(data), Failed: !ok}
	d.Prefix(h.file.header)
	wantID, wantLockID, wantMachine := d.Text(), d.Text(), d.Text()
	d.Prefix("\n")
	switch {
	case d.Failed:
		return nil, h.Corrupt(lockedfile.ErrContent)
	case wantMachine != h.machine:
		return nil, h.Corrupt(lockedfile.ErrMachine)
	case wantID != id || wantLockID != h.locked.LockID:
		return nil, h.Corrupt(lockedfile.ErrCopy)
	}
	return d, nil
}

// Corrupt returns the error for a file that cannot be used.
func (h *Held) Corrupt(err error) error {
	return fmt.Errorf("%w: %s: %w: %s", ErrCorrupt, h.file.Path, err, h.file.advice())
}

// Write replaces the record, and returns when it is on disk. After an error, the file has the record before
// or this one.
func (h *Held) Write(record func(e *lockedfile.Encoder)) error {
	err := h.locked.Write(LockMarker, func(id string) []byte {
		e := &lockedfile.Encoder{Out: []byte(h.file.header)}
		e.Texts(id, h.locked.LockID, h.machine)
		record(e)
		return lockedfile.AppendChecksum(append(e.Out, '\n'))
	})
	if err != nil {
		return h.file.Wrap(err)
	}
	return nil
}

// Close lets other processes open the file.
func (h *Held) Close() { h.locked.Close() }
