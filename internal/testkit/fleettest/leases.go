package fleettest

import (
	"context"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// Lease takes a lease with the short times.
func Lease(tb testing.TB, s recycled.Store, opts ...recycled.Option) workerassign.Lease {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	l, err := Assigner(s, opts...).Assign(ctx, Request())
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// WrongIndex checks that an index of slots that is wrong costs time or a new slot, and neither a wrong result nor a failed write. add
// adds wrong entries for two worker IDs: one that has the name "a" and is held, and one that has the name "b" and was released.
// remove removes the right entries of the latter.
func WrongIndex(t *testing.T, s recycled.Store, add func(held, released int64), remove func(released int64)) {
	// A grace of minutes, so that the slot that is held does not become free during the test.
	named := func(name string) workerassign.Lease {
		return Lease(t, s, recycled.WithName(name), recycled.WithHorizon(time.Hour), recycled.WithClockBound(10*time.Minute))
	}
	held, released := named("a"), named("b")
	if err := released.Release(t.Context(), time.Time{}); err != nil {
		t.Fatal(err)
	}
	check := func(what string) {
		t.Helper()
		for _, slot := range slottest.Read(t, s, recycled.Query{Free: 16}).Slots {
			if slot.WorkerID != released.WorkerID() {
				t.Errorf("%s: a query of free slots returned %+v", what, slot)
			}
		}
		for _, slot := range slottest.Read(t, s, recycled.Query{Name: "a"}).Slots {
			if slot.WorkerID != held.WorkerID() {
				t.Errorf("%s: a query of a name returned %+v", what, slot)
			}
		}
		again := named("b")
		if again.WorkerID() != released.WorkerID() {
			t.Errorf("%s: worker ID %d was leased; want %d, which was released", what, again.WorkerID(), released.WorkerID())
		}
		if err := again.Release(t.Context(), time.Time{}); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	check("right")
	add(held.WorkerID(), released.WorkerID())
	check("too much")
	remove(released.WorkerID())
	check("too little")
}
