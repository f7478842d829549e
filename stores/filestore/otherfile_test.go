package filestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/stores/filestore"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A file of another kind is refused with the name of its kind. The advice must not be to replace or to delete it, which would lose
// what it protects.
func TestFileOfAnotherKind(t *testing.T) {
	directory := t.TempDir()
	worker, slots := filepath.Join(directory, "worker"), filepath.Join(directory, "slots")
	request := workerassign.Request{MaxWorkerID: 100, Format: "f"}
	if _, err := workerassign.NewFile(worker).Assign(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	pool := slottest.New(t, filestore.New(slots))
	lease, err := pool.Assign(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	segments := filepath.Join(directory, "segments")
	if err := os.WriteFile(segments, []byte("ringuid-segments v1 x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	last := func(path string) error { _, err := workerassign.NewFile(path).Last(); return err }
	assign := func(path string) error { _, err := workerassign.NewFile(path).Assign(t.Context(), request); return err }
	recycle := func(path string) error {
		_, err := recycled.New(filestore.New(path)).Assign(t.Context(), request)
		return err
	}
	for _, tt := range []struct {
		path, want string
		call       func(string) error
	}{
		{slots, "it is a slot file, of recycled worker IDs (package filestore)", last},
		{slots, "it is a slot file, of recycled worker IDs (package filestore)", assign},
		{worker, "it is a worker file, of disposable worker IDs (workerassign.NewFile)", recycle},
		{segments, "it is a file of tags", last},
		{segments, "it is a file of tags", recycle},
	} {
		before, err := os.ReadFile(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		err = tt.call(tt.path)
		if !errors.Is(err, workerassign.ErrCorrupt) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "use another path") ||
			strings.Contains(err.Error(), "delete it and") || strings.Contains(err.Error(), "write a number") {
			t.Errorf("%s: %v, want %q", tt.path, err, tt.want)
		}
		if after, err := os.ReadFile(tt.path); err != nil || string(after) != string(before) {
			t.Errorf("%s was changed: %v", tt.path, err)
		}
	}
}
