package workerassign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/leaktest"
)

// While another File holds the lock, Assign waits until its context ends.
func TestFileWaitsForLock(t *testing.T) {
	leaktest.Check(t)
	path := filepath.Join(t.TempDir(), "worker")
	f := NewFile(path)
	lock, err := f.file.Open(context.Background(), discardQueue())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	l, err := f.Assign(ctx, Request{})
	if l != nil || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrGaveUp) || !strings.Contains(err.Error(), path+".lock") {
		t.Errorf("Assign() = %v, %v; want a RetryError with the lock's name", l, err)
	}
	if l, err := NewFile(path, WithTimeout(10*time.Millisecond)).Assign(context.Background(), Request{}); l != nil || !errors.Is(err, ErrGaveUp) {
		t.Errorf("Assign() with a timeout = %v, %v", l, err)
	}
	got := make(chan int64)
	go func() { got <- assign(t, f) }()
	time.Sleep(10 * time.Millisecond)
	lock.Close()
	if id := <-got; id != 1 {
		t.Errorf("worker ID %d, want 1", id)
	}
}

// requireOpenFileDeletion skips a test on systems where an open file cannot be deleted, for example
// Windows. There, nobody can delete a lock file that is in use.
func requireOpenFileDeletion(t *testing.T) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "open"))
	if err != nil {
		t.Fatal(err)
	}
	err = os.Remove(file.Name())
	file.Close()
	if err != nil {
		testkit.Missing(t, "this system does not delete open files: ", err)
	}
}

// A lock file that was deleted before it was locked does not exclude others, so it is not accepted as
// the lock.
func TestDeletedLockFileIsNotAccepted(t *testing.T) {
	leaktest.Check(t)
	requireOpenFileDeletion(t)
	path := filepath.Join(t.TempDir(), "worker")
	f, deleted := NewFile(path), 0
	f.file.Hook = func(at lockedfile.Step) error {
		if at == lockedfile.StepOpened && deleted < 3 {
			deleted++
			return os.Remove(path + ".lock")
		}
		return nil
	}
	lock, err := f.file.Open(context.Background(), discardQueue())
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if deleted != 3 || !lockedfile.SameFile(lock.Lock, path+".lock") {
		t.Errorf("after %d deletions, a deleted file is accepted as the lock", deleted)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if other, err := NewFile(path).file.Open(ctx, discardQueue()); err == nil {
		other.Close()
		t.Error("two Files hold the lock")
	}
}

// The lock file is deleted during an assignment, and other Files use a new one meanwhile. No worker ID
// is assigned twice, and the counter does not go back.
func TestInvariant1LockFileDeletedDuringAssign(t *testing.T) {
	leaktest.Check(t)
	requireOpenFileDeletion(t)
	for at := lockedfile.StepLocked; at < lockedfile.StepCount; at++ {
		for first := range 2 { // without a counter, and with one
			t.Run(fmt.Sprint("step ", int(at), " after ", first), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "worker")
				seen := map[int64]bool{}
				take := func(f *File) error {
					l, err := f.Assign(context.Background(), Request{})
					if err != nil {
						return err
					}
					if seen[l.WorkerID()] {
						t.Errorf("worker ID %d was assigned twice", l.WorkerID())
					}
					seen[l.WorkerID()] = true
					return nil
				}
				for range first {
					if err := take(NewFile(path)); err != nil {
						t.Fatal(err)
					}
				}
				f, reached := NewFile(path), false
				f.file.Hook = func(s lockedfile.Step) error {
					if s != at {
						return nil
					}
					reached = true
					if err := os.Remove(path + ".lock"); err != nil {
						t.Error(err)
					}
					for range 3 {
						if err := take(NewFile(path)); err != nil {
							t.Error(err)
						}
					}
					return nil
				}
				err := take(f)
				if !reached {
					if at != lockedfile.StepMarked || first == 0 {
						t.Fatal("the step was not reached")
					}
					return
				}
				if !errors.Is(err, ErrFile) {
					t.Errorf("Assign() with a deleted lock file = %v, want ErrFile", err)
				}
				for range 3 {
					if err := take(NewFile(path)); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

// A process is paused, and its lock file is deleted meanwhile. When it continues, it does not set the
// counter back, neither by its own rename nor by a temporary file that another process renames.
func TestInvariant1LockFileDeletedDuringAPause(t *testing.T) {
	requireOpenFileDeletion(t)
	path := filepath.Join(t.TempDir(), "worker")
	ctx := context.Background()
	assign := func(f *File) int64 {
		l, err := f.Assign(ctx, Request{})
		if err != nil {
			t.Fatal(err)
		}
		return l.WorkerID()
	}
	for range 5 {
		assign(NewFile(path))
	}
	var (
		greatest      int64
		paused, other = NewFile(path), NewFile(path)
		otherWrites   = make(chan struct{})
		pausedWrote   = make(chan struct{})
		ended         = make(chan error, 1)
	)
	other.file.Hook = func(s lockedfile.Step) error {
		if s == lockedfile.StepWritten {
			close(otherWrites)
			<-pausedWrote
		}
		return nil
	}
	paused.file.Hook = func(s lockedfile.Step) error {
		switch s {
		case lockedfile.StepRead:
			if err := os.Remove(path + ".lock"); err != nil {
				return err
			}
			for range 4 {
				greatest = assign(NewFile(path))
			}
			go func() {
				l, err := other.Assign(ctx, Request{})
				if err == nil {
					greatest = l.WorkerID()
				}
				ended <- err
			}()
			<-otherWrites
		case lockedfile.StepWritten:
			close(pausedWrote)
			<-ended
		}
		return nil
	}
	if l, err := paused.Assign(ctx, Request{}); err == nil {
		t.Errorf("worker ID %d was assigned without a lock", l.WorkerID())
	}
	if id := assign(NewFile(path)); id <= greatest {
		t.Errorf("worker ID %d was assigned after %d", id, greatest)
	}
}
