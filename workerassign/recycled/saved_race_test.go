package recycled

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/leasetest"
	"github.com/ringuid/ringuid/workerassign"
)

// R2: between the read and the write of an extension, another changes the slot, so that the write returns false. Nothing
// is granted by that write. If the other one has taken the slot, or ended the lease, the lease is lost.
func TestR2SavedLostSwap(t *testing.T) {
	for name, tt := range map[string]struct {
		other    func(s *savedTest, slot Slot) // what happens in between
		wantLost bool
	}{
		"another process with a copy of the file": {func(s *savedTest, slot Slot) {
			slot.Revision++
			slot.Token = rand.Text()
			s.mustWriteSlot(slot)
		}, true},
		"a claim": {func(s *savedTest, slot Slot) {
			slot.Revision++
			slot.Token, slot.From = rand.Text(), slot.Until
			s.mustWriteSlot(slot)
		}, true},
		"an operator": {func(s *savedTest, slot Slot) {
			if err := s.recycled().RaiseFloor(context.Background(), s.now.Add(30*time.Hour)); err != nil {
				s.Fatal(err)
			}
		}, true},
		"another revision": {func(s *savedTest, slot Slot) {
			slot.Revision++
			s.mustWriteSlot(slot)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSavedTest(t)
				l := s.mustAssign(s.newSaved())
				before := leasetest.MustReserve(t, l, s.now.Add(time.Minute))
				end := l.record.slot.Until
				s.now = s.now.Add(7 * time.Hour)
				s.store.beforeWrite = func(Write) {
					s.store.beforeWrite = nil
					tt.other(s, s.slot(l.WorkerID()))
				}
				granted, err := l.Reserve(context.Background(), end.Add(time.Hour))
				if tt.wantLost && (!errors.Is(err, workerassign.ErrLeaseLost) || !granted.Until.IsZero()) {
					t.Errorf("Reserve() = %v, %v; want workerassign.ErrLeaseLost", granted.Until, err)
				}
				if !tt.wantLost && (err != nil || !granted.Until.Equal(end.Add(time.Hour))) {
					t.Errorf("Reserve() = %v, %v; want what was asked for", granted.Until, err)
				}
				stored := s.slot(l.WorkerID())
				if err == nil && stored.Until.Before(granted.Until) {
					t.Errorf("granted until %v, and the store has granted %v", granted.Until, stored.Until)
				}
				want := before
				if errors.Is(err, workerassign.ErrVoid) { // the file grants nothing any more
					want = end
				}
				if tt.wantLost && !l.record.mark.Equal(want) {
					t.Errorf("the mark is %v, want %v: nothing was granted", l.record.mark, want)
				}
			})
		})
	}
}

// R2: two processes have copies of one file, and extend the lease at the same time: both have read the slot before one of
// them writes it. Only that one is granted time.
func TestR2SavedCopiesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSavedTest(t)
		first := s.mustAssign(s.newSaved())
		leasetest.MustReserve(t, first, s.now.Add(time.Minute))
		copied := savedLease{assigner: &saved{recycled: s.recycled(), cfg: first.assigner.cfg, storeTimeout: time.Second}, held: first.held,
			request: s.request(), record: first.record, begin: first.begin, workerID: first.workerID}
		end := first.record.slot.Until
		s.now = s.now.Add(7 * time.Hour)
		var granted time.Time
		s.store.beforeWrite = func(Write) { // of the first one
			s.store.beforeWrite = nil
			granted = leasetest.MustReserve(t, &copied, end.Add(time.Hour))
		}
		if got, err := first.Reserve(context.Background(), end.Add(time.Hour)); !errors.Is(err, workerassign.ErrLeaseLost) {
			t.Errorf("Reserve() of both copies = %v and %v, %v; want that the second one is lost", granted, got.Until, err)
		}
		if !granted.Equal(end.Add(time.Hour)) {
			t.Errorf("the copy that was faster was granted %v, want %v", granted, end.Add(time.Hour))
		}
	})
}

