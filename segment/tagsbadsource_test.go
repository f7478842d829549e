package segment_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/leaktest"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// A source that ends its goroutine at the first use, as a test's FailNow does, gives an error, and the tag works afterwards: the only
// place was given back.
func TestTagsBadSource(t *testing.T) {
	leaktest.Check(t)
	synctest.Test(t, func(t *testing.T) {
		var isBad atomic.Bool
		isBad.Store(true)
		m := segmenttest.NewMemory()
		create(t, m, "x", segment.TagConfig{})
		tags := newTags(t, hookedSource{m, func(context.Context, segment.Request) error {
			if isBad.Load() {
				runtime.Goexit()
			}
			return nil
		}}, segment.WithMaxTakes(1))
		if _, err := tags.Next("x"); err == nil {
			t.Error("Next succeeded")
		}
		isBad.Store(false)
		time.Sleep(time.Second)
		if v, err := tags.Next("x"); err != nil || v != 1 {
			t.Errorf("Next afterwards = %d, %v; want 1", v, err)
		}
	})
}

// A source that calls Next of its own Tags gets an error in time, and so does its caller.
func TestTagsRecursion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tags *segment.Tags
		var inner error
		m := segmenttest.NewMemory()
		create(t, m, "x", segment.TagConfig{})
		tags = newTags(t, hookedSource{m, func(ctx context.Context, r segment.Request) error {
			_, inner = tags.NextContext(ctx, r.Tag)
			return inner
		}})
		begin := time.Now()
		if _, err := tags.Next("x"); !errors.Is(err, segment.ErrEmpty) || time.Since(begin) > 3*time.Second {
			t.Errorf("Next = %v after %v; want ErrEmpty", err, time.Since(begin))
		}
		if err := tags.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
		if inner == nil {
			t.Error("the call within the source succeeded")
		}
	})
}

// callingError is an error whose text is made by a function.
type callingError struct{ text func() string }

func (e callingError) Error() string { return e.text() }

// The text of a source's error, also in a log record, may use the Tags: it is not made under a lock.
func TestTagsErrorUsesTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tags *segment.Tags
		var used atomic.Int64
		use := func() string {
			for range tags.Health() {
				used.Add(1)
			}
			for range tags.Stats() {
				used.Add(1)
			}
			return fmt.Sprint(len(tags.Sources()))
		}
		var bad atomic.Bool
		m := segmenttest.NewMemory()
		tags = newTags(t, hookedSource{m, func(context.Context, segment.Request) error {
			if bad.Load() {
				return callingError{use}
			}
			return nil
		}}, segment.WithCreate(segment.TagConfig{Step: 1}), segment.WithStepPolicy(segment.FixedStep{}), segment.WithMaxTakes(1),
			segment.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
		for n := range 3 {
			if _, err := tags.Next(fmt.Sprint("tag", n)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		bad.Store(true)
		for range 3 {
			for n := range 3 {
				if _, err := tags.Next(fmt.Sprint("tag", n)); err != nil && err.Error() == "" {
					t.Error("the error has no text")
				}
			}
		}
		for _, h := range tags.Health() {
			if h.LastError == nil || h.LastError.Error() == "" {
				t.Errorf("Health = %+v, want the failure", h)
			}
		}
		if used.Load() == 0 {
			t.Error("the text was not used")
		}
	})
}
