package assigntest

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A Harness gives RunStoreTests stores to test, and faults.
type Harness struct {
	// New returns a new client of the pool of the given name, as another process would have it. The first
	// client of a name finds an empty store. A name consists of 1 to 20 characters a to z and 2 to 7,
	// and is not used again. New may use tb.Cleanup to close the client.
	New func(tb testing.TB, pool string) recycled.Store

	Faults
}

// Faults inject faults into a store. Each is a function, which fails the test if it cannot do what it has to.
// A fault that is nil must be listed in Without.
type Faults struct {
	// Kill ends the server at once, like SIGKILL does, and Start starts it again with the data that it
	// has kept. Start returns when the server can be used.
	Kill, Start func(tb testing.TB)

	// Pause stops the server, like SIGSTOP does, without closing connections. Resume continues it.
	Pause, Resume func(tb testing.TB)

	// LoseWrites calls write, and makes the store lose all or some of what write has written, even if it
	// was acknowledged, in the way in which a store of this kind can lose it: for example, it stops the
	// replication to a replica, calls write, kills the primary and promotes the replica. It returns when
	// clients can use the store again, both those that exist and new ones. List it in Without if recycled.State.NoLoss is true.
	LoseWrites func(tb testing.TB, write func())

	// LoseRequests calls call, and makes all requests to the store get lost meanwhile: calls fail at
	// once or when their contexts end.
	LoseRequests func(tb testing.TB, call func())

	// LoseReplies calls call, and makes all replies of the store get lost meanwhile, while the store
	// executes the requests: calls fail at once or when their contexts end. If Write reads before it writes, let the replies to its reads
	// through: otherwise no write reaches the store.
	LoseReplies func(tb testing.TB, call func())

	// DelayWrites calls write, and makes the requests of Write reach the store only when deliver is called:
	// calls fail at once or when their contexts end. deliver returns when the requests have been executed.
	// Calls between the two are not delayed.
	DelayWrites func(tb testing.TB, write func()) (deliver func())

	// StepClock changes the server's clock by d, which may be negative.
	StepClock func(tb testing.TB, d time.Duration)

	// StopClock stops the server's clock at a time, or lets it continue if that is the zero time.
	StopClock func(tb testing.TB, at time.Time)

	// Without says why there is no fault of a name: the tests that require it are skipped. The keys are
	// the names of the fields above.
	Without map[string]string

	// Recovery is how long the store may take to work again after a fault. The default is two minutes.
	Recovery time.Duration

	// ClockBound is by how much the server's clock may differ from that of this host, and from that of
	// another server of the store. The default is a second.
	ClockBound time.Duration

	// patience bounds what a store that works must do soon, such as a call, also on a busy machine. The default is a minute.
	patience time.Duration
}

// faultTimeout bounds a call during a fault.
const faultTimeout = 10 * time.Second

// maxBatch is the greatest number of slots that a recycled.Assigner writes at once.
const maxBatch = 32

// withDefaults returns f with the defaults of the fields that are 0.
func (f Faults) withDefaults() Faults {
	if f.Recovery == 0 {
		f.Recovery = 2 * time.Minute
	}
	if f.ClockBound == 0 {
		f.ClockBound = time.Second
	}
	if f.patience == 0 {
		f.patience = time.Minute
	}
	return f
}

// require skips the test if a fault is listed in Without, and fails it if the fault is neither set nor listed.
func (f Faults) require(tb testing.TB, names ...string) {
	tb.Helper()
	set := map[string]bool{
		"Kill": f.Kill != nil && f.Start != nil, "Start": f.Kill != nil && f.Start != nil,
		"Pause": f.Pause != nil && f.Resume != nil, "Resume": f.Pause != nil && f.Resume != nil,
		"LoseWrites": f.LoseWrites != nil, "LoseRequests": f.LoseRequests != nil, "LoseReplies": f.LoseReplies != nil,
		"DelayWrites": f.DelayWrites != nil, "StepClock": f.StepClock != nil, "StopClock": f.StopClock != nil,
	}
	for _, name := range names {
		why, without := f.Without[name]
		switch {
		case without && set[name]:
			tb.Fatalf("the harness has the fault %s, and lists it in Without (%q): remove one of them", name, why)
		case without:
			tb.Skipf("the harness has no fault %s: %s", name, why)
		case !set[name]:
			tb.Fatalf("the harness has no fault %s: set it, or give the reason in Without[%q]", name, name)
		}
	}
}

