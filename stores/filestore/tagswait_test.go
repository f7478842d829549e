package filestore

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/segment"
)

// A Take waits for the lock until its context ends, and the error says for what. Those that share its
// turn are not affected.
func TestFileWaitsForLock(t *testing.T) {
	path, f := newTagsFile(t, "orders")
	release := holdFileLock(t, path)
	results := make(chan error, 8)
	for n := range 8 {
		timeout := 50 * time.Millisecond
		if n%2 == 1 {
			timeout = time.Minute
		}
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), timeout)
			defer cancel()
			_, err := f.Take(ctx, segment.Request{Tag: "orders"})
			results <- err
		}()
	}
	for range 4 {
		if err := <-results; !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), path) {
			t.Errorf("Take while another process holds the lock = %v", err)
		}
	}
	release()
	for range 4 {
		if err := <-results; err != nil {
			t.Errorf("Take after the lock was released = %v", err)
		}
	}
	if got := mustTakeFile(t, f, "orders"); got.First != 41 {
		t.Errorf("4 Takes of 10 numbers were executed, and the next range is %+v; want 41", got)
	}
}

// Another process waits if it has set the time of the lock file lately. A clock that was set does not matter.
func TestFileIsContended(t *testing.T) {
	path, _ := newTagsFile(t, "orders")
	lock, err := os.Open(path + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		ago  time.Duration
		want bool
	}{{0, true}, {-time.Hour, false}, {time.Hour, false}} {
		for tries := 0; ; tries++ { // this process may be suspended in between
			at := time.Now().Add(-tt.ago)
			if err := os.Chtimes(path+".lock", at, at); err != nil {
				t.Fatal(err)
			}
			if isContended(lock) == tt.want {
				break
			}
			if tries == 100 {
				t.Fatalf("isContended %v after another process has tried = %t", tt.ago, !tt.want)
			}
		}
	}
	lock.Close()
	if isContended(lock) {
		t.Error("isContended of a closed file")
	}
}
