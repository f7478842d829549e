package recycled

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/millis"
	"github.com/ringuid/ringuid/internal/testkit/leasetest"
	"github.com/ringuid/ringuid/workerassign"
)

// R3: a service starts while the store is down, with the same worker ID and at the greater of mark and clock. It is
// granted the rest of the span and nothing after it, until the store is up again.
func TestR3SavedStartsWhileStoreIsDown(t *testing.T) {
	s := newSavedTest(t)
	first := s.mustAssign(s.newSaved())
	granted := leasetest.MustReserve(t, first, s.now.Add(45*time.Second))
	first.crash()
	s.store.down.Store(true)
	if l, err := Saved(s.recycled(WithTimeout(50*time.Millisecond)), s.path+"2").Assign(context.Background(), s.request()); l != nil || !errors.Is(err, errDown) {
		t.Errorf("without a file: Assign() = %v, %v; want the error of the store", l, err)
	}
	for _, at := range []time.Duration{-time.Hour, 0, time.Minute, 12 * time.Hour} {
		s.now = start.Add(at)
		l := s.mustAssign(s.newSaved())
		if want := millis.Later(granted, s.now.Add(time.Millisecond)); l.WorkerID() != first.WorkerID() || !l.NotBefore().Equal(want) {
			t.Errorf("a start at %v has worker ID %d from %v; want %d from %v", at, l.WorkerID(), l.NotBefore(), first.WorkerID(), want)
		}
		granted = leasetest.MustReserve(t, l, l.NotBefore().Add(time.Second))
		l.crash()
	}
	end := start.Add(24 * time.Hour)
	l := s.mustAssign(s.newSaved())
	if granted := leasetest.MustReserve(t, l, end.Add(time.Hour)); !granted.Equal(end) {
		t.Errorf("granted until %v; want the end of the span, %v", granted, end)
	}
	s.now = end
	if granted, err := l.Reserve(context.Background(), end.Add(time.Hour)); !errors.Is(err, errDown) {
		t.Errorf("Reserve() at the end of the span = %v, %v; want the error of the store", granted.Until, err)
	}
	l.crash()
	if l, err := s.newSaved().Assign(context.Background(), s.request()); l != nil || !errors.Is(err, errDown) {
		t.Errorf("Assign() at the end of the span = %v, %v; want the error of the store", l, err)
	}
	s.store.down.Store(false)
	again := s.mustAssign(s.newSaved())
	if again.WorkerID() != first.WorkerID() || again.NotBefore().Before(end) {
		t.Errorf("when the store is up again, worker ID %d is leased from %v", again.WorkerID(), again.NotBefore())
	}
	leasetest.MustReserve(t, again, end.Add(time.Hour))
	again.crash()
}

// The lease is extended when a quarter of the span has passed, and the store is not asked all the time, whether it is
// up or down.
func TestSavedExtends(t *testing.T) {
	s := newSavedTest(t)
	l := s.mustAssign(s.newSaved())
	writes := s.store.writes
	for range 5 * 60 {
		s.now = s.now.Add(time.Minute)
		leasetest.MustReserve(t, l, s.now.Add(45*time.Second))
	}
	if s.store.writes != writes {
		t.Errorf("%d writes within 5 hours, want 0", s.store.writes-writes)
	}
	s.store.down.Store(true)
	for range 120 {
		s.now = s.now.Add(time.Minute)
		leasetest.MustReserve(t, l, s.now.Add(45*time.Second))
	}
	s.store.down.Store(false)
	s.now = s.now.Add(time.Minute)
	leasetest.MustReserve(t, l, s.now.Add(45*time.Second))
	if s.store.writes != writes+1 {
		t.Errorf("%d writes after 7 hours, want 1", s.store.writes-writes)
	}
	if left := l.record.slot.Until.Sub(s.now); left != 24*time.Hour {
		t.Errorf("%v are left after an extension, want a day", left)
	}
	l.crash()
}

// R4: each token is in the file before it is in the store, and after a lost reply the lease is neither lost nor
// granted before an acknowledged write.
func TestR4SavedTokenBeforeSwap(t *testing.T) {
	s := newSavedTest(t)
	seen := map[string]bool{}
	s.store.beforeWrite = func(w Write) {
		if len(w.Slots) == 0 || w.Slots[0].Token == "" {
			return
		}
		token := w.Slots[0].Token
		if text, err := os.ReadFile(s.path); err != nil || !strings.Contains(string(text), token) {
			t.Errorf("the token %s is not in the file before the swap: %s, %v", token, text, err)
		}
		if seen[token] {
			t.Errorf("the token %s was used again", token)
		}
		seen[token] = true
	}
	workerID := int64(-1)
	for lost := range int64(6) { // replies
		s.store.loseReplies.Store(lost)
		a := s.newSaved()
		var l workerassign.Lease
		for l == nil {
			var err error
			if l, err = a.Assign(context.Background(), s.request()); err != nil && s.store.loseReplies.Load() < 0 {
				t.Fatal(err)
			}
		}
		if workerID >= 0 && l.WorkerID() != workerID {
			t.Errorf("after %d lost replies worker ID %d became %d", lost, workerID, l.WorkerID())
		}
		workerID = l.WorkerID()
		s.store.loseReplies.Store(lost)
		for range 10 {
			s.now = s.now.Add(7 * time.Hour)
			if granted, err := l.Reserve(context.Background(), s.now.Add(time.Minute)); err == nil && !granted.Until.After(s.now) {
				t.Errorf("granted until %v at %v", granted.Until, s.now)
			}
			state := mustReadSlots(t, s.store, Query{WorkerIDs: []int64{workerID}})
			if mark := l.(*savedLease).record.mark; state.Slots[0].Until.Before(mark) {
				t.Errorf("the mark is %v, and the store has granted %v", mark, state.Slots[0].Until)
			}
		}
		l.(*savedLease).crash()
	}
}

