package uid

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fakeclock"
	"github.com/ringuid/ringuid/workerassign"
)

func TestDefaultStampsNow(t *testing.T) {
	fake := fakeclock.New(noon)
	d := newDefault(t, new(disposableAssigner), WithClock(fake))
	for second := range 5 {
		for sequence := range int64(3) {
			p := d.Parse(next(t, d))
			if want := noon.Truncate(time.Second).Add(time.Duration(second) * time.Second); !p.Time.Equal(want) || p.Sequence != sequence || p.WorkerID != 1 {
				t.Errorf("second %d, UID %d: %v, want %v", second, sequence, p, want)
			}
		}
		fake.Advance(time.Second)
	}
	if st := d.Stats(); st.Issued != 15 || st.WorkerID != 1 || st.Ahead != 0 {
		t.Errorf("Stats() = %+v", st)
	}
}

// D9: the original waits for the next second by spinning while it holds its lock. Here the caller
// sleeps without a lock, and its context ends the wait. It does not delay callers that do not wait.
func TestD9WaitHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDefault(t, new(disposableAssigner), WithLayout(layout(t, 31, 28, 4)), WithEpoch(bubbleEpoch))
		for range 16 {
			next(t, d)
		}
		begin := time.Now()
		var callers sync.WaitGroup
		callers.Go(func() { next(t, d) }) // waits for the end of the second
		callers.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
			defer cancel()
			if id, err := d.NextContext(ctx); !errors.Is(err, context.DeadlineExceeded) || id != 0 {
				t.Errorf("NextContext() = %d, %v; want the context's error", id, err)
			}
			if took := time.Since(begin); took != 10*time.Millisecond {
				t.Errorf("NextContext returned after %v, want 10 ms", took)
			}
		})
		// In a bubble, time passes only while all goroutines sleep. If a caller spun, time would stand
		// still, and the test would never end.
		callers.Wait()
		if took := time.Since(begin); took > time.Second || took < 900*time.Millisecond {
			t.Errorf("the UID of the next second came after %v", took)
		}
		if n, err := d.NextN(make([]ID, 50)); n != 50 || err != nil {
			t.Errorf("NextN(50) = %d, %v", n, err)
		}
		if took := time.Since(begin); took > 4*time.Second || took < 3*time.Second {
			t.Errorf("50 more UIDs, at 16 per second, were there after %v", took)
		}
		if st := d.Stats(); st.Issued != 67 || st.RejectedTakes == 0 {
			t.Errorf("Stats() = %+v", st)
		}
	})
}

// D9: a time before the epoch is an error of the constructors. Later it can only be the wall clock's: the generator's clock never goes back.
func TestD9BeforeTheEpoch(t *testing.T) {
	expectBothRefuse(t, new(disposableAssigner), ErrBeforeEpoch, "it is 2026-11-21T12:00:00Z, and the epoch is 2026-11-21T12:00:01Z", 0,
		WithClock(fakeclock.New(noon)), WithEpoch(noon.Truncate(time.Second).Add(time.Second)))
	fake := fakeclock.New(noon)
	for _, mode := range modes {
		g, err := mode.make(context.Background(), new(disposableAssigner), WithClock(fake), WithEpoch(noon.Truncate(time.Second)))
		if err != nil {
			t.Fatal(err)
		}
		fake.Step(-1000 * time.Hour)
		for range 100 {
			if p := g.Parse(next(t, g)); p.Delta < 0 || p.Time.Before(noon.Truncate(time.Second)) {
				t.Fatalf("%s: %v", mode.name, p)
			}
		}
		fake.Step(1000 * time.Hour)
		g.Close()
	}
}

// Renew is called while the wall clock, whose time is stamped, is before the epoch, as after the resume of a machine. Calls wait for the
// clock, no longer than their contexts allow, and Health says so.
func TestRenewBeforeTheEpoch(t *testing.T) {
	for _, policy := range []RollbackPolicy{WaitOut(time.Hour), Refuse()} {
		fake := fakeclock.New(noon)
		d := newDefault(t, new(disposableAssigner), WithClock(fake), WithEpoch(noon.Truncate(time.Second)), WithRollback(policy))
		before := next(t, d)
		fake.Step(-time.Hour)
		if err := d.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		returned := make(chan error)
		go func() {
			_, err := d.NextContext(ctx)
			returned <- err
		}()
		select {
		case err := <-returned:
			if !errors.Is(err, ErrLease) || !errors.Is(err, context.Canceled) || d.Health().OK() {
				t.Errorf("%v: NextContext() = %v; Health: %v", policy, err, d.Health().Err)
			}
		case <-testkit.Patient(t).Done():
			t.Fatalf("%v: NextContext does not end with its context", policy)
		}
		fake.Step(time.Hour)
		if after := next(t, d); after <= before || d.Parse(after).WorkerID == d.Parse(before).WorkerID {
			t.Errorf("%v: UIDs before and after: %v, %v", policy, d.Parse(before), d.Parse(after))
		}
	}
}

