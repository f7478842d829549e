package segment_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// A tag that does not exist is an error, and is found within a second after it was created.
func TestTagsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var takes atomic.Int64
		m := segmenttest.NewMemory()
		tags := newTags(t, hookedSource{m, func(context.Context, segment.Request) error { takes.Add(1); return nil }})
		for range 100 {
			if v, err := tags.Next("x"); v != 0 || !errors.Is(err, segment.ErrNoTag) {
				t.Fatalf("Next = %d, %v; want ErrNoTag", v, err)
			}
		}
		if n := takes.Load(); n != 1 {
			t.Errorf("the source was asked %d times for a tag that it does not have, want once", n)
		}
		time.Sleep(123 * time.Millisecond)
		create(t, m, "x", segment.TagConfig{})
		begin := time.Now()
		for {
			if v, err := tags.Next("x"); err == nil {
				if v != 1 {
					t.Errorf("Next = %d, want 1", v)
				}
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("the tag was found %v after it was created, want within a second", took)
		}
	})
}

// The first use of a tag waits while the source is down, as the others do, and returns what has failed.
func TestTagsDownAtFirstUse(t *testing.T) {
	for _, how := range []string{"down", "paused"} {
		synctest.Test(t, func(t *testing.T) {
			m := segmenttest.NewMemory()
			create(t, m, "x", segment.TagConfig{})
			tags := newTags(t, m)
			if how == "down" {
				m.Kill()
			} else {
				m.Pause()
			}
			begin := time.Now()
			_, err := tags.Next("x")
			var empty *segment.EmptyError
			if took := time.Since(begin); !errors.As(err, &empty) || took != 3*time.Second || empty.Tag != "x" || empty.Source == "" || empty.Wait == nil {
				t.Fatalf("Next with a source that is %s = %v after %v; want an EmptyError after 3s", how, err, took)
			}
			if how == "down" && (!errors.Is(err, segmenttest.ErrDown) || empty.Since != begin || empty.Tries < 3) {
				t.Errorf("the error is %#v; want ErrDown since %v", empty, begin)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := tags.NextContext(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, segment.ErrEmpty) {
				t.Errorf("NextContext = %v; want ErrEmpty and the error of the context", err)
			}
			time.AfterFunc(time.Second, func() { m.Start(); m.Resume() })
			begin = time.Now()
			if v, err := tags.Next("x"); err != nil || v != 1 || time.Since(begin) > 2*time.Second {
				t.Errorf("Next when the source is up again after a second = %d, %v after %v", v, err, time.Since(begin))
			}
		})
	}
}
