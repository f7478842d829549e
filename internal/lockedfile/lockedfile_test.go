package lockedfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/leaktest"
)

func mustLock(t *testing.T, path string) *os.File {
	t.Helper()
	lock, err := TryLock(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	return lock
}

func text(s string) func(*os.File) ([]byte, error) {
	return func(*os.File) ([]byte, error) { return []byte(s), nil }
}

// A lock excludes others until its file is closed.
func TestTryLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	lock := mustLock(t, path)
	if _, err := TryLock(path, nil); !errors.Is(err, ErrHeld) {
		t.Errorf("TryLock of a lock that is held = %v, want ErrHeld", err)
	}
	lock.Close()
	second := mustLock(t, path)
	if err := verifyLock(second); err != nil {
		t.Error(err)
	}
	if err := os.Remove(path); err != nil {
		testkit.Missing(t, "the system does not remove open files: ", err)
	}
	if err := verifyLock(second); err == nil {
		t.Error("VerifyLock of a lock file that was removed returned no error")
	}
	if _, err := TryLock(path, func(s Step) error {
		if s == StepOpened {
			return os.Remove(path)
		}
		return nil
	}); !errors.Is(err, ErrReplaced) {
		t.Errorf("TryLock of a lock file that is removed meanwhile = %v, want ErrReplaced", err)
	}
	if _, err := TryLock(filepath.Join(path, "b", "c"), nil); err == nil || errors.Is(err, ErrHeld) || errors.Is(err, ErrReplaced) {
		t.Errorf("TryLock without a directory = %v", err)
	}
}

// Acquire waits until the lock is available or its context ends.
func TestAcquire(t *testing.T) {
	leaktest.Check(t)
	path := filepath.Join(t.TempDir(), "a.lock")
	lock := mustLock(t, path)
	ctx, cancel := context.WithCancel(context.Background())
	failures := 0
	_, err := acquire(ctx, path, Waiting{MaxPause: time.Millisecond, Failed: func(string, error) {
		if failures++; failures == 2 {
			cancel()
		}
	}})
	var wait *WaitError
	if !errors.As(err, &wait) || wait.Attempts != 2 || !errors.Is(err, context.Canceled) || !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), path) {
		t.Errorf("Acquire of a lock that is held = %#v, want a *WaitError", err)
	}
	failures = 0
	next, err := acquire(context.Background(), path, Waiting{MaxPause: time.Millisecond, Failed: func(string, error) {
		if failures++; failures == 3 {
			lock.Close()
		}
	}})
	if err != nil || failures < 3 {
		t.Fatalf("Acquire = %v after %d failures", err, failures)
	}
	next.Close()
}

