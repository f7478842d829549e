package workerassign

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A panic of the store, or of the generator's clock, in Assign does not keep the file: the generator turns the panic
// into an error and tries again.
func TestSavedPanicDuringAssign(t *testing.T) {
	s := newSavedTest(t)
	a := s.newSaved()
	s.store.beforeWrite = func(SlotWrite) { panic("the driver") }
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic of the store was lost")
			}
		}()
		a.Assign(t.Context(), s.request())
	}()
	s.store.beforeWrite = nil
	s.mustAssign(a)
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
	l := mustAssignAt(t, a, request)
	s.store.beforeWrite = func(SlotWrite) { inReserve = true } // the next one to read the clock is the renewal's check
	s.now = s.now.Add(7 * time.Hour)                           // the store is asked now
	s.store.loseReplies.Store(1)                               // so that the renewal reads the clock again
	done := make(chan error, 1)
	go func() {
		_, err := l.Reserve(context.Background(), s.now.Add(time.Minute))
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil || calls == 0 || !errors.Is(nested, ErrInUse) {
			t.Errorf("Reserve returned %v, and %d calls of Assign in it returned %v; want one or more, and ErrInUse", err, calls, nested)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("deadlock: Reserve calls the clock, which calls Assign, which waits for Reserve")
	}
}
