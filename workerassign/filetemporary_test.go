package workerassign

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/workerfile"
)

// Temporary files that a crash leaves behind are removed by the next process, for each kind of file.
func TestTemporariesRemoved(t *testing.T) {
	for name, tt := range map[string]struct {
		open func(path string) Assigner
		file func(a Assigner) *workerfile.File
	}{
		"worker file": {func(path string) Assigner { return NewFile(path) }, func(a Assigner) *workerfile.File { return a.(*File).file }},
		"static file": {func(path string) Assigner { return StaticFile(7, path, WithNewFile()) }, func(a Assigner) *workerfile.File { return a.(*staticFile).file }},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			assign := func(crashes bool) {
				t.Helper()
				a := tt.open(path)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if crashes {
					tt.file(a).Hook = func(s lockedfile.Step) error {
						if s == lockedfile.StepWritten {
							cancel() // no other try
							return errors.New("crash")
						}
						return nil
					}
				}
				l, err := a.Assign(ctx, Request{MaxWorkerID: 1000, Format: "test"})
				if err == nil { // a static file is written by the first Reserve
					_, err = l.Reserve(ctx, time.Now().Add(time.Second))
				}
				if crashes != (err != nil) {
					t.Fatalf("Assign() = %v; want an error: %v", err, crashes)
				}
				if l != nil {
					l.Release(t.Context(), l.NotBefore())
				}
			}
			assign(false)
			assign(true)
			if names, _ := filepath.Glob(path + ".tmp*"); len(names) == 0 {
				t.Fatal("there is no temporary file")
			}
			assign(false)
			if names, _ := filepath.Glob(path + ".tmp*"); len(names) > 0 {
				t.Errorf("the temporary files %q remain", names)
			}
		})
	}
}
