//go:build unix && !aix && !solaris

package filestore_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/stores/filestore"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// slotFileFaults injects faults into all slot files of a directory. A file has no server: somebody who
// holds its lock stops it.
type slotFileFaults struct {
	directory string
	releases  []func() // of the locks
}

// files returns the names of the files.
func (f *slotFileFaults) files(tb testing.TB) (names []string) {
	tb.Helper()
	entries, err := os.ReadDir(f.directory)
	if err != nil {
		tb.Fatal(err)
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) == "" {
			names = append(names, filepath.Join(f.directory, e.Name()))
		}
	}
	return names
}

// pause locks the files.
func (f *slotFileFaults) pause(tb testing.TB) {
	for _, name := range f.files(tb) {
		f.releases = append(f.releases, holdFileLock(tb, name))
	}
}

// resume releases the locks.
func (f *slotFileFaults) resume(testing.TB) {
	for _, release := range f.releases {
		release()
	}
	f.releases = nil
}

// restore makes the files as they were before write: an operator restores a backup.
func (f *slotFileFaults) restore(tb testing.TB, write func()) {
	old := map[string][]byte{}
	for _, name := range f.files(tb) {
		content, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		old[name] = content
	}
	write()
	f.pause(tb)
	defer f.resume(tb)
	for name, content := range old {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			tb.Error(err)
		}
	}
}

// faults returns what both tests inject.
func (f *slotFileFaults) faults() assigntest.Faults {
	const noServer = "a file has no server"
	return assigntest.Faults{
		Pause: f.pause, Resume: f.resume,
		LoseRequests: func(tb testing.TB, call func()) { f.pause(tb); defer f.resume(tb); call() },
		Without: map[string]string{
			"Kill":  noServer + "; TestSlotFileCrashAfterEachStep and TestInvariant1SlotFileProcesses end its processes",
			"Start": noServer, "LoseReplies": noServer, "DelayWrites": noServer,
			"StepClock": "the clock is this host's",
		},
	}
}

// The file store fulfils the contract of recycled.Store.
func TestSlotFileConformance(t *testing.T) {
	testkit.Slow(t, "it waits for the disk")
	f := &slotFileFaults{directory: t.TempDir()}
	faults := f.faults()
	faults.Without["LoseWrites"] = "a file loses no writes, unless somebody restores an earlier copy: see TestR7SlotFileCopy and TestRecycledOnSlotFile"
	var stoppedAt atomic.Pointer[time.Time]
	faults.StopClock = func(_ testing.TB, at time.Time) {
		stoppedAt.Store(&at)
		if at.IsZero() {
			stoppedAt.Store(nil)
		}
	}
	assigntest.RunStoreTests(t, assigntest.Harness{
		NewStore: func(_ testing.TB, pool string) recycled.Store {
			s := filestore.New(filepath.Join(f.directory, pool), filestore.WithLogger(slog.New(slog.DiscardHandler)))
			filestore.SetClock(s, func() time.Time {
				if at := stoppedAt.Load(); at != nil {
					return *at
				}
				return time.Now()
			})
			return s
		},
		Faults: faults,
	})
}

// Recycled on a file keeps invariant 1, also when earlier copies of the file are restored.
func TestRecycledOnSlotFile(t *testing.T) {
	testkit.Slow(t, "it waits for the disk")
	f := &slotFileFaults{directory: t.TempDir()}
	faults := f.faults()
	faults.LoseWrites = f.restore
	const horizon = 2 * time.Second
	assigntest.RunAssignerTests(t, assigntest.AssignerHarness{
		NewAssigner: func(_ testing.TB, pool string) workerassign.Assigner {
			return recycled.New(filestore.New(filepath.Join(f.directory, pool), filestore.WithLogger(slog.New(slog.DiscardHandler))), recycled.WithLogger(slog.New(slog.DiscardHandler)), recycled.WithHorizon(horizon),
				recycled.WithFencing(0), recycled.WithSkew(0), recycled.WithClockBound(200*time.Millisecond))
		},
		Faults: faults, Horizon: horizon, Recycles: true,
	})
}
