package recycled

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/leasetest"
	"github.com/ringuid/ringuid/workerassign"
)

// A panic of the store or of the generator's clock is one of the call that has called it, and the lease can be used after it.
func TestSavedPanics(t *testing.T) {
	panics := func(f func()) (panicked bool) {
		defer func() { panicked = recover() == "boom" }()
		f()
		return false
	}
	for place, set := range places {
		t.Run(place, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newSavedCallbacks(t)
				set(c, func() { panic("boom") })
				if !panics(func() { c.l.Reserve(context.Background(), c.now.Add(time.Minute)) }) {
					t.Error("Reserve does not panic")
				}
				c.onClock, c.onRead, c.onWrite = nil, nil, nil
				c.now = c.now.Add(time.Minute)
				leasetest.MustReserve(t, c.l, c.now.Add(time.Minute))
				set(c, func() { panic("boom") })
				if err := c.l.Release(context.Background(), c.now); err != nil {
					t.Errorf("Release returned %v; it calls nothing", err)
				}
				if !panics(func() { c.a.Assign(context.Background(), c.request()) }) {
					t.Error("Assign does not panic")
				}
				c.onClock, c.onRead, c.onWrite = nil, nil, nil
				c.mustAssign(c.newSaved()).crash()
			})
		})
	}
}

// After Release nothing is granted, and a second Release changes nothing.
func TestSavedReserveAfterRelease(t *testing.T) {
	c := newSavedCallbacks(t)
	used := leasetest.MustReserve(t, c.l, c.now.Add(time.Minute)).Add(-time.Second)
	for _, at := range []time.Time{used, c.now.Add(time.Hour)} {
		if err := c.l.Release(context.Background(), at); err != nil {
			t.Errorf("Release returned %v", err)
		}
		if granted, err := c.l.Reserve(context.Background(), c.now.Add(time.Hour)); !errors.Is(err, workerassign.ErrReleased) {
			t.Errorf("Reserve after Release = %v, %v; want ErrReleased", granted.Until, err)
		}
	}
	if mark := c.l.(*savedLease).record.mark; !mark.Equal(used) {
		t.Errorf("the mark is %v, want what was used, %v", mark, used)
	}
}

// While Reserve waits for the store, another Assign of the same assigner neither waits for it nor deadlocks: it finds
// that the file is in use. A generator's clock that calls Assign is such a call.
func TestSavedAssignDuringReserve(t *testing.T) {
	s := newSavedTest(t)
	a := s.newSaved()
	var nested error
	calls, inReserve := 0, false
	request := s.request()
	request.Now = func() time.Time {
		if inReserve {
			inReserve = false
			calls++
			_, nested = a.Assign(context.Background(), s.request())
		}
		return s.now
	}
	l := leasetest.MustAssign(t, a, request)
	s.store.beforeWrite = func(Write) { inReserve = true } // the next one to read the clock is the renewal's check
	s.now = s.now.Add(7 * time.Hour)                       // the store is asked now
	s.store.loseReplies.Store(1)                           // so that the renewal reads the clock again
	done := make(chan error, 1)
	go func() {
		_, err := l.Reserve(context.Background(), s.now.Add(time.Minute))
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil || calls == 0 || !errors.Is(nested, workerassign.ErrInUse) {
			t.Errorf("Reserve returned %v, and %d calls of Assign in it returned %v; want one or more, and ErrInUse", err, calls, nested)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("deadlock: Reserve calls the clock, which calls Assign, which waits for Reserve")
	}
}
