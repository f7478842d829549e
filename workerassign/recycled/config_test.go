package recycled_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// Invalid options are errors of each method, which name the value. Nothing is read or written.
func TestRecycledOptions(t *testing.T) {
	type opts = []recycled.Option
	for _, tt := range []struct {
		opts opts
		part string
	}{
		{opts{recycled.WithName("")}, "0 bytes"},
		{opts{recycled.WithName(strings.Repeat("n", 129))}, "129 bytes"},
		{opts{recycled.WithName("a\xff")}, `"a\xff"`},
		{opts{recycled.WithName("a\x00b")}, `"a\x00b"`},
		{opts{recycled.WithWorkerID(-1)}, "-1"},
		{opts{recycled.WithFirstWorkerID(-2)}, "-2"},
		{opts{recycled.WithFirstWorkerID(10), recycled.WithWorkerID(9)}, "10"},
		{opts{recycled.WithWorkerID(9), recycled.WithFirstWorkerID(10)}, "9"},
		{opts{recycled.WithHorizon(0)}, "0s"},
		{opts{recycled.WithHorizon(-time.Second)}, "-1s"},
		{opts{recycled.WithHorizon(5 * time.Second)}, "5s"},
		{opts{recycled.WithHorizon(math.MaxInt64)}, "2562047h"},
		{opts{recycled.WithClockBound(75 * time.Second)}, "1m15s"},
		{opts{recycled.WithFencing(-time.Second)}, "-1s"},
		{opts{recycled.WithFencing(math.MaxInt64)}, "2562047h"},
		{opts{recycled.WithSkew(-time.Second)}, "-1s"},
		{opts{recycled.WithSkew(math.MaxInt64)}, "2562047h"},
		{opts{recycled.WithClockBound(0)}, "0s"},
		{opts{recycled.WithClockBound(-time.Second)}, "-1s"},
		{opts{recycled.WithTimeout(0)}, "0s"},
		{opts{recycled.WithLogger(nil)}, "logger"},
		{opts{nil}, "nil"},
	} {
		store := assigntest.NewMemory()
		a := recycled.New(store, tt.opts...)
		_, assignErr := a.Assign(t.Context(), workerassign.Request{MaxWorkerID: 63, Format: "f"})
		_, stateErr := a.State(t.Context())
		for _, err := range []error{assignErr, stateErr, a.RaiseFloor(t.Context(), time.Now())} {
			if !errors.Is(err, workerassign.ErrOption) || !strings.Contains(err.Error(), tt.part) {
				t.Errorf("the error is %v; want one that wraps ErrOption and contains %q", err, tt.part)
			}
		}
		if c := store.Counts(); c != (assigntest.Counts{}) {
			t.Errorf("%q: an assigner with invalid options has used the store: %+v", tt.part, c)
		}
	}
}

// The defaults have the effects that the documentation names, with those of package uid: a generator, which reserves 30 seconds
// ahead, can borrow 24 seconds, and after a failover new leases begin 110 seconds later.
func TestRecycledDefaults(t *testing.T) {
	const reserveAhead, unit = 30 * time.Second, time.Second
	if got := poolH - poolB - reserveAhead*3/2 - unit; got != 24*time.Second {
		t.Errorf("a generator can borrow %v, want 24s", got)
	}
	inFleet(t, func(f *fleet) {
		f.assign(f.assigner())
		f.Failover(0)
		f.wantTime("a lease after a failover", f.assign(f.assigner()).NotBefore(), time.Now().Add(110*time.Second))
		if p := f.Dump().Pool; p.Fencing != 30*time.Second || p.Skew != 5*time.Second {
			f.Errorf("the fencing time is %v, and the skew %v; want 30s and 5s", p.Fencing, p.Skew)
		}
	})
}

// The greatest and the least values are accepted.
func TestRecycledOptionBounds(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, o := range [][]recycled.Option{
		{recycled.WithName(strings.Repeat("n", 128))},
		{recycled.WithWorkerID(0)},
		{recycled.WithFirstWorkerID(0)},
		{recycled.WithFirstWorkerID(9), recycled.WithWorkerID(9)},
		{recycled.WithHorizon(year), recycled.WithFencing(year), recycled.WithSkew(year)},
		{recycled.WithHorizon(year), recycled.WithClockBound(year - 1)},
		{recycled.WithHorizon(5*time.Second + 1)},
		{recycled.WithFencing(0), recycled.WithSkew(0)},
	} {
		inFleet(t, func(f *fleet) {
			a := f.assigner(o...)
			f.assign(a) // creates the pool
			f.assign(f.assigner(append(o, recycled.WithWorkerID(f.Dump().Pool.First+5))...))
		})
	}
	inFleet(t, func(f *fleet) {
		_, err := f.assigner(recycled.WithFirstWorkerID(5), recycled.WithWorkerID(0)).Assign(f.Context(), f.request())
		if !errors.Is(err, workerassign.ErrOption) || !strings.Contains(err.Error(), "the worker ID is 0; must be at least the first worker ID of the pool, 5") {
			f.Errorf("Assign of worker ID 0 of a pool from 5 on: %v", err)
		}
		for length, want := range map[int]bool{1: true, 512: true, 513: false} {
			r := f.request()
			r.Format = strings.Repeat("f", length)
			if _, err := slottest.New(f.T, assigntest.NewMemory()).Assign(f.Context(), r); (err == nil) != want || err != nil && !errors.Is(err, workerassign.ErrOption) {
				f.Errorf("Assign with a format of %d bytes: %v", length, err)
			}
		}
	})
	// The clock bound must be less than the horizon of a pool that exists.
	inFleet(t, func(f *fleet) {
		f.assign(f.assigner(recycled.WithHorizon(10 * time.Second)))
		for bound, want := range map[time.Duration]bool{10*time.Second - 1: true, 10 * time.Second: false} {
			_, err := f.assigner(recycled.WithClockBound(bound)).Assign(f.Context(), f.request())
			if (err == nil) != want || err != nil && !errors.Is(err, workerassign.ErrOption) {
				f.Errorf("Assign with a clock bound of %v of a pool with a horizon of 10 s: %v", bound, err)
			}
		}
	})
}