// A slot beyond the pool's count is not leased: a store may return one that was added after the pool was read, or
// somebody has deleted the pool. Then the addition of slots finds it.
func TestSavedSlotBeyondPool(t *testing.T) {
	for _, beyond := range []int64{0, 1, 500} { // how far
		synctest.Test(t, func(t *testing.T) {
			s := newSavedTest(t)
			l := s.mustAssign(s.newSaved()) // so that there is a pool
			state := mustReadSlots(t, s.store, Query{All: true})
			slot := l.record.slot
			slot.WorkerID, slot.Revision, slot.Token = state.Pool.First+state.Pool.Slots+beyond, 1, ""
			slot.Until, slot.FreeAt = slot.From, slot.From
			s.mustWriteSlot(slot)
			s.now = s.now.Add(time.Minute)
			if free := mustReadSlots(t, s.store, Query{Free: 16}).Slots; len(free) != 1 || free[0].WorkerID != slot.WorkerID {
				t.Fatalf("the store returns %+v, want the slot beyond the pool", free)
			}
			next, err := Saved(s.recycled(), s.path+"2").Assign(context.Background(), s.request())
			switch {
			case beyond == 0 && !errors.Is(err, ErrPool):
				t.Errorf("Assign() = %v, %v; want ErrPool, because the slot to be added exists", next, err)
			case beyond > 0 && (err != nil || next.WorkerID() != l.WorkerID()+1):
				t.Errorf("Assign() = %v, %v; want worker ID %d", next, err, l.WorkerID()+1)
			}
			if got := s.slot(slot.WorkerID); got.Revision != 1 {
				t.Errorf("the slot beyond the pool was written: %+v", got)
			}
		})
	}
}

// slot reads a slot, which must exist.
func (s *savedTest) slot(workerID int64) Slot {
	s.Helper()
	state := mustReadSlots(s.T, s.store, Query{WorkerIDs: []int64{workerID}})
	if len(state.Slots) != 1 {
		s.Fatalf("the slots of worker ID %d are %+v", workerID, state.Slots)
	}
	return state.Slots[0]
}

// mustWriteSlot writes a slot as another process does.
func (s *savedTest) mustWriteSlot(slot Slot) {
	s.Helper()
	state := mustReadSlots(s.T, s.store, Query{WorkerIDs: []int64{slot.WorkerID}})
	w := Write{History: state.History, Slots: []Slot{slot}, Replaced: append(state.Slots, Slot{})[:1]} // it may be new
	if ok, err := s.store.Write(context.Background(), w); !ok || err != nil {
		s.Fatalf("Write(%+v) = %v, %v", slot, ok, err)
	}
}

// A lease that is found void lets go of its file at once, because it may never be released: of the parts of Divide, only the one that
// has found it is.
func TestR4SavedVoidFreesItsFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSavedTest(t)
		saved := s.newSaved()
		l := leasetest.MustAssign(t, workerassign.Divide(saved, 1), s.request())
		leasetest.MustReserve(t, l, s.now.Add(time.Minute))
		slot := s.slot(l.WorkerID())
		slot.Revision, slot.Token = slot.Revision+1, nextToken(leaseOf(slot.Token), start)
		s.mustWriteSlot(slot)
		s.now = s.now.Add(7 * time.Hour)
		if granted, err := l.Reserve(context.Background(), s.now.Add(time.Minute)); !errors.Is(err, workerassign.ErrVoid) {
			t.Fatalf("Reserve() = %v, %v; want ErrVoid", granted.Until, err)
		}
		leasetest.MustRelease(t, l, time.Time{}) // and not the other part
		r := s.request()
		r.Format += "; divided by 1 bits"
		leasetest.MustAssign(t, s.newSaved(), r).(*savedLease).crash()
	})
}

// R4: a copy of the process, or of its file, has extended the lease, or released it. What was granted is void, and the file grants
// nothing any more: not to this process, and not to the next one, although that finds the store down.
func TestR4SavedVoid(t *testing.T) {
	for name, copied := range map[string]func(slot Slot) Slot{
		"extends":  func(slot Slot) Slot { slot.Token = nextToken(leaseOf(slot.Token), start); return slot },
		"releases": func(slot Slot) Slot { slot.Token = ""; return slot },
	} {
		for _, restarted := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s := newSavedTest(t)
				l := s.mustAssign(s.newSaved())
				leasetest.MustReserve(t, l, s.now.Add(time.Minute))
				slot := s.slot(l.WorkerID())
				slot.Revision++
				s.mustWriteSlot(copied(slot))
				s.now = s.now.Add(7 * time.Hour)
				if !restarted {
					granted, err := l.Reserve(context.Background(), s.now.Add(time.Minute))
					if leasetest.WantError(t, name, err, workerassign.ErrVoid); !granted.Until.IsZero() {
						t.Errorf("%s: Reserve() granted the time up to %v", name, granted.Until)
					}
					s.store.down.Store(true)
				}
				l.crash()
				for range 2 { // if restarted, the first one finds it, and cannot take another slot
					a := Saved(s.recycled(WithWorkerID(l.WorkerID())), s.path)
					if l, err := a.Assign(context.Background(), s.request()); err == nil {
						t.Errorf("%s, restarted: %v: a later process has the lease of worker ID %d from %v", name, restarted, l.WorkerID(), l.NotBefore())
					}
					s.store.down.Store(true)
				}
			})
		}
	}
}

