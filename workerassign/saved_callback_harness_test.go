package workerassign

import (
	"context"
	"log/slog"
	"testing"
	"time"
)

// savedCallbacks is a Saved whose generator's clock, logger and store call functions of the test.
type savedCallbacks struct {
	*savedTest
	a       *saved
	l       Lease
	onClock func()
	onLog   func()
	onRead  func()
	onWrite func()
}

// once returns a function that calls f, but not from within f, and not again after it.
func once(f func()) func() {
	called := false
	return func() {
		if !called {
			called = true
			f()
		}
	}
}

func call(f func()) {
	if f != nil {
		f()
	}
}

// Read implements SlotStore.
func (c *savedCallbacks) Read(ctx context.Context, q SlotQuery) (PoolState, error) {
	call(c.onRead)
	return c.store.Read(ctx, q)
}

// Write implements SlotStore.
func (c *savedCallbacks) Write(ctx context.Context, w SlotWrite) (bool, error) {
	call(c.onWrite)
	return c.store.Write(ctx, w)
}

// String implements SlotStore.
func (c *savedCallbacks) String() string { return "store with callbacks" }

// Enabled implements slog.Handler.
func (c *savedCallbacks) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (c *savedCallbacks) Handle(context.Context, slog.Record) error { call(c.onLog); return nil }

// WithAttrs implements slog.Handler.
func (c *savedCallbacks) WithAttrs([]slog.Attr) slog.Handler { return c }

// WithGroup implements slog.Handler.
func (c *savedCallbacks) WithGroup(string) slog.Handler { return c }

func (c *savedCallbacks) request() Request {
	r := c.savedTest.request()
	r.Now = func() time.Time {
		call(c.onClock)
		return c.now
	}
	return r
}

// newSavedCallbacks returns a lease that is due for an extension in the store.
func newSavedCallbacks(t *testing.T) *savedCallbacks {
	c := &savedCallbacks{savedTest: newSavedTest(t)}
	logger := WithLogger(slog.New(c))
	c.a = Saved(NewRecycled(c, logger, WithHorizon(25*time.Hour)), c.path, logger).(*saved)
	c.l = mustAssignAt(t, c.a, c.request())
	c.now = c.now.Add(7 * time.Hour)
	return c
}

// inTime calls f, and fails the test if that takes longer than d.
func (c *savedCallbacks) inTime(d time.Duration, f func()) {
	c.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(d):
		c.Fatalf("deadlock: no answer within %v", d)
	}
}

// places are where the code of the user runs. Each sets its callback.
var places = map[string]func(c *savedCallbacks, f func()){
	"clock":          func(c *savedCallbacks, f func()) { c.onClock = f },
	"clock at store": func(c *savedCallbacks, f func()) { c.onRead = func() { c.onClock = f } },
	"read":           func(c *savedCallbacks, f func()) { c.onRead = f },
	"write":          func(c *savedCallbacks, f func()) { c.onWrite = f },
	"logger": func(c *savedCallbacks, f func()) {
		c.onLog = f
		c.changeHistory() // so that the extension has something to log
	},
}
