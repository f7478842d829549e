package recycled

import (
	"context"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/leasetest"
	"github.com/ringuid/ringuid/workerassign"
)

// savedCallbacks is a Saved whose generator's clock and store call functions of the test.
type savedCallbacks struct {
	*savedTest
	a       *saved
	l       workerassign.Lease
	onClock func()
	onRead  func()
	onWrite func()
}

func call(f func()) {
	if f != nil {
		f()
	}
}

// Read implements Store.
func (c *savedCallbacks) Read(ctx context.Context, q Query) (State, error) {
	call(c.onRead)
	return c.store.Read(ctx, q)
}

// Write implements Store.
func (c *savedCallbacks) Write(ctx context.Context, w Write) (bool, error) {
	call(c.onWrite)
	return c.store.Write(ctx, w)
}

// String implements Store.
func (c *savedCallbacks) String() string { return "store with callbacks" }

func (c *savedCallbacks) request() workerassign.Request {
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
	c.a = Saved(New(c, quiet, WithHorizon(25*time.Hour)), c.path).(*saved)
	c.l = leasetest.MustAssign(t, c.a, c.request())
	c.now = c.now.Add(7 * time.Hour)
	return c
}

// places are where the code of the user runs. Each sets its callback.
var places = map[string]func(c *savedCallbacks, f func()){
	"clock":          func(c *savedCallbacks, f func()) { c.onClock = f },
	"clock at store": func(c *savedCallbacks, f func()) { c.onRead = func() { c.onClock = f } },
	"read":           func(c *savedCallbacks, f func()) { c.onRead = f },
	"write":          func(c *savedCallbacks, f func()) { c.onWrite = f },
}
