package recycled_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// An Assign that was cancelled does not try again, and does not log that it does.
func TestNoRetryLogAtTheEnd(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.Kill()
		ctx, cancel := context.WithCancel(context.Background()) // outside of the bubble, t.Context would end it
		cancel()
		before := len(f.log.String())
		if _, err := f.assigner().Assign(ctx, f.request()); err == nil {
			t.Fatal("a lease of a store that is down")
		}
		if log := f.log.String()[before:]; strings.Contains(log, "trying again") {
			t.Error(log)
		}
	})
}

// A start that waits logs why: at once, and then at most every 10 seconds. The errors are not counted as lost races, so
// only one slot is added afterwards.
func TestRetryLog(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.Kill()
		go func() {
			time.Sleep(25 * time.Second)
			f.Start()
		}()
		ctx, cancel := withTimeout(f, time.Minute)
		defer cancel()
		before := len(f.log.String())
		if _, err := f.assigner().Assign(ctx, f.request()); err != nil {
			t.Fatal(err)
		}
		log := f.log.String()[before:]
		if n := strings.Count(log, "recycled: no slot was taken, trying again"); n != 3 || !strings.Contains(log, assigntest.ErrDown.Error()) {
			t.Errorf("%d records of the retries in 25 s, want 3: %s", n, log)
		}
		state, err := f.Read(t.Context(), recycled.Query{})
		if err != nil || state.Pool.Slots != 1 {
			t.Errorf("the pool has %d slots, %v; want 1", state.Pool.Slots, err)
		}
	})
}
