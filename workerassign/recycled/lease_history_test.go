package recycled_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/leasetest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// namedHistoryStore is a store whose history is set by the test.
type namedHistoryStore struct {
	*assigntest.Memory
	history string
}

func (s *namedHistoryStore) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	state, err := s.Memory.Read(ctx, q)
	state.History = s.history
	return state, err
}

func (s *namedHistoryStore) Write(ctx context.Context, w recycled.Write) (bool, error) {
	if w.History != s.history {
		return false, nil
	}
	w.History = s.Memory.Dump().History
	return s.Memory.Write(ctx, w)
}

// testClock is a clock that the test moves.
type testClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// A server that was replaced by another one may become the primary again, without a restart: then it has
// the history that it had before. A lease from before that must not be extended, because another lease may
// have held the slot in between, and may have been lost.
func TestR7FormerPrimaryReturns(t *testing.T) {
	clock := &testClock{now: time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)}
	m := assigntest.NewMemory(assigntest.WithClock(clock.Now))
	store := &namedHistoryStore{m, "A"}
	r := slottest.New(t, store)
	assign := func() workerassign.Lease {
		t.Helper()
		l, err := r.Assign(t.Context(), workerassign.Request{Now: clock.Now, MaxWorkerID: 63, Format: "test"})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	reserve := func(l workerassign.Lease) (workerassign.Grant, error) {
		return l.Reserve(t.Context(), clock.Now().Add(time.Minute))
	}

	paused := assign()
	if _, err := reserve(paused); err != nil {
		t.Fatal(err)
	}
	clock.advance(2 * time.Minute) // the slot becomes free
	before := m.Writes()
	other := assign()
	until, err := reserve(other)
	if err != nil || other.WorkerID() != paused.WorkerID() {
		t.Fatalf("the other lease has worker ID %d, %v; want %d", other.WorkerID(), err, paused.WorkerID())
	}
	m.LoseWrites(m.Writes() - before) // B has not received them
	store.history = "B"
	assign()
	store.history = "A" // which has become a copy of B, without a restart
	assign()
	if granted, err := reserve(paused); !errors.Is(err, workerassign.ErrLeaseLost) {
		t.Errorf("Reserve() = %v, %v; want ErrLeaseLost, because another lease of the same worker ID was granted the time from %v to %v",
			granted, err, other.NotBefore(), until)
	}
}

// A read does not prove that a write is durable: a store may show a write that it has not acknowledged, and
// lose it in a crash. So Reserve grants only what a write has acknowledged (R2).
func TestR2GrantIsAcknowledged(t *testing.T) {
	m := assigntest.NewMemory()
	l, err := slottest.New(t, m).Assign(t.Context(), leasetest.Request(1024))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var acknowledged recycled.Slot
	lose := true
	m.SetFaults(func(op assigntest.Op) assigntest.Fault {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case op.Write == nil:
		case lose:
			lose = false
			return assigntest.LoseReply
		default:
			acknowledged = op.Write.Slots[0]
		}
		return assigntest.NoFault
	})
	want := time.Now().Add(20 * time.Second)
	for range 2 {
		until, err := l.Reserve(t.Context(), want)
		if err == nil && until.Until.After(acknowledged.Until) {
			t.Fatalf("Reserve grants the time up to %v, but the store has acknowledged it up to %v", until.Until, acknowledged.Until)
		}
	}
	if acknowledged.Until.Before(want) {
		t.Errorf("the store has acknowledged the time up to %v, want %v", acknowledged.Until, want)
	}
	writes := m.Writes()
	if until, err := l.Reserve(t.Context(), want); err != nil || until.Until.Before(want) || m.Writes() != writes {
		t.Errorf("Reserve() = %v, %v with %d writes; want %v without a write, because nothing is new", until.Until, err, m.Writes()-writes, want)
	}
}
