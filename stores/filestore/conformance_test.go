//go:build unix && !aix && !solaris

package filestore_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/segment/segmenttest"
	"github.com/ringuid/ringuid/stores/filestore"
	"github.com/ringuid/ringuid/stores/storetest"
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

// The store fulfils the contracts of recycled.Store and segment.Creator.
func TestStore(t *testing.T) {
	t.Parallel() // it waits for the disk most of the time
	f := &slotFileFaults{directory: t.TempDir()}
	slots := f.faults()
	slots.Without["LoseWrites"] = "a file loses no writes, unless somebody restores an earlier copy: see TestR7SlotFileCopy and TestRecycledOnSlotFile"
	var stoppedAt atomic.Pointer[time.Time]
	slots.StopClock = func(_ testing.TB, at time.Time) {
		stoppedAt.Store(&at)
		if at.IsZero() {
			stoppedAt.Store(nil)
		}
	}
	var path string // of the store that was opened last
	var failing atomic.Bool
	var resume func()
	storetest.Run(t, storetest.Harness{
		New: func(_ testing.TB, name string) storetest.Store {
			path = filepath.Join(f.directory, name)
			// After LoseWrites, the file of the tags is a copy.
			s := filestore.New(path, filestore.WithLogger(slog.New(slog.DiscardHandler)), filestore.WithCopyGap(1_000_000))
			filestore.SetClock(s, func() time.Time {
				if at := stoppedAt.Load(); at != nil {
					return *at
				}
				return time.Now()
			})
			return filestore.FailFileWhen(s, func() error {
				if failing.Load() {
					return errors.New("a reply was lost")
				}
				return nil
			})
		},
		Slots: slots,
		Tags: segmenttest.Harness{Faults: segmenttest.Faults{
			LoseReplies: func(_ testing.TB, call func()) {
				failing.Store(true)
				call()
				failing.Store(false)
			},
			Pause:  func(tb testing.TB) { resume = filestore.HoldFileLock(tb, path) },
			Resume: func(testing.TB) { resume() },
			LoseWrites: func(tb testing.TB, write func()) {
				data, err := os.ReadFile(path + filestore.TagsSuffix)
				if err != nil {
					tb.Fatal(err)
				}
				write()
				if err := errors.Join(os.WriteFile(path+".backup", data, 0o600), os.Rename(path+".backup", path+filestore.TagsSuffix)); err != nil {
					tb.Fatal(err)
				}
			},
			LoseWritesUnnoticed: func(tb testing.TB, write func()) {
				setBack := filestore.SetBackFile(tb, path)
				write()
				setBack()
			},
			SetCounter: func(tb testing.TB, tag string, next int64) { filestore.SetFileCounter(tb, path, tag, next) },
			Without:    map[string]string{"Kill": "there is no server: see TestFileProcesses", "Start": "there is no server"},
		}},
	})
}

// Recycled on a file keeps invariant 1, also when earlier copies of the file are restored.
func TestRecycledOnSlotFile(t *testing.T) {
	testkit.Slow(t, "it waits for the disk")
	f := &slotFileFaults{directory: t.TempDir()}
	faults := f.faults()
	faults.LoseWrites = f.restore
	const horizon = time.Minute // a disk may be slow
	assigntest.RunAssignerTests(t, assigntest.AssignerHarness{
		NewAssigner: func(_ testing.TB, pool string) workerassign.Assigner {
			return recycled.New(filestore.New(filepath.Join(f.directory, pool), filestore.WithLogger(slog.New(slog.DiscardHandler))), recycled.WithLogger(slog.New(slog.DiscardHandler)), recycled.WithHorizon(horizon),
				recycled.WithFencing(0), recycled.WithSkew(0), recycled.WithClockBound(200*time.Millisecond))
		},
		Faults: faults, Horizon: horizon, Recycles: true,
	})
}
