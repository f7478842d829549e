package workerassign

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/workerfile"
)

// A corrupt file is an error that names it, and File does not change it. Starting at 1 again would
// assign every worker ID a second time.
func TestCorruptFileIsNotReset(t *testing.T) {
	for _, text := range corruptTexts {
		path := filepath.Join(t.TempDir(), "worker")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			l, err := NewFile(path).Assign(context.Background(), Request{})
			if l != nil || !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "greater than all worker IDs") ||
				!strings.Contains(err.Error(), "never an older copy") {
				t.Errorf("%q: Assign() = %v, %v; want ErrCorrupt with the path and what to do", text, l, err)
			}
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Errorf("the content %q was changed to %q, %v", text, now, err)
		}
	}
}

// The content of another kind of file is an error that says so, and not how to repair a worker file.
func TestOtherFileIsNotReset(t *testing.T) {
	path := filepath.Join(t.TempDir(), "worker")
	if err := os.WriteFile(path, []byte(workerfile.SlotsHeader+" \"\" \"\" \"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := NewFile(path).Assign(context.Background(), Request{})
	if want := path + ": it is a slot file, of recycled worker IDs (package filestore); use another path"; l != nil || !errors.Is(err, ErrCorrupt) ||
		!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "write a number") {
		t.Errorf("Assign() = %v, %v; want ErrCorrupt with %q", l, err, want)
	}
}

// A counter that is missing while its lock file exists was lost. Writing a number as the error advises
// repairs it.
func TestMissingFileIsNotReset(t *testing.T) {
	path := filepath.Join(t.TempDir(), "worker")
	assign(t, NewFile(path))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		l, err := NewFile(path).Assign(context.Background(), Request{})
		if l != nil || !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), path+" is missing") {
			t.Errorf("Assign() = %v, %v; want ErrCorrupt with the path", l, err)
		}
	}
	if err := os.WriteFile(path, []byte(formatCounter(1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := assign(t, NewFile(path)); got != 1001 {
		t.Errorf("worker ID %d, want 1001", got)
	}
}
