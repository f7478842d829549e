package segment

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A try that failed because of close is ErrClosed for those who have waited for it, and an opening that succeeded
// counts although the context has ended.
func TestAwaitAtClose(t *testing.T) {
	for range 100 {
		b := newBackground()
		<-b.close()
		failed := nextOpening(nil)
		failed.err = ErrSource
		failed.failed()
		close(failed.done)
		if _, err := b.await(t.Context(), time.Minute, EmptyError{}, func() (*opening, error) { return failed, nil }); !errors.Is(err, ErrClosed) {
			t.Fatalf("await of a try that has failed after close = %v, want ErrClosed", err)
		}
		if b.run(func() {}) {
			t.Fatal("run after close runs its function")
		}
		b = newBackground()
		if o, err := b.await(t.Context(), 0, EmptyError{}, func() (*opening, error) { return opened(nil), nil }); err != nil || o == nil {
			t.Fatalf("await of a finished try, without waiting = %v", err)
		}
		b.close()
	}
}

// A tag is dropped just before a call begins to wait for it: the call gets a number of the Sequence that is opened for it.
func TestTagsDroppedBeforeACallWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newMemorySource(10)
		tags, s := newTestTags(t, src, WithMaxWait(time.Minute), WithIdle(time.Hour))
		src.fail(hang)
		waits := make(chan error, 1)
		go func() {
			for {
				if _, err := tags.Next(testTag); err != nil || s.closed.Load() {
					waits <- err
					return
				}
			}
		}()
		synctest.Wait() // all numbers in memory are used up
		src.fail(nil)
		e, _ := tags.tags.Load(testTag)
		e.(*tagEntry).seq.Store(nil) // as dropIfIdle does
		s.Close()
		if err := <-waits; err != nil {
			t.Errorf("Next() = %v", err)
		}
	})
}
