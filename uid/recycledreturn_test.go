package uid

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// pausedStore is a store whose caller is paused before its next Write.
type pausedStore struct {
	*slotServer
	pause func() // nil: none
}

func (s *pausedStore) String() string { return "memory" }

func (s *pausedStore) Read(_ context.Context, q recycled.Query) (recycled.State, error) {
	return s.read(q), nil
}

func (s *pausedStore) Write(_ context.Context, w recycled.Write) (bool, error) {
	if pause := s.pause; pause != nil {
		s.pause = nil
		pause()
	}
	return s.write(w), nil
}

// R2, R7: while a holder is paused between the Read and the Write of its Release, the store fails over, and back to the
// server that the holder has read from, which was synchronized anew without a restart and so has its history again.
// Another takes the slot there. It has the revision that the holder's write expects, but another token and until.
func TestReleaseAfterItsServerReturned(t *testing.T) {
	ctx, clock := context.Background(), fleetStart
	server := &slotServer{now: func() time.Time { return clock }, history: "a"}
	req := workerassign.Request{MaxWorkerID: 3, Format: "f", Now: func() time.Time { return clock }}
	store := func() *pausedStore { return &pausedStore{slotServer: server} }
	assign := func(s *pausedStore) workerassign.Lease {
		t.Helper()
		l, err := slottest.New(t, s).Assign(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	reserve := func(l workerassign.Lease) time.Time {
		t.Helper()
		until, err := l.Reserve(ctx, clock.Add(24*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return until.Until
	}
	if err := assign(store()).Release(ctx, clock); err != nil { // a released slot
		t.Fatal(err)
	}
	clock = clock.Add(time.Minute)
	replica := server.clone()
	holders := store()
	holder := assign(holders)
	reserve(holder)

	var other workerassign.Lease
	var granted time.Time
	holders.pause = func() {
		server.pool, server.slots = replica.pool, replica.clone().slots // what the holder has written is lost
		server.history = "b"
		if err := assign(store()).Release(ctx, clock); err != nil { // notes the history b
			t.Fatal(err)
		}
		server.slots = replica.clone().slots
		server.history = "a"
		other = assign(store())
		clock = other.NotBefore()
		granted = reserve(other)
	}
	if err := holder.Release(ctx, clock); err != nil {
		t.Fatal(err)
	}
	clock = clock.Add(time.Second)
	next := assign(store())
	if next.WorkerID() == other.WorkerID() && next.NotBefore().Before(granted) {
		t.Errorf("worker ID %d is granted to one lease until %v, and to another from %v", next.WorkerID(), granted, next.NotBefore())
	}
}

// R2, R7: while a process is paused between the Read and the Write with which it adds a slot, the store fails over to a
// replica that is behind, and back to the server that the process has read from, which has its history again. Each time
// the history is noted, so the pool has a floor, and then the revision that the write expects. The floor must not be lost:
// another process was granted the slot before the failover.
func TestAdditionAfterItsServerReturned(t *testing.T) {
	ctx, clock := context.Background(), fleetStart
	server := &slotServer{now: func() time.Time { return clock }, history: "a"}
	req := workerassign.Request{MaxWorkerID: 7, Format: "f", Now: func() time.Time { return clock }}
	store := func() *pausedStore { return &pausedStore{slotServer: server} }
	lease := func(s *pausedStore, workerID int64) (workerassign.Lease, time.Time) {
		t.Helper()
		l, err := slottest.New(t, s, recycled.WithWorkerID(workerID)).Assign(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		granted, err := l.Reserve(ctx, clock.Add(24*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return l, granted.Until
	}
	restart := func(history string) { // notes it
		t.Helper()
		server.history = history
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, err := recycled.New(store(), recycled.WithWorkerID(0)).Assign(ctx, req); !errors.Is(err, recycled.ErrSlotHeld) {
			t.Fatalf("Assign of a worker ID that is held returned %v", err)
		}
	}
	lease(store(), 0)
	replica := server.clone()
	restart("b")
	restart("a")
	clock = server.pool.Floor.Add(time.Second)

	var granted time.Time
	paused := store()
	paused.pause = func() {
		clock = clock.Add(time.Second)
		_, granted = lease(store(), 1)
		server.pool, server.slots = replica.pool, replica.clone().slots
		restart("c")
		restart("a")
	}
	next, _ := lease(paused, 1)
	if next.NotBefore().Before(granted) {
		t.Errorf("worker ID 1 was granted until %v before the failover, and is leased from %v", granted, next.NotBefore())
	}
	if floor := server.pool.Floor; floor.Before(granted) {
		t.Errorf("the pool's floor is %v, and %v was granted before the failover", floor, granted)
	}
}
