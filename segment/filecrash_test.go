package segment

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/ringuid/ringuid/internal/lockedfile"
)

// Errors of a write belong to the calls of that write only.
func TestFileCrashes(t *testing.T) {
	crash := errors.New("crash")
	for at := range lockedfile.StepCount {
		t.Run(fmt.Sprint("step ", int(at)), func(t *testing.T) {
			t.Parallel() // it waits for the disk most of the time
			path := filepath.Join(t.TempDir(), "segments")
			last, crashes := int64(0), 0
			for n := range 6 {
				for _, method := range []func(f *File) error{
					func(f *File) error {
						err := f.CreateTag(t.Context(), "orders", TagConfig{Step: 10})
						if errors.Is(err, ErrTagExists) {
							return nil
						}
						return err
					},
					func(f *File) error {
						got, err := f.Take(t.Context(), Request{Tag: "orders", AtLeast: last})
						if err == nil {
							last = got.First + got.Length
						}
						return err
					},
				} {
					f := NewFile(path)
					failFileAt(f, at, crash)
					if err := method(f); errors.Is(err, crash) {
						crashes++
					} else if err != nil && !(errors.Is(err, ErrNoTag) && last == 0) {
						t.Fatalf("round %d: %v", n, err)
					}
					// The process that crashed goes on, and a new one.
					f.hook = nil
					for _, f := range []*File{f, NewFile(path)} {
						if err := method(f); err != nil && !(errors.Is(err, ErrNoTag) && last == 0) {
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
