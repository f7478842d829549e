package workerassign

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A clock, a store or a logger that calls the lease and its assigner does not wait for itself: each call is served or
// returns an error, whatever its context is. After that the file can be opened again: nothing is kept.
func TestSavedCallbacks(t *testing.T) {
	for place, set := range places {
		for _, outer := range []string{"Reserve", "Assign"} { // Release calls nothing of these
			t.Run(place+" in "+outer, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newSavedCallbacks(t)
					called, first := 0, c.l
					set(c, once(func() {
						called++
						if l, err := c.a.Assign(context.Background(), c.savedTest.request()); outer == "Reserve" && !errors.Is(err, ErrInUse) {
							t.Errorf("Assign in Reserve returned %v, %v; want ErrInUse", l, err)
						}
						first.Reserve(context.Background(), c.now.Add(2*time.Minute)) // served, or an error after a wait
					}))
					c.inTime(time.Minute, func() {
						switch outer {
						case "Reserve":
							if granted, err := c.l.Reserve(context.Background(), c.now.Add(time.Minute)); err != nil || !granted.After(c.now) {
								t.Errorf("Reserve returned %v, %v", granted, err)
							}
						case "Assign":
							if err := c.l.Release(context.Background(), c.now); err != nil {
								t.Error(err)
							}
							if l, err := c.a.Assign(context.Background(), c.request()); err != nil {
								t.Errorf("Assign returned %v", err)
							} else {
								c.l = l
							}
						}
					})
					synctest.Wait()
					if called == 0 {
						t.Error("nothing was called back")
					}
					c.onClock, c.onRead, c.onWrite, c.onLog = nil, nil, nil, nil
					c.l.Release(context.Background(), c.now.Add(time.Minute))
					c.mustAssign(c.newSaved()).crash()
				})
			})
		}
	}
}

// A Release during a Reserve, from the store or the clock that this one calls: nothing is granted after it, the mark is what
// was used, and the file is free when both have returned. A call with a context that has ended returns at once.
func TestSavedReleaseDuringReserve(t *testing.T) {
	for place, set := range places {
		for _, canceled := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, canceled %v", place, canceled), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newSavedCallbacks(t)
					first := mustReserve(t, c.l, c.now.Add(time.Second))
					c.now = c.now.Add(8 * time.Hour)
					used := first.Add(-time.Millisecond)
					called := false
					set(c, once(func() {
						called = true
						ctx, cancel := context.WithCancel(context.Background())
						defer cancel()
						if canceled {
							cancel()
						}
						began := time.Now()
						err := c.l.Release(ctx, used)
						if took := time.Since(began); canceled && took > 0 {
							t.Errorf("Release with a context that has ended took %v and returned %v", took, err)
						}
					}))
					c.inTime(time.Minute, func() {
						granted, err := c.l.Reserve(context.Background(), c.now.Add(time.Minute))
						if !errors.Is(err, ErrReleased) {
							t.Errorf("Reserve returned %v, %v after Release; want ErrReleased", granted, err)
						}
					})
					synctest.Wait()
					if !called {
						t.Fatal("nothing was called back")
					}
					if granted, err := c.l.Reserve(context.Background(), c.now.Add(time.Minute)); !errors.Is(err, ErrReleased) {
						t.Errorf("Reserve after Release = %v, %v; want ErrReleased", granted, err)
					}
					if mark := c.l.(*savedLease).record.mark; !mark.Equal(used) {
						t.Errorf("the mark is %v, want what was used, %v", mark, used)
					}
					next := c.mustAssign(c.newSaved())
					if next.NotBefore().Before(used) {
						t.Errorf("the next lease begins at %v, before %v", next.NotBefore(), used)
					}
					next.crash()
				})
			})
		}
	}
}

// A call that waits for another one of the same lease ends with its context, or after a second.
func TestSavedWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newSavedCallbacks(t)
		hold := make(chan struct{})
		c.onWrite = once(func() { <-hold })
		outer := make(chan error, 1)
		go func() {
			_, err := c.l.Reserve(context.Background(), c.now.Add(time.Minute))
			outer <- err
		}()
		synctest.Wait()
		for _, d := range []time.Duration{0, 100 * time.Millisecond, time.Hour} {
			ctx, cancel := context.WithTimeout(context.Background(), d)
			began := time.Now()
			granted, err := c.l.Reserve(ctx, c.now.Add(time.Minute))
			if took := time.Since(began); err == nil || took != min(d, time.Second) || d < time.Second && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a second Reserve with a timeout of %v returned %v, %v after %v", d, granted, err, took)
			}
			cancel()
		}
		began := time.Now()
		if l, err := c.a.Assign(context.Background(), c.request()); !errors.Is(err, ErrInUse) || time.Since(began) > 0 {
			t.Errorf("Assign meanwhile returned %v, %v after %v; want ErrInUse at once", l, err, time.Since(began))
		}
		close(hold)
		if err := <-outer; err != nil {
			t.Errorf("the first Reserve returned %v", err)
		}
		mustReserve(t, c.l, c.now.Add(2*time.Minute))
	})
}

// A panic of the store or of the generator's clock is one of the call that has called it, and the lease can be used after it.
func TestSavedPanics(t *testing.T) {
	panics := func(f func()) (panicked bool) {
		defer func() { panicked = recover() == "boom" }()
		f()
		return false
	}
	for place, set := range places {
		if place == "logger" {
			continue // it is called in another goroutine
		}
		t.Run(place, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newSavedCallbacks(t)
				set(c, func() { panic("boom") })
				if !panics(func() { c.l.Reserve(context.Background(), c.now.Add(time.Minute)) }) {
					t.Error("Reserve does not panic")
				}
				c.onClock, c.onRead, c.onWrite = nil, nil, nil
				c.now = c.now.Add(time.Minute)
				mustReserve(t, c.l, c.now.Add(time.Minute))
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
	case <-time.After(2 * time.Minute):
		t.Fatal("deadlock: Reserve calls the clock, which calls Assign, which waits for Reserve")
	}
}
