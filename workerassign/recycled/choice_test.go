package recycled_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// fill takes n leases with the options, releases them, and waits until their slots are free.
func (f *fleet) fill(n int, opts ...recycled.Option) {
	f.Helper()
	var leases []workerassign.Lease
	for range n {
		l := f.assign(f.assigner(opts...))
		f.reserve(l, time.Second)
		leases = append(leases, l)
	}
	time.Sleep(time.Second)
	for _, l := range leases {
		f.release(l)
	}
	time.Sleep(2 * time.Millisecond)
}

// A name gets the slot that it had last.
func TestChoiceByName(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.fill(5)
		had := map[string]int64{}
		for round := range 10 {
			var leases []workerassign.Lease
			for n := range 8 {
				name := fmt.Sprint("orders-", n)
				l := f.assign(f.assigner(recycled.WithName(name)))
				if id, ok := had[name]; ok && id != l.WorkerID() {
					f.Errorf("round %d: %s has worker ID %d, and had %d", round, name, l.WorkerID(), id)
				}
				had[name] = l.WorkerID()
				f.reserve(l, 45*time.Second)
				leases = append(leases, l)
			}
			for n, l := range leases {
				if n%2 == round%2 { // the others crash
					f.release(l)
				}
			}
			time.Sleep(46 * time.Second)
		}
		if n := f.Dump().Pool.Slots; n != 8 {
			f.Errorf("8 names and 5 leases without one need %d slots, want 8", n)
		}
	})
}

// If several slots have the name, the one that it had last is taken.
func TestChoiceByNameLast(t *testing.T) {
	inFleet(t, func(f *fleet) {
		named := recycled.WithName("orders-3")
		for range 20 {
			older := f.assign(f.assigner(named))
			time.Sleep(2 * time.Millisecond)
			newer := f.assign(f.assigner(named))
			time.Sleep(time.Second)
			f.release(newer)
			f.release(older)
			time.Sleep(2 * time.Millisecond)
			next := f.assign(f.assigner(named))
			if next.WorkerID() != newer.WorkerID() {
				f.Fatalf("the slot of worker ID %d was taken, want %d, which the name had last", next.WorkerID(), newer.WorkerID())
			}
			f.release(next)
			time.Sleep(2 * time.Millisecond)
			f.fill(2, named)
		}
	})
}

// A claimant without a name prefers slots without a name; one with another name does too.
func TestChoiceUnnamedFirst(t *testing.T) {
	for _, opts := range [][]recycled.Option{nil, {recycled.WithName("payments")}} {
		inFleet(t, func(f *fleet) {
			f.fill(6, recycled.WithName("orders"))
			f.fill(3)
			f.fill(0)
			unnamed := 0
			for _, slot := range f.Dump().Slots {
				if slot.Holder.Name == "" {
					unnamed++
				}
			}
			if unnamed == 0 {
				f.Fatal("there is no slot without a name")
			}
			for n := range 6 {
				named := map[int64]bool{}
				for _, slot := range f.Dump().Slots {
					named[slot.WorkerID] = slot.Holder.Name != ""
				}
				l := f.assign(f.assigner(opts...))
				if named[l.WorkerID()] != (n >= unnamed) {
					f.Errorf("lease %d took worker ID %d; its slot has a name: %v; %d slots have none", n, l.WorkerID(), named[l.WorkerID()], unnamed)
				}
			}
		})
	}
}

// Among several free slots one is chosen at random.
func TestChoiceAtRandom(t *testing.T) {
	taken := map[int64]bool{}
	for range 40 {
		inFleet(t, func(f *fleet) {
			f.SetFaults(nil)
			var leases []workerassign.Lease
			for range 10 {
				leases = append(leases, f.assign(f.assigner()))
			}
			for _, l := range leases {
				f.release(l)
			}
			time.Sleep(2 * time.Millisecond)
			taken[f.assign(f.assigner()).WorkerID()] = true
		})
	}
	if len(taken) < 5 {
		t.Errorf("40 times, one of 10 free slots was chosen: only %d different ones", len(taken))
	}
}

