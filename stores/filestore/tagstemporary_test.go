package filestore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/segment"
)

// A temporary file that a crash leaves behind is removed by the next process, once it has the lock, and not before.
func TestFileTemporaries(t *testing.T) {
	path, f := newTagsFile(t, "orders")
	crash := errors.New("crash")
	failFileAt(f, lockedfile.StepWritten, crash)
	for range 3 {
		if _, err := f.Take(t.Context(), segment.Request{Tag: "orders"}); !errors.Is(err, crash) {
			t.Fatal(err)
		}
	}
	temporaries := func() (names []string) {
		entries, err := os.ReadDir(filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.Contains(e.Name(), ".tmp") {
				names = append(names, e.Name())
			}
		}
		return names
	}
	if got := temporaries(); len(got) != 3 {
		t.Fatalf("the temporary files are %q; want 3", got)
	}
	release := holdFileLock(t, path)
	next := openTags(path)
	done := make(chan error)
	locking := make(chan struct{}, 1)
	next.tags.hook = func(s lockedfile.Step) error {
		select {
		case locking <- struct{}{}:
		default:
		}
		return nil
	}
	go func() {
		_, err := next.Take(t.Context(), segment.Request{Tag: "orders"})
		done <- err
	}()
	<-locking // the Take has tried to acquire the lock
	if got := temporaries(); len(got) != 3 {
		t.Errorf("without the lock, %q remain; want 3", got)
	}
	release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := temporaries(); len(got) != 0 {
		t.Errorf("the temporary files %q remain", got)
	}
}