// Invariant 4: UIDs increase while the clock steps forward and back by hours.
func TestInvariant4ClockSteps(t *testing.T) {
	for _, mode := range modes {
		fake := fakeclock.New(noon)
		g, err := mode.make(context.Background(), new(disposableAssigner), WithClock(fake), WithBoostPower(0),
			WithLayout(layout(t, 31, 20, 6)), WithRollover(false), WithMaxBorrow(10000*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		var before ID = -1
		for step, d := range []time.Duration{0, -time.Hour, time.Hour, 3 * time.Hour, -48 * time.Hour, -1, 45 * time.Hour, time.Second} {
			fake.Step(d)
			for range 30 {
				id := next(t, g)
				if id <= before {
					t.Fatalf("%s: after step %d (%v) Next() = %v, before it %v", mode.name, step, d, g.Parse(id), g.Parse(before))
				}
				before = id
				fake.Advance(37 * time.Millisecond)
			}
		}
		g.Close()
	}
}

// A generator waits for a lease that begins later, and extends one that ends.
func TestDefaultStaysWithinTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &recyclingAssigner{granted: time.Now().Add(10 * time.Second)}
		d := newIdleDefault(t, a, WithEpoch(bubbleEpoch), WithReserveAhead(5*time.Second))
		begin := time.Now()
		if p := d.Parse(next(t, d)); p.Time.Before(begin.Add(10*time.Second)) || time.Since(begin) < 10*time.Second {
			t.Errorf("%v was returned after %v", p, time.Since(begin))
		}
		for range 60 {
			time.Sleep(time.Second)
			p := d.Parse(next(t, d))
			if lag := time.Since(p.Time); lag >= time.Second || lag < 0 {
				t.Errorf("%v was returned %v late", p, lag)
			}
			synctest.Wait()
			a.mu.Lock()
			if !p.Time.Before(a.granted) {
				t.Errorf("%v was not granted", p)
			}
			a.mu.Unlock()
		}
		// While the store is down, UIDs are generated up to the end of the grant. Then the error says why
		// not.
		down := errors.New("the store is down")
		a.failWith(down)
		var last time.Time
		for range 10 {
			time.Sleep(time.Second)
			id, err := d.Next()
			if err != nil {
				if !errors.Is(err, down) || !errors.Is(err, ErrLease) {
					t.Errorf("Next() = %v", err)
				}
				break
			}
			last = d.Parse(id).Time
		}
		if a.mu.Lock(); !last.Equal(a.granted.Add(-time.Second)) {
			t.Errorf("the last UID's time is %v, the grant ends at %v", last, a.granted)
		}
		a.mu.Unlock()
		a.failWith(nil)
		time.Sleep(leasing.MaxRetryPause)
		next(t, d)
	})
}

// A static lease, on a clock that shows whole seconds: after a restart at the same instant, the leases
// share no unit.
func TestStaticAtTheStartOfAUnit(t *testing.T) {
	for _, mode := range modes {
		fake, last := fakeclock.New(noon.Truncate(time.Second)), ID(-1)
		for range 5 {
			start := fake.Now()
			g, err := mode.make(context.Background(), workerassign.Static(5), WithClock(fake))
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				fake.Advance(time.Second)
				id := next(t, g)
				if p := g.Parse(id); id <= last || p.Time.After(fake.Now()) || !p.Time.After(start) {
					t.Errorf("%s: %v at %v, started at %v, after %d", mode.name, p, fake.Now(), start, last)
				}
				last = id
			}
			g.Close()
		}
	}
}