// The first failure of a series to extend the lease is logged, because UIDs are handed out until it ends.
func TestSavedFailureIsLogged(t *testing.T) {
	s := newSavedTest(t)
	var log bytes.Buffer
	l := s.mustAssign(Saved(s.recycled(WithLogger(slog.New(slog.NewTextHandler(&log, nil)))), s.path))
	for outage := 1; outage <= 2; outage++ {
		s.store.down.Store(true)
		for range 3 {
			s.now = s.now.Add(4 * time.Hour)
			leasetest.MustReserve(t, l, s.now.Add(time.Minute))
		}
		if n := strings.Count(log.String(), "a lease was not extended"); n != outage {
			t.Errorf("after outage %d the log has %d warnings:\n%s", outage, n, log.String())
		}
		s.store.down.Store(false)
		s.now = s.now.Add(time.Hour)
		leasetest.MustReserve(t, l, s.now.Add(time.Minute))
	}
	// A start is the first one of the series.
	l.crash()
	log.Reset()
	s.store.down.Store(true)
	s.now = s.now.Add(10 * time.Hour)
	l = s.mustAssign(Saved(s.recycled(WithLogger(slog.New(slog.NewTextHandler(&log, nil)))), s.path))
	s.now = s.now.Add(4 * time.Hour)
	leasetest.MustReserve(t, l, s.now.Add(time.Minute))
	// Close cancels a call.
	s.store.down.Store(false)
	s.now = s.now.Add(time.Minute)
	leasetest.MustReserve(t, l, s.now.Add(time.Minute))
	s.store.down.Store(true)
	s.now = s.now.Add(8 * time.Hour)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	l.Reserve(ctx, s.now.Add(time.Minute))
	if n := strings.Count(log.String(), "a lease was not extended"); n != 1 {
		t.Errorf("after a start the log has %d warnings:\n%s", n, log.String())
	}
}

// If the store refuses the options, which an operator must notice long before the lease ends, that is logged once.
func TestSavedRefusalIsLogged(t *testing.T) {
	s := newSavedTest(t)
	var log bytes.Buffer
	l := s.mustAssign(Saved(s.recycled(WithLogger(slog.New(slog.NewTextHandler(&log, nil)))), s.path))
	state := mustReadSlots(t, s.store, Query{})
	p := state.Pool
	p.Revision++
	p.Horizon = 48 * time.Hour
	if ok, err := s.store.Write(context.Background(), Write{History: state.History, Pool: &p, ReplacedPool: &state.Pool}); !ok || err != nil {
		t.Fatalf("Write() = %v, %v", ok, err)
	}
	for range 3 {
		s.now = s.now.Add(6 * time.Hour)
		leasetest.MustReserve(t, l, s.now.Add(time.Minute))
	}
	for _, want := range []string{"level=WARN", "a lease was not extended; the one in the file is used as long as it lasts", "worker_id=0", "the horizon is 25h0m0s; must be at least that of the pool, 48h0m0s"} {
		if got := log.String(); !strings.Contains(got, want) || strings.Count(got, "\n") != 1 {
			t.Errorf("the log is %q; want one warning with %q", got, want)
		}
	}
}

// R7: a process that has only the lease in its file knows that there was a pool: if that is missing, it begins with a floor, also in a store
// that loses no writes.
func TestR7SavedLeaseShowsThatThereWasAPool(t *testing.T) {
	s := newSavedTest(t)
	l := s.mustAssign(s.newSaved())
	granted := leasetest.MustReserve(t, l, s.now.Add(time.Hour))
	l.crash()
	memory, _ := NewMemory(func() time.Time { return s.now })
	s.store.Store = memory // the pool was deleted
	r := s.recycled()
	l = s.mustAssign(Saved(r, s.path))
	s.now = s.now.Add(7 * time.Hour)
	l.Reserve(context.Background(), s.now.Add(time.Minute)) // which finds that the slot is missing
	next, err := r.Assign(context.Background(), s.request())
	if err != nil {
		t.Fatal(err)
	}
	if next.NotBefore().Before(granted.Add(17*time.Hour)) || mustReadSlots(t, s.store, Query{}).Pool.Floor.IsZero() {
		t.Errorf("the next lease begins at %v; %v was granted, and the lease was for a day", next.NotBefore(), granted)
	}
}
