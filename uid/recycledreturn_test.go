package uid

import (
	"context"
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// pausedStore is a store whose caller is paused before its next Write.
type pausedStore struct {
	*slotServer
	pause func() // nil: none
}

func (s *pausedStore) String() string { return "memory" }

func (s *pausedStore) Read(_ context.Context, q workerassign.SlotQuery) (workerassign.PoolState, error) {
	return s.read(q), nil
}

func (s *pausedStore) Write(_ context.Context, w workerassign.SlotWrite) (bool, error) {
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
		l, err := workerassign.NewRecycled(s, workerassign.WithNewPool()).Assign(ctx, req)
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
		return until
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
