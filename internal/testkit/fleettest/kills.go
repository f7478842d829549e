package fleettest

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// Kills returns how often a test kills the server.
func Kills() int { return testkit.Size(3, 40) }

// call is a call of a lease.
type call int32

const (
	callAssign call = iota
	callReserve
	callRelease
	calls // how many there are
)

// moment is a call of the store during which the server is killed.
type moment struct {
	call    call          // of the lease, which calls the store
	isWrite bool          // whether it is a Write, or a Read
	begun   chan struct{} // closed when the call has begun
	killed  chan struct{} // closed when the server has been killed; the call does not return earlier
	failed  atomic.Bool   // whether the store's call has failed; the server may also have answered before
}

// interruptedStore is the store of one goroutine of RunLeases. The fleet's next moment is in one of its calls.
type interruptedStore struct {
	recycled.Store
	fleet *Fleet
	call  atomic.Int32 // the call of a lease that is in progress
}

// Read implements recycled.Store.
func (s *interruptedStore) Read(ctx context.Context, q recycled.Query) (state recycled.State, err error) {
	s.during(false, func() error {
		state, err = s.Store.Read(ctx, q)
		return err
	})
	return state, err
}

// Write implements recycled.Store.
func (s *interruptedStore) Write(ctx context.Context, w recycled.Write) (ok bool, err error) {
	s.during(true, func() error {
		ok, err = s.Store.Write(ctx, w)
		return err
	})
	return ok, err
}

// during makes a call of the store. If this is the call that the fleet's moment is in, it returns after the server has been
// killed.
func (s *interruptedStore) during(isWrite bool, do func() error) {
	m := s.fleet.moment.Load()
	if m == nil || m.isWrite != isWrite || m.call != call(s.call.Load()) || !s.fleet.moment.CompareAndSwap(m, nil) {
		do()
		return
	}
	close(m.begun)
	if rand.IntN(2) == 0 { // the server may be killed before it has the request
		time.Sleep(rand.N(300 * time.Microsecond))
	}
	m.failed.Store(do() != nil)
	<-m.killed
}

// killDuring kills the server while RunLeases is in the middle of a call.
func (f *Fleet) killDuring(t *testing.T, c call, kill func()) *moment {
	t.Helper()
	m := &moment{call: c, isWrite: rand.IntN(4) > 0, begun: make(chan struct{}), killed: make(chan struct{})}
	defer close(m.killed)
	f.moment.Store(m)
	select {
	case <-m.begun:
	case <-time.After(10 * time.Minute):
		t.Fatalf("no lease makes the call %d, in which the server is to be killed", c)
	}
	if rand.IntN(2) == 0 { // the server may have answered before
		time.Sleep(rand.N(3 * time.Millisecond))
	}
	kill()
	return m
}