// WithWorkerID takes the slot of that worker ID, adds it if it does not exist, and refuses it while another
// holds it.
func TestChoiceOfWorkerID(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.max = 1023
		l := f.assign(f.assigner(recycled.WithWorkerID(700), recycled.WithName("orders-3")))
		if s := f.Dump(); l.WorkerID() != 700 || s.Pool.Slots != 701 || len(s.Slots) != 701 {
			f.Fatalf("the lease has worker ID %d, and the pool %d slots; want 700 and 701", l.WorkerID(), s.Pool.Slots)
		}
		until := f.reserve(l, 20*time.Second)
		since := time.Now()
		ctx, cancel := withTimeout(f, 10*time.Second)
		defer cancel()
		_, err := f.assigner(recycled.WithWorkerID(700)).Assign(ctx, f.request())
		var held *recycled.SlotHeldError
		if !errors.As(err, &held) || !errors.Is(err, recycled.ErrSlotHeld) {
			f.Fatalf("Assign of a worker ID that is held returned %v; want a *SlotHeldError", err)
		}
		for _, part := range []string{"700", `"orders-3"`, held.Slot.Holder.Host, until.UTC().Format(time.RFC3339Nano), since.UTC().Format("2006-01-02T15:04")} {
			if !strings.Contains(err.Error(), part) {
				f.Errorf("the error %q does not contain %q", err, part)
			}
		}
		if waited := time.Since(since); waited > time.Second {
			f.Errorf("Assign returned after %v; it cannot become free within the deadline, so must return at once", waited)
		}
		// It waits if the slot becomes free in time: 20 s and the grace.
		ctx, cancel = withTimeout(f, 40*time.Second)
		defer cancel()
		next, err := f.assigner(recycled.WithWorkerID(700)).Assign(ctx, f.request())
		if err != nil || next.WorkerID() != 700 || !next.NotBefore().Equal(until) {
			f.Fatalf("Assign that waits returned %v, %v; want worker ID 700 from %v", next, err, until)
		}
		if waited := time.Since(since); waited < 20*time.Second+poolGrace || waited > 22*time.Second+poolGrace {
			f.Errorf("Assign returned after %v, want 20 s and the grace", waited)
		}
		// A released one is taken at once, by another name too.
		f.release(next)
		time.Sleep(2 * time.Millisecond)
		if l := f.assign(f.assigner(recycled.WithWorkerID(700), recycled.WithName("x"))); l.WorkerID() != 700 {
			f.Errorf("the lease has worker ID %d, want 700", l.WorkerID())
		}
		// The other slots are free for all.
		if l := f.assign(f.assigner()); l.WorkerID() >= 700 {
			f.Errorf("a lease of any worker ID has %d; slots below 700 are free", l.WorkerID())
		}
	})
}

// Assign takes a slot that becomes free shortly before its deadline.
func TestSlotFreeShortlyBeforeTheDeadline(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.max = 1023
		for id := range int64(30) {
			f.reserve(f.assign(f.assigner(recycled.WithWorkerID(id), recycled.WithName("crashed"))), 20*time.Second)
			ctx, cancel := withTimeout(f, 20*time.Second+poolGrace+300*time.Millisecond)
			if _, err := f.assigner(recycled.WithWorkerID(id)).Assign(ctx, f.request()); err != nil {
				f.Errorf("worker ID %d: %v", id, err)
			}
			cancel()
		}
	})
}

// If the deadline ends a call of the store while Assign waits for a slot, the error still says which slot it waits for.
func TestDeadlineWhileASlotIsHeld(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.max = 1023
		slow := endingStore{slowStore{f.Memory, 70 * time.Millisecond}}
		for id := range int64(30) {
			f.reserve(f.assign(f.assigner(recycled.WithWorkerID(id), recycled.WithName("crashed"))), 20*time.Second)
			ctx, cancel := withTimeout(f, 20*time.Second+poolGrace+time.Duration(id)*5*time.Millisecond)
			if _, err := f.assignerOn(slow, recycled.WithWorkerID(id)).Assign(ctx, f.request()); err != nil && !errors.Is(err, recycled.ErrSlotHeld) {
				f.Errorf("worker ID %d: %v; want it, or ErrSlotHeld", id, err)
			}
			cancel()
		}
	})
}

