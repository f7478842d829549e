package workerassign

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/ringuid/ringuid/internal/lockedfile"
	"github.com/ringuid/ringuid/internal/testkit/leaktest"
)

var errCrash = errors.New("crash")

// A crash may happen after any step, repeatedly. No worker ID is assigned twice, and no Assign after a
// crash fails.
func TestCrashAfterEachStep(t *testing.T) {
	leaktest.Check(t)
	for at := range lockedfile.StepCount {
		t.Run(fmt.Sprint("step ", int(at)), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "worker")
			last := int64(0)
			for range 5 {
				f := NewFile(path)
				f.file.Hook = func(s lockedfile.Step) error {
					if s == at {
						return errCrash
					}
					return nil
				}
				if l, err := f.Assign(context.Background(), Request{}); err == nil {
					if at != lockedfile.StepMarked { // this step is reached only in the first round
						t.Fatalf("step %d was not reached", at)
					}
					if l.WorkerID() <= last {
						t.Fatalf("worker ID %d after %d", l.WorkerID(), last)
					}
					last = l.WorkerID()
				} else if !errors.Is(err, errCrash) {
					t.Fatal(err)
				}
				got := assign(t, NewFile(path))
				if got <= last || got > last+2 {
					t.Fatalf("worker ID %d after %d", got, last)
				}
				last = got
			}
		})
	}
}
