package filestore

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/segment"
)

// Errors of a write belong to the calls of that write only.
func TestFileCrashes(t *testing.T) {
	crash := errors.New("crash")
	for at := range lockedfile.StepCount {
		t.Run(fmt.Sprint("step ", int(at)), func(t *testing.T) {
			t.Parallel() // it waits for the disk most of the time
			path := filepath.Join(t.TempDir(), "segments"+TagsSuffix)
			last, crashes := int64(0), 0
			for n := range 6 {
				for _, method := range []func(f *Store) error{
					func(f *Store) error {
						err := f.CreateTag(t.Context(), "orders", segment.TagConfig{Step: 10})
						if errors.Is(err, segment.ErrTagExists) {
							return nil
						}
						return err
					},
					func(f *Store) error {
						got, err := f.Take(t.Context(), segment.Request{Tag: "orders", AtLeast: last})
						if err == nil {
							last = got.First + got.Length
						}
						return err
					},
				} {
					f := openTags(path)
					failFileAt(f, at, crash)
					if err := method(f); errors.Is(err, crash) {
						crashes++
					} else if err != nil && !(errors.Is(err, segment.ErrNoTag) && last == 0) {
						t.Fatalf("round %d: %v", n, err)
					}
					// The process that crashed goes on, and a new one.
					f.tags.hook = nil
					for _, f := range []*Store{f, openTags(path)} {
						if err := method(f); err != nil && !(errors.Is(err, segment.ErrNoTag) && last == 0) {
							t.Fatalf("round %d, after a crash: %v", n, err)
						}
					}
				}
			}
			if crashes == 0 {
				t.Errorf("step %d was not reached", at)
			}
		})
	}
}
