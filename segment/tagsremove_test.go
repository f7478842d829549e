package segment_test

import (
	"context"
	"errors"
	"maps"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// A tag that could not be opened at first is opened, and stays in memory: it is not opened a second time.
func TestTagThatOpensLaterStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		tags := newTags(t, hookedSource{segmenttest.NewMemory(), func(context.Context, segment.Request) error {
			if down.Load() {
				return segmenttest.ErrDown
			}
			return nil
		}}, segment.WithCreate(segment.TagConfig{Step: 10}), segment.WithMaxWait(time.Millisecond))
		down.Store(true)
		if _, err := tags.Next("a"); !errors.Is(err, segment.ErrEmpty) {
			t.Fatalf("Next() = %v, want ErrEmpty", err)
		}
		down.Store(false)
		var first int64
		for deadline := time.Now().Add(time.Second); first == 0; time.Sleep(time.Millisecond) {
			first, _ = tags.Next("a")
			if time.Now().After(deadline) {
				t.Fatal("the tag is not opened")
			}
		}
		time.Sleep(time.Minute)
		if n, err := tags.Next("a"); n != first+1 || err != nil {
			t.Errorf("Next() = %d, %v; want %d", n, err, first+1)
		}
		if n := len(maps.Collect(tags.Stats())); n != 1 {
			t.Errorf("%d tags are in memory, want 1", n)
		}
	})
}
