package uid

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// recycledEpoch lies before the time at which a synctest bubble starts.
var recycledEpoch = time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)

// newRecycledGenerator returns a generator of a mode, "Cached" or "Default", on a slot store.
func newRecycledGenerator(t *testing.T, mode string, s recycled.Store, more []recycled.Option, opts ...any) Generator {
	t.Helper()
	l, err := bitsalloc.New(35, 10, 4)
	if err != nil {
		t.Fatal(err)
	}
	opts = append([]any{WithLogger(slog.New(slog.DiscardHandler)), WithEpoch(recycledEpoch), WithLayout(l), WithBoostPower(1)}, opts...)
	a := recycled.New(s, append([]recycled.Option{recycled.WithLogger(slog.New(slog.DiscardHandler))}, more...)...)
	var g Generator
	if mode == "Cached" {
		var c *Cached
		if c, err = NewCached(t.Context(), a, accepted[Option](opts)...); err == nil {
			g = c
		}
	} else {
		var d *Default
		if d, err = NewDefault(t.Context(), a, accepted[DefaultOption](opts)...); err == nil {
			g = d
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

// recycledTaker takes UIDs of several generators and finds those that come twice.
type recycledTaker struct {
	t    *testing.T
	seen map[ID]bool
}

// take takes UIDs of a generator for a time, at most 10 a second. It returns how many there were, the last
// one, and the last error.
func (k *recycledTaker) take(g Generator, d time.Duration) (got int, last Parts, lastErr error) {
	k.t.Helper()
	for begin := time.Now(); time.Since(begin) < d; {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		id, err := g.NextContext(ctx)
		cancel()
		if err != nil {
			lastErr = err
		} else {
			if k.seen[id] {
				k.t.Fatalf("%v came twice", g.Parse(id))
			}
			k.seen[id] = true
			got, last = got+1, g.Parse(id)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return got, last, lastErr
}

// inRecycledModes runs a test in a bubble for both kinds of generator.
func inRecycledModes(t *testing.T, f func(t *testing.T, mode string, k *recycledTaker)) {
	for _, mode := range []string{"Cached", "Default"} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, mode, &recycledTaker{t: t, seen: make(map[ID]bool)}) })
		})
	}
}

// Invariant 1, R3: a process that cannot reach the store beyond its grant stamps nothing beyond it. Its slot is
// taken by another. When it reaches the store again, it takes another slot, and no UID comes twice.
func TestInvariant1LostSlotIsReplaced(t *testing.T) {
	inRecycledModes(t, func(t *testing.T, mode string, k *recycledTaker) {
		memory := newSlotMemory()
		connection := &slotConnection{memory: memory}
		a := newRecycledGenerator(t, mode, connection, nil)
		if got, _, err := k.take(a, time.Minute); got < 200 || err != nil {
			t.Fatalf("%d UIDs in a minute, %v", got, err)
		}
		synctest.Wait() // the lease is extended at the same time
		connection.setDown(true)
		granted := memory.slot(0).Until
		got, last, err := k.take(a, 5*time.Minute)
		if got == 0 || !last.Time.Before(granted) || granted.Sub(last.Time) > 2*time.Second {
			t.Errorf("without the store: %d UIDs, the last of %v; want them up to the end of the grant, %v", got, last.Time, granted)
		}
		if !errors.Is(err, ErrLease) || !errors.Is(err, errSlotsDown) {
			t.Errorf("then the error is %v; want ErrLease with the store's", err)
		}
		b := newRecycledGenerator(t, mode, &slotConnection{memory: memory}, nil)
		if st := b.Stats(); st.WorkerID != 0 || !st.LeaseBounded {
			t.Fatalf("the second process has %+v; want the first one's slot", st)
		}
		if got, _, err := k.take(b, 10*time.Second); got < 20 || err != nil {
			t.Fatalf("the second process: %d UIDs, %v", got, err)
		}
		connection.setDown(false)
		got, last, err = k.take(a, time.Minute)
		if got < 100 || last.WorkerID != 1 {
			t.Errorf("when the store is back: %d UIDs, the last with worker ID %d, %v", got, last.WorkerID, err)
		}
		if err != nil && !errors.Is(err, ErrLease) {
			t.Errorf("meanwhile the error was %v", err)
		}
		if st := a.Stats(); st.LostLeases == 0 || st.Rollovers == 0 || st.WorkerID != 1 || time.Since(st.LeaseSince) > time.Minute || !st.LeaseUntil.After(time.Now()) {
			t.Errorf("Stats() = %+v", st)
		}
		if got, _, err := k.take(b, time.Minute); got < 200 || err != nil || b.Stats().LostLeases != 0 {
			t.Errorf("the second process afterwards: %d UIDs, %v, %+v", got, err, b.Stats())
		}
	})
}

// The reason that a lease is lost can be found in the error.
func TestLostSlotIsNamed(t *testing.T) {
	inRecycledModes(t, func(t *testing.T, mode string, k *recycledTaker) {
		memory := newSlotMemory()
		connection := &slotConnection{memory: memory}
		// All worker IDs but one are below the pool, so that there is no other slot to change to.
		only := []recycled.Option{recycled.WithFirstWorkerID(1023)}
		a := newRecycledGenerator(t, mode, connection, only)
		connection.setDown(true)
		time.Sleep(5 * time.Minute)
		b := newRecycledGenerator(t, mode, &slotConnection{memory: memory}, only)
		connection.setDown(false)
		for range 10 {
			k.take(b, time.Second)
			got, _, err := k.take(a, 10*time.Second)
			if got != 0 || !errors.Is(err, ErrLease) || !errors.Is(err, workerassign.ErrLeaseLost) {
				t.Errorf("%d UIDs, and the error is %v; want ErrLease with ErrLeaseLost", got, err)
			}
		}
		if h := a.Health(); h.OK() || !errors.Is(h.Err, workerassign.ErrLeaseLost) {
			t.Errorf("Health() = %+v", h)
		}
	})
}

