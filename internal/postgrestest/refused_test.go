package postgrestest_test

import (
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/postgrestest"
	"github.com/ringuid/ringuid/internal/slottest"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// WithVerification is refused on PostgreSQL before a row is inserted, and the error says what to use instead.
func TestVerificationIsRefused(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t)
	db := idsDatabase(t, s)
	for _, driverName := range []string{"pgx", "postgres"} {
		pool, err := sql.Open(driverName, s.DSN("postgres", "", "ids"))
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		_, err = assign(t, pool, workerassign.WithVerification(workerassign.Verification{}))
		if !errors.Is(err, workerassign.ErrOption) || !errors.Is(err, workerassign.ErrPermanent) ||
			!strings.Contains(err.Error(), "WithVerification does not support PostgreSQL; use recycled worker IDs (recycled.New with sqlstore.New) instead") {
			t.Errorf("%s: Assign() = %v", driverName, err)
		}
	}
	var rows int
	if err := db.Get(&rows, "SELECT count(*) FROM worker_node"); err != nil || rows != 0 {
		t.Errorf("%d rows were inserted, %v", rows, err)
	}
}

var sqlBlock = regexp.MustCompile("(?ms)^```sql\n(.*?);\n^```$")

// fleetStatements returns the statements of doc/fleet.md that are for PostgreSQL too.
func fleetStatements(t *testing.T) (settings, insert, count string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "doc", "fleet.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range sqlBlock.FindAllStringSubmatch(string(page), -1) {
		switch {
		case strings.Contains(m[1], "SET horizon_ms"):
			settings = m[1]
		case strings.Contains(m[1], "SET slot_count"):
			count = m[1]
		case strings.Contains(m[1], "extract(epoch"):
			insert = m[1]
		}
	}
	if settings == "" || insert == "" || count == "" {
		t.Fatalf("doc/fleet.md lacks a statement: %q, %q, %q", settings, insert, count)
	}
	return settings, insert, count
}

// The statements of doc/fleet.md change the settings of a pool, and repair one from which somebody deleted a slot, or
// the pool's row.
func TestRepairOfSlots(t *testing.T) {
	t.Parallel()
	settings, insert, count := fleetStatements(t)
	db := idsDatabase(t, postgrestest.Start(t))
	const horizon, bound = 2 * time.Second, time.Second
	assigner := func(opts ...recycled.Option) *recycled.Assigner {
		return recycled.New(sqlstore.New(db), append([]recycled.Option{
			recycled.WithHorizon(horizon), recycled.WithFencing(0), recycled.WithSkew(0), recycled.WithClockBound(bound),
			recycled.WithTimeout(2 * time.Minute), recycled.WithLogger(slog.New(slog.DiscardHandler))}, opts...)...)
	}
	assign := func(r *recycled.Assigner) (workerassign.Lease, error) {
		return r.Assign(t.Context(), recycledRequest())
	}
	slottest.New(t, sqlstore.New(db), recycled.WithHorizon(horizon), recycled.WithFencing(0), recycled.WithSkew(0), recycled.WithClockBound(bound))
	for range 3 {
		if _, err := assign(assigner()); err != nil {
			t.Fatal(err)
		}
	}

	db.MustExec("DELETE FROM worker_slot WHERE worker_id = 1")
	if _, err := assign(assigner(recycled.WithWorkerID(1))); !errors.Is(err, recycled.ErrPool) {
		t.Errorf("without the slot, the error is %v", err)
	}
	inserted := time.Now()
	db.MustExec(strings.ReplaceAll(insert, "<worker ID>", "1"))
	lease, err := assign(assigner(recycled.WithWorkerID(1)))
	if err != nil || lease.WorkerID() != 1 || lease.NotBefore().Before(inserted.Add(horizon-bound)) {
		t.Fatalf("after the insert: %+v, %v", lease, err)
	}

	db.MustExec("DELETE FROM worker_pool")
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