// R2: if two processes have the same record, because a copy was not noticed, the second one to extend it finds that it
// is lost, and stops.
func TestR2SavedCopyIsLost(t *testing.T) {
	s := newSavedTest(t)
	first := s.mustAssign(s.newSaved())
	leasetest.MustReserve(t, first, s.now.Add(time.Minute))
	copied := savedLease{assigner: &saved{recycled: s.recycled(), cfg: first.assigner.cfg, storeTimeout: time.Second}, held: first.held,
		request: s.request(), record: first.record, begin: first.begin, workerID: first.workerID}
	s.now = s.now.Add(7 * time.Hour)
	leasetest.MustReserve(t, &copied, s.now.Add(time.Minute))
	for range 2 {
		if granted, err := first.Reserve(context.Background(), s.now.Add(time.Minute)); !errors.Is(err, workerassign.ErrLeaseLost) || !errors.Is(err, workerassign.ErrVoid) {
			t.Errorf("Reserve() of the original = %v, %v; want workerassign.ErrLeaseLost and ErrVoid", granted.Until, err)
		}
	}
}

// The horizon of the pool must cover the span: the error names both.
func TestR6SavedSpan(t *testing.T) {
	s := newSavedTest(t)
	for range 2 { // the first one creates the pool
		r := New(s.store, WithHorizon(23*time.Hour), quiet)
		l, err := Saved(r, s.path).Assign(context.Background(), s.request())
		if l != nil || !errors.Is(err, workerassign.ErrOption) || !strings.Contains(err.Error(), "24h0m0s") || !strings.Contains(err.Error(), "23h0m0s") {
			t.Errorf("Assign() = %v, %v; want ErrOption with span and horizon", l, err)
		}
	}
	l := leasetest.MustAssign(t, Saved(s.recycled(), s.path, WithSpan(23*time.Hour)), s.request())
	if granted := leasetest.MustReserve(t, l, s.now.Add(48*time.Hour)); !granted.Equal(s.now.Add(23 * time.Hour)) {
		t.Errorf("granted until %v, want a span of 23 hours", granted)
	}
}

// R7: a lease is not extended under another history of the store. It is used to its end, also after a restart. Then
// it is lost, and the next one begins after the floor.
func TestR7SavedHistory(t *testing.T) {
	s := newSavedTest(t)
	a := s.newSaved()
	l := s.mustAssign(a)
	end := s.now.Add(24 * time.Hour)
	s.changeHistory()
	for at := time.Duration(0); at < 23*time.Hour; at += time.Hour {
		s.now = start.Add(at)
		if at == 12*time.Hour {
			l.crash()
			l = s.mustAssign(a)
		}
		leasetest.MustReserve(t, l, s.now.Add(time.Hour))
	}
	if granted := leasetest.MustReserve(t, l, end.Add(time.Hour)); !granted.Equal(end) {
		t.Errorf("granted until %v, want %v", granted, end)
	}
	if granted, err := l.Reserve(context.Background(), end.Add(time.Hour)); !errors.Is(err, workerassign.ErrLeaseLost) {
		t.Fatalf("Reserve() at the end = %v, %v; want workerassign.ErrLeaseLost", granted.Until, err)
	}
	next := s.mustAssign(a) // before the release of the one that is lost
	if floor := mustReadSlots(t, s.store, Query{}).Pool.Floor; next.NotBefore().Before(floor) || !floor.After(end) {
		t.Errorf("the next lease begins at %v, the floor is %v, and the last lease ended at %v", next.NotBefore(), floor, end)
	}
	if err := l.Release(context.Background(), end); err != nil {
		t.Error(err)
	}
	leasetest.MustReserve(t, next, next.NotBefore())
	if err := next.Release(context.Background(), time.Time{}); err != nil {
		t.Error(err)
	}
}