// The store is away for longer than the grant, and nobody takes the slot: the generator continues with it. Or, if its try to
// take another lease comes first, with another slot, but it does not use more and more of them.
func TestOutageOfSlotStore(t *testing.T) {
	testkit.WithoutRace(t)
	inRecycledModes(t, func(t *testing.T, mode string, k *recycledTaker) {
		memory := newSlotMemory()
		connection := &slotConnection{memory: memory}
		g := newRecycledGenerator(t, mode, connection, nil)
		_, last, _ := k.take(g, time.Minute)
		for range 3 {
			synctest.Wait() // as above
			connection.setDown(true)
			granted := memory.slot(last.WorkerID).Until
			if left := time.Until(granted); left < 30*time.Second {
				t.Errorf("only %v are granted; want what is reserved ahead", left)
			}
			got, stamped, err := k.take(g, 10*time.Minute)
			if got < 60 || !stamped.Time.Before(granted) || !errors.Is(err, ErrLease) || !errors.Is(err, errSlotsDown) {
				t.Errorf("without the store: %d UIDs up to %v of %v, %v", got, stamped.Time, granted, err)
			}
			connection.setDown(false)
			time.Sleep(15 * time.Second) // the longest pause between two tries
			if got, last, err = k.take(g, time.Minute); got < 250 || err != nil || last.WorkerID > 1 {
				t.Errorf("with the store: %d UIDs, the last with worker ID %d, %v", got, last.WorkerID, err)
			}
		}
	})
}

// A generator that is idle for a day continues, with its slot or with another.
func TestIdleOnSlots(t *testing.T) {
	testkit.WithoutRace(t)
	idle := testkit.Amount(2*time.Hour, 2*time.Hour, 24*time.Hour)
	inRecycledModes(t, func(t *testing.T, mode string, k *recycledTaker) {
		for _, taken := range []bool{false, true} {
			memory := newSlotMemory()
			g := newRecycledGenerator(t, mode, &slotConnection{memory: memory}, nil)
			k := &recycledTaker{t: t, seen: make(map[ID]bool)}
			k.take(g, 10*time.Second)
			time.Sleep(idle)
			if taken {
				k.take(newRecycledGenerator(t, mode, &slotConnection{memory: memory}, nil), time.Minute)
			}
			if got, _, err := k.take(g, time.Minute); got < 240 || err != nil && !errors.Is(err, ErrLease) {
				t.Errorf("taken %v: %d UIDs in a minute after %v, %v", taken, got, idle, err)
			}
		}
	})
}

// R7: the store may have lost writes. Leases under the old history are lost, and new ones begin at a floor:
// generators wait for it, say so, and continue by themselves.
func TestR7FloorIsWaitedFor(t *testing.T) {
	inRecycledModes(t, func(t *testing.T, mode string, k *recycledTaker) {
		memory := newSlotMemory()
		g := newRecycledGenerator(t, mode, &slotConnection{memory: memory}, nil)
		k.take(g, time.Minute)
		memory.restart("h2")
		changed := time.Now()
		before := memory.calls()
		var floor time.Time
		for floor.IsZero() { // somebody notices
			if got, _, _ := k.take(g, time.Second); got == 0 && time.Since(changed) > 3*time.Minute {
				t.Fatal("nobody has noticed the change of history")
			}
			memory.mu.Lock()
			floor = memory.server.pool.Floor
			memory.mu.Unlock()
		}
		k.take(g, time.Until(memory.slot(0).Until)+5*time.Second)
		begins := floor.Add(time.Second - 1).Truncate(time.Second).Format(time.RFC3339)
		fresh := newRecycledGenerator(t, mode, &slotConnection{memory: memory}, nil)
		for name, waiting := range map[string]Generator{"the old": g, "a fresh": fresh} {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			id, err := waiting.NextContext(ctx)
			cancel()
			if id != 0 || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrLease) || !strings.Contains(err.Error(), "must not be used before "+begins) {
				t.Errorf("%s generator: NextContext() = %d, %v; want it to name %v", name, id, err, begins)
			}
			if h := waiting.Health(); h.OK() || !errors.Is(h.Err, ErrLease) || h.For != 0 {
				t.Errorf("%s generator: Health() = %+v", name, h)
			}
		}
		limit := 24 * time.Second // of borrowing: see DefaultHorizon
		if mode == "Default" {
			limit = 0
		}
		time.Sleep(time.Until(floor.Add(-limit)))
		if calls := memory.calls() - before; calls > 400 {
			t.Errorf("the store was called %d times in %v", calls, time.Since(changed))
		}
		for name, waiting := range map[string]Generator{"the old": g, "a fresh": fresh} {
			got, last, err := k.take(waiting, 30*time.Second)
			if got < 100 {
				t.Errorf("%s generator: %d UIDs after the floor, %v", name, got, err)
			}
			if last.Time.Before(floor) {
				t.Errorf("%s generator: a UID has the time %v, before the floor %v", name, last.Time, floor)
			}
			if h := waiting.Health(); !h.OK() {
				t.Errorf("%s generator: Health() = %+v", name, h)
			}
		}
	})
}
