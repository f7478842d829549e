package lockedfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrMissing is the error of Read for a file that existed before, and does not exist now.
var ErrMissing = errors.New("it is missing, but its lock file shows that it existed")

// A File is a file whose lock the caller holds: steps 2 to 6 of the protocol.
type File struct {
	Path   string   // without symbolic links
	Lock   *os.File // the lock file
	LockID string   // the identity of the lock file
	hook   Hook
	marked bool // whether the lock file has a marker
}

// Open locks the file at path. It waits while another process or goroutine holds the lock. If ctx ends before, it returns a *WaitError.
func Open(ctx context.Context, path string, w Waiting) (*File, error) {
	return open(path, w.Hook, func(lock string) (*os.File, error) { return acquire(ctx, lock, w) })
}

// TryOpen is Open without waiting: see TryLock.
func TryOpen(path string, hook Hook) (*File, error) {
	return open(path, hook, func(lock string) (*os.File, error) { return TryLock(lock, hook) })
}

func open(path string, hook Hook, lock func(path string) (*os.File, error)) (*File, error) {
	path, err := Resolve(path)
	if err != nil {
		return nil, err
	}
	f := &File{Path: path, hook: hook}
	if f.Lock, err = lock(path + Suffix); err != nil {
		return nil, err
	}
	if f.marked, err = isMarked(f.Lock); err == nil {
		f.LockID, err = ID(f.Lock)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Close releases the lock.
func (f *File) Close() { f.Lock.Close() }

// Read returns the content of the file, and its identity. If there is no file, the error is ErrMissing if it was lost, and wraps
// fs.ErrNotExist otherwise.
func (f *File) Read() (data []byte, id string, err error) {
	data, id, err = read(f.Path, true)
	if errors.Is(err, fs.ErrNotExist) && f.marked {
		err = ErrMissing
	}
	return data, id, err
}

// Write replaces the file, and returns when the new one is on disk. content returns the new content of a file with an identity. The
// first time, the lock file is marked: see Mark. After an error, the file has the content before or the new one, and nothing is
// acknowledged.
func (f *File) Write(marker string, content func(id string) []byte) error {
	err := replace(f.Path, f.Lock, f.hook, func(file *os.File) ([]byte, error) {
		id, err := ID(file)
		if err != nil {
			return nil, err
		}
		return content(id), nil
	})
	if err == nil {
		err = f.Mark(marker)
	}
	if err == nil {
		err = verifyLock(f.Lock)
	}
	return err
}

// Mark writes a marker, a text that is not empty, to the lock file, unless it has one, and returns when that is on disk. If the file
// does not exist later, it was lost.
func (f *File) Mark(marker string) error {
	if f.marked {
		return nil
	}
	if _, err := f.Lock.WriteAt([]byte(marker), 0); err != nil {
		return err
	}
	if err := f.Lock.Sync(); err != nil {
		return err
	}
	f.marked = true
	return f.hook.After(StepMarked)
}

// isMarked reports whether a lock file has a marker.
func isMarked(lock *os.File) (bool, error) {
	info, err := lock.Stat()
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, fmt.Errorf("the lock file %s is %w", lock.Name(), ErrNotRegular)
	}
	return info.Size() > 0, nil
}
