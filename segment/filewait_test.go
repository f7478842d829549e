package segment

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
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
			_, err := f.Take(ctx, Request{Tag: "orders"})
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
