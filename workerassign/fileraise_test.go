package workerassign

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Raise skips worker IDs, and never goes back. Last reads what Assign and Raise have written.
func TestFileRaise(t *testing.T) {
	f := NewFile(filepath.Join(t.TempDir(), "worker"))
	last := func(want int64) {
		t.Helper()
		if n, err := f.Last(); n != want || err != nil {
			t.Fatalf("the last worker ID is %d, %v; want %d", n, err, want)
		}
	}
	raise := func(n, want int64) {
		t.Helper()
		if got, err := f.Raise(context.Background(), n); got != want || err != nil {
			t.Fatalf("Raise(%d): %d, %v; want %d", n, got, err, want)
		}
		last(want)
	}
	last(0)
	raise(7, 7) // also before the file exists
	if got := assign(t, f); got != 8 {
		t.Fatalf("worker ID %d, want 8", got)
	}
	last(8)
	raise(8, 8)
	raise(3, 8)
	raise(100, 100)
	if got := assign(t, f); got != 101 {
		t.Fatalf("worker ID %d, want 101", got)
	}
	raise(math.MaxInt64-1, math.MaxInt64-1)
	if _, err := f.Raise(context.Background(), 5); err != nil {
		t.Error(err)
	}
}

// Wrong numbers and wrong files are errors, and change nothing.
func TestFileRaiseErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "worker")
	f := NewFile(path)
	for _, n := range []int64{math.MinInt64, -1, 0, math.MaxInt64} {
		if _, err := f.Raise(context.Background(), n); !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), "must be 1 to 9223372036854775806") {
			t.Errorf("Raise(%d): %v", n, err)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v; want no files", entries, err)
	}
	for _, bad := range []*File{nil, {}, NewFile("")} {
		if _, err := bad.Raise(context.Background(), 5); !errors.Is(err, ErrOption) {
			t.Error(err)
		}
		if _, err := bad.Last(); !errors.Is(err, ErrOption) {
			t.Error(err)
		}
	}
	assign(t, f)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if n, err := f.Last(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a lost file: %d, %v", n, err)
	}
	if n, err := f.Raise(context.Background(), 5); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a lost file: %d, %v", n, err)
	}
	if err := os.WriteFile(path, []byte("ringuid-worker v1 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := f.Last(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a wrong file: %d, %v", n, err)
	}
	none := NewFile(filepath.Join(path, "none", "worker"))
	if n, err := none.Last(); !errors.Is(err, ErrFile) {
		t.Errorf("no directory: %d, %v", n, err)
	}
}

// A lock file that is empty was created by an Assign that has written no counter yet. One that cannot be read is an error.
func TestFileLastBeforeCounter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "worker")
	if err := os.WriteFile(path+".lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := NewFile(path).Last(); n != 0 || err != nil {
		t.Errorf("Last() with an empty lock file = %d, %v; want 0", n, err)
	}
	if err := os.Remove(path + ".lock"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path+".lock", 0o700); err != nil {
		t.Fatal(err)
	}
	if n, err := NewFile(path).Last(); !errors.Is(err, ErrFile) {
		t.Errorf("Last() with a directory as the lock file = %d, %v; want ErrFile", n, err)
	}
}

// Concurrent calls of Assign and Raise assign no worker ID twice, and none up to what Raise has returned before.
func TestFileRaiseConcurrently(t *testing.T) {
	path := filepath.Join(t.TempDir(), "worker")
	var mu sync.Mutex
	seen := map[int64]bool{}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			f := NewFile(path)
			for i := range 10 {
				floor, err := f.Raise(context.Background(), int64(10*i+g+1))
				if err != nil {
					t.Error(err)
					return
				}
				l, err := f.Assign(context.Background(), Request{})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if id := l.WorkerID(); seen[id] || id <= floor {
					t.Errorf("worker ID %d: twice: %v; the last one was %d before", id, seen[id], floor)
				}
				seen[l.WorkerID()] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}
