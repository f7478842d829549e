package segment_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/leaktest"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// A counter that was set back while its tag was dropped is refused, and works again when it was raised.
func TestTagsSetBackWhileDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := segmenttest.NewMemory()
		create(t, m, "x", segment.TagConfig{Step: 10})
		tags := newTags(t, m, segment.WithIdle(time.Second))
		last := int64(0)
		for range 15 {
			v, err := tags.Next("x")
			if err != nil {
				t.Fatal(err)
			}
			last = v
		}
		time.Sleep(3 * time.Second)
		for range tags.Stats() {
			t.Fatal("the tag is still open after 3 s of no use")
		}
		end := m.Counter("x")
		m.SetCounter("x", 5)
		if v, err := tags.Next("x"); !errors.Is(err, segment.ErrSetBack) {
			t.Fatalf("Next after the counter was set back = %d, %v; want ErrSetBack", v, err)
		}
		if c := m.Counter("x"); c != 5 {
			t.Errorf("the counter is %d after a refusal, want 5", c)
		}
		time.Sleep(time.Hour) // the entry is kept
		if v, err := tags.Next("x"); !errors.Is(err, segment.ErrSetBack) {
			t.Fatalf("Next an hour later = %d, %v; want ErrSetBack", v, err)
		}
		m.SetCounter("x", end)
		time.Sleep(time.Second)
		if v, err := tags.Next("x"); err != nil || v <= last {
			t.Errorf("Next after the counter was raised = %d, %v; want more than %d", v, err, last)
		}
	})
}

// A tag whose calls fail is not idle: its Health, and the alerts on it, last as long as its calls.
func TestTagsNotDroppedWhileCallsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := segmenttest.NewMemory()
		create(t, m, "x", segment.TagConfig{Step: 2})
		tags := newTags(t, m, segment.WithIdle(time.Second))
		if _, err := tags.Next("x"); err != nil {
			t.Fatal(err)
		}
		m.SetCounter("x", 1)
		failed := 0
		for range 300 {
			time.Sleep(100 * time.Millisecond)
			if _, err := tags.Next("x"); err != nil {
				failed++
			}
		}
		for _, h := range tags.Health() {
			if failed < 200 || !errors.Is(h.Err, segment.ErrSetBack) {
				t.Errorf("Health after %d failed calls = %+v", failed, h)
			}
			time.Sleep(3 * time.Second)
			for range tags.Health() {
				t.Error("the tag is still open after 3 s without a call")
			}
			return
		}
		t.Errorf("the tag is not open after %d failed calls", failed)
	})
}

// A tag is not idle while a call waits for it, however long that takes.
func TestTagsNotDroppedWhileCallWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := segmenttest.NewMemory()
		create(t, m, "x", segment.TagConfig{Step: 1})
		tags := newTags(t, m, segment.WithIdle(time.Second), segment.WithMaxWait(time.Minute))
		if _, err := tags.Next("x"); err != nil {
			t.Fatal(err)
		}
		m.Pause()
		var calls sync.WaitGroup
		calls.Go(func() {
			for range 1000 { // more than are in memory
				if _, err := tags.Next("x"); err != nil {
					t.Error(err)
					return
				}
			}
		})
		time.Sleep(10 * time.Second)
		open := 0
		for range tags.Stats() {
			open++
		}
		if open != 1 {
			t.Error("the tag is not open although a call waits for it")
		}
		m.Resume()
		calls.Wait()
	})
}

// Next races with the drop of its tag: no number is lost for the caller, and none comes twice.
func TestTagsNextWhileDropped(t *testing.T) {
	leaktest.Check(t)
	synctest.Test(t, func(t *testing.T) {
		m := segmenttest.NewMemory()
		create(t, m, "x", segment.TagConfig{Step: 2})
		tags := newTags(t, m, segment.WithIdle(time.Second))
		var seen uniq.Set
		for range 300 {
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					v, err := tags.Next("x")
					if err != nil || !seen.Writer().Add(v) {
						t.Errorf("Next = %d, %v; want a new number", v, err)
					}
				})
			}
			wg.Wait()
			time.Sleep(2 * time.Second) // the next calls and the drop are at the same time
		}
	})
}
