// Package lockedfile has what the files of this module need that several processes of one host share: a lock
// on a second file, reading and replacing the first one so that no crash damages it or takes back what was
// acknowledged, and the identities by which a copy is noticed.
//
// The lock file has the name of the file with the suffix ".lock". It stays there. The protocol of a process
// that changes the file:
//
//  1. Resolve the path, and lock the lock file (Open or TryOpen).
//  2. Read the file (File.Read).
//  3. Replace it (File.Write): the new content is on disk under a temporary name, the lock is verified, and the file is
//     renamed.
//  4. Mark the lock file, the first time, so that a file that gets lost later is noticed.
//  5. Verify the lock. Only then the change is acknowledged.
//  6. Close the lock file, which releases the lock (File.Close).
package lockedfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Suffix is what the name of a lock file has more than that of its file.
const Suffix = ".lock"

// The reasons why an attempt to lock a file failed that may succeed later.
var (
	ErrHeld     = errors.New("another process, or another goroutine of this process, holds the lock")
	ErrReplaced = errors.New("the lock file was deleted or replaced while it was being locked: do not delete or replace it")
)

// A Step is a point in the protocol after which a crash may leave the files in a different state.
type Step int

// The steps, in their order.
const (
	StepOpened Step = iota // once for each attempt to acquire the lock
	StepLocked
	StepRead // reported by the caller
	StepWritten
	StepRenamed
	StepSynced
	StepMarked
	StepCount
)

// A Hook is called after each step, for tests. Its error ends the call. nil does nothing.
type Hook func(Step) error

func (h Hook) After(s Step) error {
	if h == nil {
		return nil
	}
	return h(s)
}

// TryLock opens the lock file, which it creates if there is none, and locks it exclusively. The lock is released
// when the file is closed. TryLock does not wait: if the lock is not available now, it returns ErrHeld or ErrReplaced. It
// returns an error that wraps ErrNames if the lock file has several names.
func TryLock(path string, hook Hook) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := hook.After(StepOpened); err != nil {
		file.Close()
		return nil, err
	}
	locked, err := lockFile(file)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	if !locked {
		file.Close()
		return nil, ErrHeld
	}
	// A lock on a file that was deleted meanwhile does not exclude other processes.
	if !SameFile(file, path) {
		file.Close()
		return nil, ErrReplaced
	}
	err = CheckNames(file)
	if err == nil {
		err = hook.After(StepLocked)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// SameFile reports whether the open file is the file that path names now.
func SameFile(file *os.File, path string) bool {
	a, err := file.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

// verifyLock returns an error if the lock file was deleted or replaced since it was locked. Other processes may
// then hold a lock on the new file and change the file.
func verifyLock(lock *os.File) error {
	if SameFile(lock, lock.Name()) {
		return nil
	}
	return fmt.Errorf("the lock file %s was deleted or replaced while it was locked: do not delete or replace it, and try again", lock.Name())
}

// replace replaces the file atomically, and returns when that is on disk. content returns the new content of
// the file that it gets, whose name is still a temporary one. The caller must hold the lock. After an error, the
// file has the content before or the new one.
func replace(path string, lock *os.File, hook Hook, content func(*os.File) ([]byte, error)) error {
	temporary, err := WriteTemporary(path, content)
	if err != nil {
		return err
	}
	if err := hook.After(StepWritten); err != nil {
		return err
	}
	// If the lock was lost, other processes may have replaced the file, and the rename would set it
	// back.
	if err := verifyLock(lock); err != nil {
		os.Remove(temporary)
		return err
	}
	if err := ReplaceFile(temporary, path); err != nil {
		os.Remove(temporary)
		return err
	}
	if err := hook.After(StepRenamed); err != nil {
		return err
	}
	if err := SyncDirectory(filepath.Dir(path)); err != nil {
		return err
	}
	return hook.After(StepSynced)
}
