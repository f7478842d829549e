package segment

import (
	"errors"
	"testing"
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