// Many claimants of different worker IDs that start at once get what they want.
func TestChoiceOfWorkerIDsAtOnce(t *testing.T) {
	inFleet(t, func(f *fleet) {
		const n = 200
		f.max = 1023
		results := make(chan error, n)
		f.createPool()
		slow := slowStore{f.Memory, time.Millisecond}
		for id := range int64(n) {
			go func() {
				l, err := f.assignerOn(slow, recycled.WithWorkerID(id)).Assign(f.Context(), f.request())
				if err == nil && l.WorkerID() != id {
					err = fmt.Errorf("worker ID %d, want %d", l.WorkerID(), id)
				}
				results <- err
			}()
		}
		for range n {
			if err := <-results; err != nil {
				f.Error(err)
			}
		}
		c := f.Counts()
		f.Logf("%d claimants of different worker IDs: %.1f reads and %.1f writes per Assign", n, float64(c.Reads)/n, float64(c.Writes)/n)
		if c.Reads > 30*n {
			f.Errorf("%d reads for %d claimants; want at most 30 each", c.Reads, n)
		}
	})
}

// slowStore is a store that takes time for each call: a half before it does anything, and a half after
// that.
type slowStore struct {
	recycled.Store
	half time.Duration
}

func (s slowStore) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	time.Sleep(s.half)
	defer time.Sleep(s.half)
	return s.Store.Read(ctx, q)
}

func (s slowStore) Write(ctx context.Context, w recycled.Write) (bool, error) {
	time.Sleep(s.half)
	defer time.Sleep(s.half)
	return s.Store.Write(ctx, w)
}

// endingStore is a store whose Read fails if its context has ended.
type endingStore struct{ recycled.Store }

func (s endingStore) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	state, err := s.Store.Read(ctx, q)
	return state, cmp.Or(err, ctx.Err())
}

// R8: a slow reply is no difference of clocks, wherever the time passes.
func TestRule8SlowStore(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.createPool()
		if _, err := f.assignerOn(slowStore{f.Memory, poolB + time.Second}).Assign(f.Context(), f.request()); err != nil && errors.Is(err, recycled.ErrClockSkew) {
			f.Error(err)
		}
	})
}

// WithFirstWorkerID begins a pool at another worker ID. Assigners with another first worker ID are refused.
func TestFirstWorkerID(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.max = 102
		var full *recycled.PoolFullError
		for want := int64(100); want <= 102; want++ {
			if l := f.assign(f.assigner(recycled.WithFirstWorkerID(100))); l.WorkerID() != want {
				f.Errorf("the lease has worker ID %d, want %d", l.WorkerID(), want)
			}
		}
		ctx, cancel := withTimeout(f, time.Second)
		defer cancel()
		if _, err := f.assigner(recycled.WithFirstWorkerID(100)).Assign(ctx, f.request()); !errors.As(err, &full) || full.Held != 3 || full.MaxWorkerID != 102 {
			f.Errorf("Assign from a full pool returned %v; want a *PoolFullError with 3 held and the greatest worker ID 102", err)
		}
		_, err := f.assigner().Assign(ctx, f.request())
		if !errors.Is(err, recycled.ErrPoolFormat) || !strings.Contains(err.Error(), "100") || !strings.Contains(err.Error(), " 0;") && !strings.Contains(err.Error(), " 0 ") {
			f.Errorf("Assign with another first worker ID returned %v; want ErrPoolFormat that names both", err)
		}
	})
}

// A pool that two prefixes of different widths share has slots beyond the greatest worker ID of one of them. Its generators do
// not take these.
func TestChoiceWithinTheLayout(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.max = 3
		var last workerassign.Lease
		for range 4 {
			if l := f.assign(f.assigner()); l.WorkerID() == f.max {
				last = l
			}
		}
		f.release(last)
		time.Sleep(time.Second)
		f.max = 2
		l, err := f.assigner(recycled.WithTimeout(time.Second)).Assign(f.Context(), f.request())
		var full *recycled.PoolFullError
		if !errors.As(err, &full) {
			f.Fatalf("Assign while only worker ID 3 is free, and the greatest of the layout is 2, returned %v, %v; want ErrPoolFull", l, err)
		}
		if full.Held != 3 || !full.NextFree.After(time.Now()) {
			f.Errorf("Held is %d and NextFree is %v; want 3, and a time after %v", full.Held, full.NextFree, time.Now())
		}
	})
}