// An option with a fraction of a millisecond is rounded up, as stores keep milliseconds.
func TestRecycledOptionsRounded(t *testing.T) {
	inFleet(t, func(f *fleet) {
		us := time.Microsecond
		l := f.assign(f.assigner(recycled.WithHorizon(20*time.Second+us), recycled.WithFencing(us), recycled.WithSkew(1001*us), recycled.WithClockBound(time.Second+us)))
		f.reserve(l, time.Second)
		p := f.Dump().Pool
		if ms := time.Millisecond; p.Horizon != 20*time.Second+ms || p.Fencing != ms || p.Skew != 2*ms {
			f.Errorf("the pool is %+v; want H, F and M rounded up", p)
		}
	})
}

// The zero value, nil pointers and a nil store are errors, not panics.
func TestRecycledZero(t *testing.T) {
	for name, a := range map[string]*recycled.Assigner{"nil": nil, "zero": {}, "nil store": recycled.New(nil)} {
		_, assignErr := a.Assign(t.Context(), workerassign.Request{MaxWorkerID: 63, Format: "f"})
		_, stateErr := a.State(t.Context())
		for _, err := range []error{assignErr, stateErr, a.RaiseFloor(t.Context(), time.Now())} {
			if !errors.Is(err, workerassign.ErrOption) {
				t.Errorf("%s: the error is %v, want one that wraps ErrOption", name, err)
			}
		}
	}
	var full *recycled.PoolFullError
	var held *recycled.SlotHeldError
	for _, err := range []error{full, held, &recycled.PoolFullError{}, &recycled.SlotHeldError{}} {
		if err.Error() == "" {
			t.Errorf("%#v has no text", err)
		}
	}
}

// A request that does not say what the generator's layout is is refused.
func TestRecycledRequest(t *testing.T) {
	for _, r := range []workerassign.Request{
		{}, {MaxWorkerID: 63}, {Format: "f"}, {Format: "f", MaxWorkerID: -1}, {Format: strings.Repeat("f", 513), MaxWorkerID: 63},
	} {
		store := assigntest.NewMemory()
		_, err := recycled.New(store).Assign(t.Context(), r)
		if !errors.Is(err, workerassign.ErrOption) || store.Counts() != (assigntest.Counts{}) {
			t.Errorf("Assign(%+v) returned %v; want ErrOption, and no use of the store", r, err)
		}
	}
	inFleet(t, func(f *fleet) {
		if _, err := f.assigner(recycled.WithWorkerID(64)).Assign(f.Context(), f.request()); !errors.Is(err, workerassign.ErrWidth) || !strings.Contains(err.Error(), "64") || !strings.Contains(err.Error(), "63") {
			f.Errorf("Assign of a worker ID beyond the layout returned %v; want ErrWidth with both numbers", err)
		}
		r := f.request()
		r.Now, r.Logger = nil, nil
		if _, err := f.assigner().Assign(f.Context(), r); err != nil {
			f.Errorf("Assign without a clock and a logger: %v", err)
		}
	})
}

// Two fleets of different formats on one pool: the second one is refused, and both formats are named.
func TestTwoFormats(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.assign(f.assigner())
		for _, format := range []string{"1-28-10-25", "1-28-22-13; divided by 2 bits", "1-28-22-13 "} {
			r := f.request()
			r.Format = format
			reads := f.Counts().Reads
			_, err := f.assigner().Assign(f.Context(), r)
			if !errors.Is(err, recycled.ErrPoolFormat) || !strings.Contains(err.Error(), `"1-28-22-13"`) || !strings.Contains(err.Error(), `"`+format+`"`) {
				f.Errorf("Assign with the format %q returned %v; want ErrPoolFormat that names both", format, err)
			}
			if n := f.Counts().Reads - reads; n != 1 {
				f.Errorf("a refused Assign has read %d times; must not try again", n)
			}
		}
	})
}

// A process whose clock bound is not less than the pool's horizon could use nothing of what it is granted.
func TestHorizonOfPool(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.assign(f.assigner(recycled.WithHorizon(10 * time.Second)))
		_, err := f.assigner(recycled.WithClockBound(20*time.Second)).Assign(f.Context(), f.request())
		if !errors.Is(err, workerassign.ErrOption) || !strings.Contains(err.Error(), "10s") || !strings.Contains(err.Error(), "20s") {
			f.Errorf("Assign with a clock bound of 20 s from a pool with a horizon of 10 s returned %v; want ErrOption with both", err)
		}
	})
}

// State returns the pool and all its slots.
func TestState(t *testing.T) {
	inFleet(t, func(f *fleet) {
		a := f.assignerOn(f.Memory, recycled.WithName("orders"))
		if s, err := a.State(f.Context()); err != nil || s.Pool.Revision != 0 || len(s.Slots) != 0 {
			f.Errorf("State of an empty store returned %+v, %v", s, err)
		}
		l := f.assign(a)
		if s, err := a.State(f.Context()); err != nil || len(s.Slots) != int(s.Pool.Slots) || s.Slots[0].Holder.Name != "orders" || s.Slots[0].WorkerID != l.WorkerID() {
			f.Errorf("State returned %+v, %v", s, err)
		}
	})
}
