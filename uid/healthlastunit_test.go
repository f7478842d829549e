package uid

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// The store is down, and the last unit of the grant is used up: Health does not promise the unit after it.
func TestHealthInTheLastUnit(t *testing.T) {
	for _, policy := range []RollbackPolicy{RideOut(), Refuse()} {
		testHealthInTheLastUnit(t, policy)
	}
}

func testHealthInTheLastUnit(t *testing.T, policy RollbackPolicy) {
	healthModes(t, func(t *testing.T, mode string, construct func(workerassign.Assigner, ...any) Generator) {
		connection := &slotConnection{memory: newSlotMemory()}
		g := construct(recycled.New(connection, recycled.WithLogger(slog.New(slog.DiscardHandler))), WithRollback(policy))
		connection.setDown(true)
		until := g.Health().Until
		time.Sleep(time.Until(until) - 500*time.Millisecond)
		for range 100 {
			if _, err := timedNext(t, g, 0); err != nil {
				break
			}
		}
		synctest.Wait()
		h := g.Health()
		if _, err := timedNext(t, g, time.Second); (err == nil) != h.OK() {
			t.Errorf("Health() = %+v, and then Next() returns %v", h, err)
		}
	})
}

// timedNext takes a UID with a context that ends after d, and checks that the call ends by then.
func timedNext(t *testing.T, g Generator, d time.Duration) (ID, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	b := time.Now()
	id, err := g.NextContext(ctx)
	if took := time.Since(b); took > d {
		t.Errorf("NextContext(%v) took %v: %v", d, took, err)
	}
	return id, err
}

// In the last two units of the time bits a generator is OK, and its lease is bounded, whether it has stamped UIDs with them or not.
func TestHealthInTheLastUnitsOfTheFormat(t *testing.T) {
	healthModes(t, func(t *testing.T, mode string, construct func(workerassign.Assigner, ...any) Generator) {
		l := layout(t, 17, 20, 4)
		end := mustFormat(t, WithEpoch(recycledEpoch), WithLayout(l)).End()
		time.Sleep(time.Until(end) - 1500*time.Millisecond)
		g := construct(workerassign.Static(5), WithLayout(l))
		if h, st := g.Health(), g.Stats(); !h.OK() || !st.LeaseBounded || !st.LeaseUntil.Equal(end.Add(-time.Second)) {
			t.Errorf("before the last unit: Health() = %+v, leased until %v (%v), want %v", h, st.LeaseUntil, st.LeaseBounded, end.Add(-time.Second))
		}
		time.Sleep(time.Second)
		if h := g.Health(); !h.OK() {
			t.Errorf("in the last unit: Health() = %+v", h)
		}
		for n := range 16 {
			if id, err := g.Next(); err != nil || !g.Parse(id).Time.Equal(end.Add(-time.Second)) {
				t.Fatalf("UID %d of the last unit is %v, %v", n, g.Parse(id), err)
			}
		}
		if id, err := g.Next(); !errors.Is(err, ErrTimeExhausted) {
			t.Errorf("after the last unit: Next() = %v, %v", g.Parse(id), err)
		}
		if h := g.Health(); !errors.Is(h.Err, ErrTimeExhausted) {
			t.Errorf("after the last unit: Health() = %+v", h)
		}
	})
}

// While the store answers nothing, but no call has failed yet, a Default generator is OK up to the end of what is granted.
func TestHealthOfDefaultWhileTheStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &hangingSource{}
		d := newDefault(t, s, smallOptions(t, WithReserveAhead(4*time.Second))...)
		s.hangs.Store(true)
		until := d.Stats().LeaseUntil
		time.Sleep(time.Until(until) - d.Format().Unit()/2)
		for err := error(nil); err == nil; {
			_, err = timedNext(t, d, 0) // up to the end of the sequence
		}
		if h := d.Health(); !h.OK() {
			t.Errorf("in the last unit that is granted: %+v", h)
		}
		time.Sleep(d.Format().Unit())
		if h := d.Health(); !errors.Is(h.Err, ErrLease) {
			t.Errorf("after the grant: %+v; want ErrLease", h)
		}
	})
}
