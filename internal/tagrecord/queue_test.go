package tagrecord

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Calls of one tag run one after the other, in the order in which they came.
func TestQueueOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Queue
		leave, err := q.Enter(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		var order []int
		running := 0
		for n := range 20 {
			go func() {
				leave, err := q.Enter(t.Context(), "a")
				if err != nil {
					t.Error(err)
					return
				}
				running++
				if running != 1 {
					t.Errorf("%d calls run at the same time", running)
				}
				time.Sleep(time.Second)
				order = append(order, n)
				running--
				leave()
			}()
			synctest.Wait()
		}
		leave()
		time.Sleep(time.Minute)
		synctest.Wait()
		for n, got := range order {
			if n != got {
				t.Fatalf("the order is %v", order)
			}
		}
		if len(order) != 20 || len(q.tags) != 0 {
			t.Errorf("%d calls have run, and %d tags are left; want 20 and 0", len(order), len(q.tags))
		}
	})
}

// A call of another tag does not wait, and a call whose context ends does not wait any more.
func TestQueueTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Queue
		leave, err := q.Enter(t.Context(), "blocked")
		if err != nil {
			t.Fatal(err)
		}
		other, err := q.Enter(t.Context(), "other")
		if err != nil {
			t.Fatal(err)
		}
		other()
		cause := errors.New("cause")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		defer cancel()
		if _, err := q.Enter(ctx, "blocked"); !errors.Is(err, cause) {
			t.Errorf("Enter of a tag that is blocked: %v; want the cause of the context", err)
		}
		leave()
		if _, err := q.Enter(ctx, "blocked"); !errors.Is(err, cause) {
			t.Errorf("Enter with a context that has ended: %v; want its cause", err)
		}
		if len(q.tags) != 0 {
			t.Errorf("%d tags are left", len(q.tags))
		}
	})
}

// Pauses are random, longer after more lost races, and bounded.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var previous time.Duration
		for _, n := range []int{1, 3, 5, 8, 100, 1 << 30} {
			var longest time.Duration
			different := map[time.Duration]bool{}
			for range 200 {
				begin := time.Now()
				if err := Pause(t.Context(), n); err != nil {
					t.Fatal(err)
				}
				d := time.Since(begin)
				longest, different[d] = max(longest, d), true
			}
			if longest > maxPause || longest < previous/2 || n >= 8 && longest < maxPause/2 || len(different) < 100 {
				t.Errorf("after %d lost races the pauses are up to %v, %d different ones", n, longest, len(different))
			}
			previous = longest
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		begin := time.Now()
		for range 100 {
			if err := Pause(ctx, 100); err != nil && (!errors.Is(err, context.Canceled) || time.Since(begin) != 0) {
				t.Errorf("%v after %v", err, time.Since(begin))
			}
		}
	})
}
