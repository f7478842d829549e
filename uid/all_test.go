package uid

import (
	"context"
	"errors"
	"testing"
)

// registrationContext is a context that counts the functions that are registered with it.
type registrationContext struct {
	context.Context
	done       chan struct{}
	registered int
}

func (c *registrationContext) Done() <-chan struct{} { return c.done }

func (c *registrationContext) AfterFunc(func()) func() bool {
	c.registered++
	return func() bool { c.registered--; return true }
}

// A loop body that panics, breaks or ends leaves nothing registered with the context.
func TestAllRegistersNothingWithItsContext(t *testing.T) {
	c := newCached(t, new(disposableAssigner))
	ctx := &registrationContext{Context: context.Background(), done: make(chan struct{})}
	for range 1_000 {
		func() {
			defer func() { recover() }()
			for range c.All(ctx) {
				panic("in the loop's body")
			}
		}()
		for range c.All(ctx) {
			break
		}
	}
	if ctx.registered != 0 {
		t.Errorf("%d functions are still registered with the context", ctx.registered)
	}
}

// When its context ends, a loop that has taken few UIDs ends before the next one, and a loop that has
// taken many ends within maxUnchecked UIDs.
func TestAllEndsSoonAfterItsContext(t *testing.T) {
	c := newCached(t, new(disposableAssigner), WithScheduleInterval(0))
	for _, before := range []int{1, 2, 10, 16, 17, 100, 1_000, 5_000} {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		after, n := 0, 0
		for _, err := range c.All(ctx) {
			if err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				continue
			}
			if n++; n == before {
				cancel()
			} else if n > before {
				after++
			}
		}
		if after > maxUnchecked || before <= 17 && after > 0 {
			t.Errorf("%d UIDs after the end of the context, which ended after %d", after, before)
		}
	}
}

func TestAllEnds(t *testing.T) {
	c := newCached(t, new(disposableAssigner))
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	n, ends := 0, 0
	for id, err := range c.All(ctx) {
		if n++; n == 10 {
			cancel(reason)
		}
		if err == nil {
			continue
		}
		if ends++; id != 0 || !errors.Is(err, reason) {
			t.Errorf("the last element is %d, %v", id, err)
		}
	}
	if n < 11 || n > 10+MaxBlock+1 || ends != 1 {
		t.Errorf("%d UIDs and %d errors", n-ends, ends)
	}
	for id, err := range c.All(ctx) {
		t.Logf("%d, %v", id, err)
		if err == nil {
			t.Fatal("an iterator whose context has already ended yields a UID")
		}
	}

	all := c.All(context.Background())
	var last ID
	for range 3 { // the iterator may be used again
		for id, err := range all {
			if err != nil || id <= last {
				t.Fatalf("%d, %v after %d", id, err, last)
			}
			last = id
			break
		}
	}
	n = 0
	for id, err := range all {
		if n++; n == 5 {
			c.Close()
		}
		if err != nil && (id != 0 || err != ErrClosed || n != 6) {
			t.Errorf("element %d is %d, %v", n, id, err)
		}
	}
	if n != 6 {
		t.Errorf("%d elements with a Close after 5, want 6", n)
	}
}