// A static lease: its first unit is the first one that begins after the start.
func TestDefaultStatic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(300 * time.Millisecond)
		begin := time.Now()
		d := newDefault(t, workerassign.Static(5), WithEpoch(bubbleEpoch))
		for range 5 {
			p := d.Parse(next(t, d))
			if !p.Time.After(begin) || p.WorkerID != 5 {
				t.Errorf("%v, started at %v", p, begin)
			}
			if lag := time.Since(p.Time); lag < 0 || lag > 10*time.Millisecond {
				t.Errorf("%v was returned %v after its second began", p, lag)
			}
			time.Sleep(time.Until(p.Time.Add(time.Second)))
			runtime.Gosched()
		}
	})
}

// The fast path ends with the time unit, to the nanosecond.
func TestDefaultUnitsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(123456789)
		d := newDefault(t, new(disposableAssigner), WithEpoch(bubbleEpoch), WithTwitterLayout())
		if !d.useMonotonic {
			t.Fatal("the fast path is not used")
		}
		for range 2_000 {
			unit := time.Now().Truncate(time.Millisecond)
			for sequence := range int64(3) {
				if p := d.Parse(next(t, d)); !p.Time.Equal(unit) || p.Sequence != sequence {
					t.Fatalf("%v at %v", p, time.Now())
				}
				if sequence == 1 {
					time.Sleep(time.Until(unit.Add(time.Millisecond - 1)))
				}
			}
			time.Sleep(time.Nanosecond)
		}
		if n := d.Stats().Issued; n != 6_000 {
			t.Errorf("%d UIDs were issued, want 6000", n)
		}
	})
}

// While a time unit lasts, takers need not read the wall clock. With a Clock of the user they do, whatever time it shows.
func TestDefaultFastPath(t *testing.T) {
	system := newDefault(t, new(disposableAssigner)) // not in a bubble, whose times have no monotonic reading
	used := false
	for range 1_000 { // a unit may end between two calls
		id := next(t, system)
		again, ok := system.take()
		if ok && again != id+1 {
			t.Errorf("the fast path returned %d after %d", again, id)
		}
		used = used || ok
	}
	if !used {
		t.Error("the fast path was never used")
	}
	fake := fakeclock.New(time.Now().AddDate(1, 0, 0).Truncate(time.Second))
	d := newDefault(t, new(disposableAssigner), WithClock(fake))
	for range 3 {
		for range 2 {
			if p := d.Parse(next(t, d)); !p.Time.Equal(fake.Now()) {
				t.Errorf("%v at %v", p, fake.Now())
			}
		}
		fake.Advance(time.Second)
	}
}

// A lease that begins with the next unit is waited for as for any unit. The error of a wait that is ended says so if it begins later.
func TestDefaultErrorOfWait(t *testing.T) {
	ended, end := context.WithCancel(context.Background())
	end()
	for _, tt := range []struct {
		begins time.Duration
		lease  bool
	}{{time.Second, false}, {time.Second + 1, true}} {
		synctest.Test(t, func(t *testing.T) {
			begins := time.Now().Add(tt.begins) // at first, a whole second
			d := newDefault(t, &fakeAssigner{assign: func(_ context.Context, n int64) (workerassign.Lease, error) {
				return &fakeLease{id: n, notBefore: begins}, nil
			}}, WithEpoch(bubbleEpoch))
			_, err := d.NextContext(ended)
			if !errors.Is(err, context.Canceled) || errors.Is(err, ErrLease) != tt.lease {
				t.Errorf("the lease begins %v later: %v", tt.begins, err)
			}
		})
	}
}

// A UID's unit is never before that of the call, however many goroutines meet the end of a unit.
func TestDefaultNeverStampsThePast(t *testing.T) {
	const slack = 100 * time.Microsecond // the system's clock may be slewed
	d := newDefault(t, new(disposableAssigner), WithTimeUnit(time.Millisecond), WithLayout(layout(t, 42, 5, 16)))
	var takers sync.WaitGroup
	end := time.Now().Add(200 * time.Millisecond)
	for range 4 {
		takers.Go(func() {
			for n := 0; ; n++ {
				begin := time.Now()
				if n > 100_000 && begin.After(end) { // on a busy machine, few UIDs are taken in that time
					return
				}
				id, err := d.Next()
				if err != nil {
					t.Error(err)
					return
				}
				if unitEnd := d.Parse(id).Time.Add(time.Millisecond); unitEnd.Add(slack).Before(begin) {
					t.Errorf("the unit of a UID ended %v before the call", begin.Sub(unitEnd))
					return
				}
			}
		})
	}
	takers.Wait()
}