// When an operator raises the floor, the lease is lost at the next extension, and at the next start. The next lease
// begins after the floor.
func TestSavedRaiseFloor(t *testing.T) {
	for _, restart := range []bool{false, true} {
		s := newSavedTest(t)
		a := s.newSaved()
		l := s.mustAssign(a)
		leasetest.MustReserve(t, l, s.now.Add(time.Minute))
		floor := s.now.Add(60 * time.Hour)
		if err := s.recycled().RaiseFloor(context.Background(), floor); err != nil {
			t.Fatal(err)
		}
		if s.now = s.now.Add(7 * time.Hour); restart {
			l.crash()
		} else if granted, err := l.Reserve(context.Background(), s.now.Add(time.Minute)); !errors.Is(err, workerassign.ErrLeaseLost) {
			t.Errorf("Reserve() = %v, %v; want workerassign.ErrLeaseLost", granted.Until, err)
		}
		next := s.mustAssign(a)
		if next.NotBefore().Before(floor) {
			t.Errorf("the next lease begins at %v, before the floor %v", next.NotBefore(), floor)
		}
		next.crash()
		again := s.mustAssign(a) // a restart while the lease waits for the floor
		if again.WorkerID() != next.WorkerID() || again.NotBefore().Before(floor) {
			t.Errorf("after a restart, worker ID %d begins at %v; want %d and the floor %v", again.WorkerID(), again.NotBefore(), next.WorkerID(), floor)
		}
		again.crash()
	}
}

// R7: an extension between the writes of RaiseFloor does not get beyond the floor, at which the next lease begins.
func TestR7SavedExtendedDuringRaiseFloor(t *testing.T) {
	s := newSavedTest(t)
	l := s.mustAssign(s.newSaved())
	floor := s.now.Add(26 * time.Hour)
	s.store.beforeWrite = func(w Write) {
		if w.Pool == nil {
			s.store.beforeWrite = nil
			s.now = s.now.Add(7 * time.Hour)
			leasetest.MustReserve(t, l, s.now.Add(time.Minute))
		}
	}
	if err := s.recycled().RaiseFloor(context.Background(), floor); err != nil {
		t.Fatal(err)
	}
	if slot := s.slot(l.WorkerID()); slot.Revision < 4 || !slot.Until.Equal(floor) {
		t.Errorf("the slot is %+v; want until at the floor, %v", slot, floor)
	}
	l.crash()
}

// A file that is in use, of another format, worker ID or machine, or that is missing is refused, even while the store
// is down.
func TestSavedIsRefused(t *testing.T) {
	s := newSavedTest(t)
	a := s.newSaved()
	l := s.mustAssign(a)
	refused := func(what string, a workerassign.Assigner, r workerassign.Request, want error) {
		t.Helper()
		for _, down := range []bool{false, true} {
			s.store.down.Store(down)
			if l, err := a.Assign(context.Background(), r); l != nil || !errors.Is(err, want) || !strings.Contains(err.Error(), s.path) {
				t.Errorf("%s: Assign() = %v, %v; want %v with the path", what, l, err, want)
			}
		}
		s.store.down.Store(false)
	}
	refused("in use by this assigner", a, s.request(), workerassign.ErrInUse)
	refused("in use by another assigner", s.newSaved(), s.request(), workerassign.ErrInUse)
	l.crash()
	other := s.request()
	other.Format = "another"
	refused("another format", a, other, ErrPoolFormat)
	refused("another worker ID", Saved(s.recycled(WithWorkerID(l.WorkerID()+1)), s.path), s.request(), workerassign.ErrOption)
	moved := s.newSaved()
	moved.machine = func() string { return "another" }
	refused("another machine", moved, s.request(), workerassign.ErrCorrupt)
	for name, a := range map[string]workerassign.Assigner{"no recycled": Saved(nil, s.path), "no path": Saved(s.recycled(), ""), "span": Saved(s.recycled(), s.path, WithSpan(0)),
		"nil option": Saved(s.recycled(), s.path, nil), "bad recycled": Saved(New(nil), s.path)} {
		if l, err := a.Assign(context.Background(), s.request()); l != nil || !errors.Is(err, workerassign.ErrOption) {
			t.Errorf("%s: Assign() = %v, %v; want ErrOption", name, l, err)
		}
	}
	if err := os.Remove(s.path); err != nil {
		t.Fatal(err)
	}
	refused("missing", a, s.request(), workerassign.ErrCorrupt)
}

// A host whose clock is far from the store's is refused (R8), although it has a lease in its file.
func TestR8SavedClock(t *testing.T) {
	s := newSavedTest(t)
	s.mustAssign(s.newSaved()).crash()
	s.store.Store = clockStore{s.store.Store}
	r := s.request()
	off := s.now.Add(6 * time.Second)
	r.Now = func() time.Time { return off }
	if l, err := s.newSaved().Assign(context.Background(), r); l != nil || !errors.Is(err, ErrClockSkew) {
		t.Errorf("Assign() = %v, %v; want ErrClockSkew", l, err)
	}
}

// clockStore is a store with a clock of its own.
type clockStore struct{ Store }

func (s clockStore) Read(ctx context.Context, q Query) (State, error) {
	state, err := s.Store.Read(ctx, q)
	state.HostClock = false
	return state, err
}