// newPoolName returns a name that no other test uses.
func newPoolName() string { return "p" + strings.ToLower(rand.Text()[:15]) }

// storeTest is one test of a store.
type storeTest struct {
	testing.TB
	h     Harness
	pool  string
	store recycled.Store // the first client
}

// open returns another client of the pool.
func (t *storeTest) open() recycled.Store {
	t.Helper()
	s := t.h.New(t.TB, t.pool)
	if s == nil {
		t.Fatalf("New returned nil")
	}
	return s
}

// read reads from a store that works.
func (t *storeTest) read(s recycled.Store, q recycled.Query) recycled.State {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), t.h.patience)
	defer cancel()
	state, err := s.Read(ctx, q)
	if err != nil {
		t.Fatalf("Read(%+v): %v", q, err)
	}
	return state
}

// readSlot reads one slot from a store that works. It returns the zero Slot if there is none.
func (t *storeTest) readSlot(s recycled.Store, workerID int64) recycled.Slot {
	t.Helper()
	state := t.read(s, recycled.Query{WorkerIDs: []int64{workerID}})
	switch {
	case len(state.Slots) == 0:
		return recycled.Slot{}
	case len(state.Slots) > 1 || state.Slots[0].WorkerID != workerID:
		t.Fatalf("a read of the slot of worker ID %d returned the slots %+v", workerID, state.Slots)
	}
	return state.Slots[0]
}

// write writes to a store that works.
func (t *storeTest) write(s recycled.Store, w recycled.Write) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), t.h.patience)
	defer cancel()
	written, err := s.Write(ctx, w)
	if err != nil {
		t.Fatalf("Write(%+v): %v", w, err)
	}
	return written
}

// create creates a pool with n slots, each by newRecord, and returns the store's state after that.
func (t *storeTest) create(n int64, newRecord func(s recycled.State, workerID int64) recycled.Slot) recycled.State {
	t.Helper()
	s := t.read(t.store, recycled.Query{})
	p := newPool(s, 0)
	for first := int64(0); first == 0 || first < n; first += maxBatch {
		var slots []recycled.Slot
		for id := first; id < min(first+maxBatch, n); id++ {
			slots = append(slots, newRecord(s, id))
		}
		p.Revision = first/maxBatch + 1
		p.Slots += int64(len(slots))
		t.mustWrite(slottest.Swap(s, &p, slots...))
		s.Pool = p
	}
	return t.read(t.store, recycled.Query{All: true})
}

// mustWrite makes a write that must succeed.
func (t *storeTest) mustWrite(w recycled.Write) {
	t.Helper()
	if !t.write(t.store, w) {
		t.Fatalf("Write(%+v) returned false although the history and what is replaced match; want true", w)
	}
}

// recovered reads until the store works again after a fault.
func (t *storeTest) recovered(s recycled.Store, q recycled.Query) recycled.State {
	t.Helper()
	deadline := time.Now().Add(t.h.Recovery)
	for {
		ctx, cancel := context.WithTimeout(context.Background(), faultTimeout)
		state, err := s.Read(ctx, q)
		cancel()
		if err == nil {
			return state
		}
		if time.Now().After(deadline) {
			t.Fatalf("Read still fails %v after the end of a fault: %v", t.h.Recovery, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// inTime calls f, which gets a context that ends after d, and fails the test if f has not returned long after that.
func (t *storeTest) inTime(what string, d time.Duration, f func(ctx context.Context)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	select {
	case <-done:
	case <-time.After(d + t.h.patience):
		t.Fatalf("%s has not returned %v after its context ended", what, t.h.patience)
	}
}
