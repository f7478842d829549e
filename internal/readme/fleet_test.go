package readme

import (
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/mariadbtest"
	"github.com/ringuid/ringuid/internal/slottest"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

var sqlBlock = regexp.MustCompile("(?ms)^```sql\n(.*?);\n^```$")

// The statements of doc/fleet.md repair a pool from which somebody deleted a slot, or the pool's row.
func TestRepairOfSlots(t *testing.T) {
	var blocks []string
	for _, m := range sqlBlock.FindAllStringSubmatch(read(t, "doc/fleet.md"), -1) {
		if !strings.Contains(m[1], "extract(epoch") { // for PostgreSQL only: internal/postgrestest
			blocks = append(blocks, m[1])
		}
	}
	if len(blocks) != 4 || !strings.Contains(blocks[0], "horizon_ms = 45000") {
		t.Fatalf("doc/fleet.md has the blocks %q of SQL, want 4", blocks)
	}
	settings, count, blocks := blocks[0], blocks[1], blocks[2:]
	db, _ := mariadbtest.Connect(t)
	mariadbtest.RunScript(t, db, read(t, "schema.sql"))
	const horizon, bound = 2 * time.Second, time.Second
	assigner := func(opts ...recycled.Option) *recycled.Assigner {
		return recycled.New(sqlstore.New(db), append([]recycled.Option{
			recycled.WithHorizon(horizon), recycled.WithFencing(0), recycled.WithSkew(0), recycled.WithClockBound(bound),
			recycled.WithLogger(slog.New(slog.DiscardHandler))}, opts...)...)
	}
	assign := func(r *recycled.Assigner) (workerassign.Lease, error) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		return r.Assign(ctx, workerassign.Request{MaxWorkerID: 1023, Format: "test"})
	}
	slottest.New(t, sqlstore.New(db), recycled.WithHorizon(horizon), recycled.WithFencing(0), recycled.WithSkew(0), recycled.WithClockBound(bound))
	for range 3 {
		if _, err := assign(assigner()); err != nil {
			t.Fatal(err)
		}
	}

	db.MustExec("UPDATE WORKER_SLOT SET free_at_ms = free_at_ms + 3600000 WHERE token IS NOT NULL") // nobody extends the leases
	var slots, free, notFree int
	if err := db.QueryRow(count).Scan(&slots, &free, &notFree); err != nil || slots < 3 || notFree != 3 || free != slots-3 {
		t.Errorf("with 3 leases the query counts %d slots, %d free, %d not free; %v", slots, free, notFree, err)
	}
	db.MustExec("DELETE FROM WORKER_SLOT WHERE worker_id = 1")
	if _, err := assign(assigner(recycled.WithWorkerID(1))); !errors.Is(err, recycled.ErrPool) {
		t.Errorf("without the slot, the error is %v", err)
	}
	inserted := time.Now()
	db.MustExec(strings.ReplaceAll(blocks[0], "<worker ID>", "1"))
	lease, err := assign(assigner(recycled.WithWorkerID(1)))
	if err != nil || lease.WorkerID() != 1 || lease.NotBefore().Before(inserted.Add(horizon-bound)) {
		t.Fatalf("after the insert: %+v, %v", lease, err)
	}

	db.MustExec("DELETE FROM WORKER_POOL")
	if _, err := assign(assigner()); !errors.Is(err, recycled.ErrPool) {
		t.Errorf("without the pool's row, the error is %v", err)
	}
	db.MustExec(blocks[1])
	if lease, err = assign(assigner()); err != nil {
		t.Fatal(err)
	}
	state, err := assigner().State(t.Context())
	if err != nil || int(state.Pool.Slots) != len(state.Slots) || lease.WorkerID() >= state.Pool.Slots {
		t.Errorf("the pool has %d slots, and there are %d; %v", state.Pool.Slots, len(state.Slots), err)
	}

	db.MustExec(settings)
	state, err = assigner().State(t.Context())
	if p := state.Pool; err != nil || p.Horizon != 45*time.Second || p.Fencing != time.Minute || p.Skew != 2*time.Second {
		t.Errorf("with other settings, the pool is %+v, %v", p, err)
	}
	if _, err := assign(assigner()); !errors.Is(err, workerassign.ErrOption) {
		t.Errorf("with the former options, the error is %v, want ErrOption", err)
	}
	if _, err := assign(assigner(recycled.WithHorizon(45*time.Second), recycled.WithFencing(time.Minute), recycled.WithSkew(2*time.Second))); err != nil {
		t.Error(err)
	}
}