// Replace leaves the old content or the new one, and no temporary file, and refuses if the lock was lost.
func TestReplace(t *testing.T) {
	directory := t.TempDir()
	path := filepath.Join(directory, "a")
	lock := mustLock(t, path+Suffix)
	if marked, err := isMarked(lock); marked || err != nil {
		t.Errorf("isMarked = %v, %v", marked, err)
	}
	if err := replace(path, lock, nil, text("one")); err != nil {
		t.Fatal(err)
	}
	if err := (&File{Lock: lock}).Mark("marker\n"); err != nil {
		t.Fatal(err)
	}
	if marked, err := isMarked(lock); !marked || err != nil {
		t.Errorf("isMarked = %v, %v", marked, err)
	}
	data, first, err := read(path, true)
	if string(data) != "one" || err != nil {
		t.Errorf("read = %q, %v", data, err)
	}
	broken := errors.New("broken")
	if err := replace(path, lock, nil, func(*os.File) ([]byte, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("Replace = %v", err)
	}
	var identity string
	if err := replace(path, lock, nil, func(file *os.File) (_ []byte, err error) {
		identity, err = ID(file)
		return []byte(strings.Repeat("two", 10_000)), err
	}); err != nil {
		t.Fatal(err)
	}
	data, second, err := read(path, true)
	if string(data) != strings.Repeat("two", 10_000) || err != nil || second != identity || second == first {
		t.Errorf("read = %d bytes, %q, %v; want another identity than %q", len(data), second, err, first)
	}
	os.Remove(path + Suffix)
	if err := replace(path, lock, nil, text("three")); err == nil {
		t.Error("Replace without the lock returned no error")
	}
	if data, err := ReadRegular(path); err != nil || !strings.HasPrefix(string(data), "two") {
		t.Errorf("after a Replace without the lock: %.10q, %v", data, err)
	}
	if entries, _ := os.ReadDir(directory); len(entries) != 1 {
		t.Errorf("the directory has %v, want one file", entries)
	}
}

// A file that was written before, and is missing, was lost. One that was never written is not. What is written is read with its identity.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	var steps []Step
	open := func() *File {
		t.Helper()
		f, err := TryOpen(path, func(s Step) error { steps = append(steps, s); return nil })
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	f := open()
	if _, _, err := f.Read(); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrMissing) {
		t.Errorf("Read of a file that was never written = %v", err)
	}
	if _, err := TryOpen(path, nil); err != ErrHeld {
		t.Errorf("TryOpen of an open file = %v, want ErrHeld", err)
	}
	var id string
	write := func(text string) error {
		return f.Write("marker\n", func(of string) []byte { id = of; return []byte(text) })
	}
	if err := write("one"); err != nil {
		t.Fatal(err)
	}
	first := id
	if err := write("two"); err != nil || id == first {
		t.Errorf("Write = %v, and the identity is %q, before %q", err, id, first)
	}
	if want := []Step{StepOpened, StepLocked, StepWritten, StepRenamed, StepSynced, StepMarked, StepWritten, StepRenamed, StepSynced}; !slices.Equal(steps, want) {
		t.Errorf("the steps are %v, want %v", steps, want)
	}
	f.Close()
	f = open()
	if data, read, err := f.Read(); string(data) != "two" || read != id || err != nil {
		t.Errorf("Read = %q, %q, %v; want the identity %q", data, read, err, id)
	}
	os.Remove(path)
	if _, _, err := f.Read(); err != ErrMissing {
		t.Errorf("Read of a file that was lost = %v, want ErrMissing", err)
	}
	os.Remove(path + Suffix)
	if err := write("three"); err == nil {
		t.Error("Write without the lock returned no error")
	}
	f.Close()
}

// All names of a file lead to one lock file, except hard links, which are refused.
func TestNames(t *testing.T) {
	directory := t.TempDir()
	path := filepath.Join(directory, "a")
	if got, err := Resolve(path); err != nil || filepath.Base(got) != "a" {
		t.Errorf("Resolve of a missing file = %q, %v", got, err)
	}
	if _, err := Resolve(filepath.Join(path, "b", "c")); err == nil {
		t.Error("Resolve in a missing directory returned no error")
	}
	if _, err := ReadRegular(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadRegular of a missing file = %v", err)
	}
	if _, err := ReadRegular(directory); err == nil {
		t.Error("ReadRegular of a directory returned no error")
	}
	if err := os.WriteFile(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := ReadRegular(path); string(data) != "one" || err != nil {
		t.Errorf("ReadRegular = %q, %v", data, err)
	}
	link := filepath.Join(directory, "hard")
	if err := os.Link(path, link); err != nil {
		testkit.Missing(t, "the file system has no hard links: ", err)
	}
	for _, name := range []string{path, link} {
		if _, err := ReadRegular(name); !errors.Is(err, ErrNames) {
			t.Errorf("ReadRegular of a file with two names = %v, want ErrNames", err)
		}
		if _, err := TryLock(name, nil); !errors.Is(err, ErrNames) {
			t.Errorf("TryLock of a file with two names = %v, want ErrNames", err)
		}
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadRegular(path); err != nil {
		t.Error(err)
	}
	symlink := filepath.Join(directory, "symbolic")
	if err := os.Symlink(path, symlink); err != nil {
		testkit.Missing(t, "there are no symbolic links: ", err)
	}
	a, err := Resolve(path)
	b, err2 := Resolve(symlink)
	if a != b || err != nil || err2 != nil {
		t.Errorf("Resolve = %q, %v and %q, %v", a, err, b, err2)
	}
}

// The machine ID is a hash that does not change.
func TestMachineID(t *testing.T) {
	if id := MachineID(); id != MachineID() || id != "" && len(id) != 32 {
		t.Errorf("MachineID = %q, %q", id, MachineID())
	}
}
