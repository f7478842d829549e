package schematest

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/testkit/leasetest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// TestRepair checks the statements of a section on the tables of a store: they repair a pool from which somebody deleted a slot, or
// the pool's row. The statement settings, of doc/fleet.md, changes the pool's settings.
func TestRepair(t *testing.T, db *sqlx.DB, store recycled.Store, repair *Section, settings string) {
	t.Helper()
	insert, count := repair.Next("INSERT INTO ", "<worker ID>", "1"), repair.Next("UPDATE ")
	const horizon, bound = 2 * time.Second, time.Second
	assigner := func(opts ...recycled.Option) *recycled.Assigner {
		return recycled.New(store, append([]recycled.Option{
			recycled.WithHorizon(horizon), recycled.WithFencing(0), recycled.WithSkew(0), recycled.WithClockBound(bound),
			recycled.WithTimeout(2 * time.Minute), recycled.WithLogger(slog.New(slog.DiscardHandler))}, opts...)...)
	}
	assign := func(r *recycled.Assigner) (workerassign.Lease, error) {
		return r.Assign(t.Context(), leasetest.Request(1024))
	}
	slottest.New(t, store, recycled.WithHorizon(horizon), recycled.WithFencing(0), recycled.WithSkew(0), recycled.WithClockBound(bound))
	for range 3 {
		if _, err := assign(assigner()); err != nil {
			t.Fatal(err)
		}
	}

	db.MustExec("DELETE FROM WORKER_SLOT WHERE worker_id = 1") // on PostgreSQL, the name is worker_slot
	if _, err := assign(assigner(recycled.WithWorkerID(1))); !errors.Is(err, recycled.ErrPool) {
		t.Errorf("without the slot, the error is %v", err)
	}
	inserted := time.Now()
	db.MustExec(insert)
	lease, err := assign(assigner(recycled.WithWorkerID(1)))
	if err != nil || lease.WorkerID() != 1 || lease.NotBefore().Before(inserted.Add(horizon-bound)) {
		t.Fatalf("after the insert: %+v, %v", lease, err)
	}

	db.MustExec("DELETE FROM WORKER_POOL")
	if _, err := assign(assigner()); !errors.Is(err, recycled.ErrPool) {
		t.Errorf("without the pool's row, the error is %v", err)
	}
	db.MustExec(count)
	if lease, err = assign(assigner()); err != nil {
		t.Fatal(err)
	}
	state, err := assigner().State(t.Context())
	if err != nil || int(state.Pool.Slots) != len(state.Slots) || lease.WorkerID() >= state.Pool.Slots {
		t.Errorf("the pool has %d slots, and there are %d; %v", state.Pool.Slots, len(state.Slots), err)
	}

	db.MustExec(settings)
	state, err = assigner().State(t.Context())
	if p := state.Pool; err != nil || p.Horizon != 80*time.Second || p.Fencing != time.Minute || p.Skew != 2*time.Second {
		t.Errorf("with other settings, the pool is %+v, %v", p, err)
	}
	if _, err := assign(assigner()); !errors.Is(err, workerassign.ErrOption) {
		t.Errorf("with the former options, the error is %v, want ErrOption", err)
	}
	if _, err := assign(assigner(recycled.WithHorizon(80*time.Second), recycled.WithFencing(time.Minute), recycled.WithSkew(2*time.Second))); err != nil {
		t.Error(err)
	}
}
