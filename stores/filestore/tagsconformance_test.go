package filestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
	"github.com/ringuid/ringuid/stores/filestore"
)

// A File is a source as segmenttest demands it.
func TestFileConformance(t *testing.T) {
	t.Parallel() // it waits for the disk most of the time
	var path string
	var failing atomic.Bool
	var resume func()
	client := func(testing.TB) segment.Creator {
		// After LoseWrites, the file is a copy.
		return filestore.FailFileWhen(filestore.New(path, filestore.WithCopyGap(1_000_000)), func() error {
			if failing.Load() {
				return errors.New("a reply was lost")
			}
			return nil
		})
	}
	segmenttest.Run(t, segmenttest.Harness{
		New: func(tb testing.TB) segment.Creator {
			path = filepath.Join(tb.TempDir(), "segments")
			return client(tb)
		},
		Client: client,
		Faults: segmenttest.Faults{
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
		},
	})
}
