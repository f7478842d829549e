package postgrestest_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// Slot tables on PostgreSQL fulfil the contract of recycled.Store, at both isolation levels.
func TestSlotTableConformance(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"read committed", "serializable"} {
		t.Run(level, func(t *testing.T) {
			if level == "serializable" {
				testkit.Full(t, "the suite runs at read committed in each run")
			}
			t.Parallel()
			server := postgrestest.Start(t, "synchronous_commit=off")
			server.UseClock()
			s := newSlotServer(t, server)
			s.isolation = level
			assigntest.RunStoreTests(t, assigntest.Harness{
				New:    func(tb testing.TB, pool string) recycled.Store { return s.newStore(tb, pool) },
				Faults: s.faults(),
			})
		})
	}
}

func TestRecycledOnSlotTable(t *testing.T) {
	testkit.Full(t, "Recycled has these tests on MariaDB, Redis and files in each run")
	t.Parallel()
	server := postgrestest.Start(t)
	server.UseClock()
	s := newSlotServer(t, server)
	assigntest.RunAssignerTests(t, assigntest.AssignerHarness{
		NewAssigner: func(tb testing.TB, pool string) workerassign.Assigner {
			return slottest.New(tb, s.newStore(tb, pool))
		},
		Faults:    s.faults(),
		Horizon:   workerassign.DefaultHorizon,
		HostBound: workerassign.DefaultClockBound,
		Recycles:  true,
	})
}

// A commit that reaches the server late is made, although Write has failed. Until then, it locks the slot.
func TestR4LateCommit(t *testing.T) {
	t.Parallel()
	s := newSlotServer(t, postgrestest.Start(t))
	store := s.newStore(t, "late")
	state, err := store.Read(t.Context(), recycled.Query{})
	if err != nil {
		t.Fatal(err)
	}
	slot := recycled.Slot{WorkerID: 1, Revision: 1, Token: "a", History: state.History, From: state.Now, Until: state.Now, Written: state.Now, FreeAt: state.Now}
	w := slottest.Swap(state, nil, slot)
	s.proxy.Delays = func(request []byte) bool { return bytes.Contains(request, []byte("COMMIT\x00")) }
	deliver := s.proxy.DelayRequests(t, func() {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer cancel()
			for !s.proxy.Delayed() && t.Context().Err() == nil {
				time.Sleep(time.Millisecond)
			}
		}()
		if ok, err := store.Write(ctx, w); ok || err == nil {
			t.Errorf("Write() = %v, %v; want an error", ok, err)
		}
	})
	w.Slots[0].Token = "b"
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if ok, err := store.Write(ctx, w); ok || err == nil {
		t.Errorf("while another transaction is open, Write() = %v, %v; want an error", ok, err)
	}
	deliver()
	state, err = store.Read(t.Context(), recycled.Query{All: true})
	if err != nil || len(state.Slots) != 1 || state.Slots[0].Token != "a" {
		t.Errorf("Read() = %+v, %v; want the slot of the late commit", state, err)
	}
	if ok, err := store.Write(t.Context(), w); ok || err != nil {
		t.Errorf("Write() = %v, %v; want false", ok, err)
	}
}

// slotService creates an account with the privileges of PRIVILEGES ON SLOTS. Nobody else may execute the
// functions that the history requires, so that the last statement matters.
func slotService(t *testing.T, db *sqlx.DB) {
	t.Helper()
	statements := newSection(t, "PRIVILEGES ON SLOTS", "<password>", "secret")
	db.MustExec("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
	for len(statements.Remaining) > 0 {
		db.MustExec(statements.Next(""))
	}
}

// An account with the recommended privileges can do all that Recycled does, and nothing else. The query
// shows who holds which worker ID.
func TestSchemaSlots(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t)
	db := idsDatabase(t, s)
	slotService(t, db)
	service := openAsService(t, s)
	store := sqlstore.New(service)
	begin := time.Now()
	lease := func(opts ...recycled.Option) (_ workerassign.Lease, granted time.Time) {
		t.Helper()
		l, err := slottest.New(t, store, append(opts, quiet())...).Assign(t.Context(), recycledRequest())
		if err != nil {
			t.Fatal(err)
		}
		g, err := l.Reserve(t.Context(), time.Now().Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		return l, g.Until
	}
	_, granted := lease(recycled.WithName("orders-3"))
	released, _ := lease()
	lease(recycled.WithName("crashed"))
	if err := released.Release(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	db.MustExec("UPDATE worker_slot SET free_at_ms = 1000 WHERE holder_name = 'crashed'")
	var rows []struct {
		WorkerID int64      `db:"worker_id"`
		State    string     `db:"state"`
		Name     *string    `db:"holder_name"`
		Host     *string    `db:"holder_host"`
		Process  *string    `db:"holder_process"`
		Since    *time.Time `db:"since"`
		Until    time.Time  `db:"until"`
		FreeAt   time.Time  `db:"free_at"`
	}
	if err := service.Select(&rows, newSection(t, "WHAT A SLOT MEANS").Next("SELECT worker_id")); err != nil || len(rows) != 3 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if rows[0].State != "held" || rows[1].State != "released" || rows[2].State != "expired" || *rows[0].Name != "orders-3" || *rows[0].Host == "" ||
		rows[0].Since.Before(begin.Add(-time.Minute)) || rows[0].Since.After(time.Now().Add(time.Minute)) || !rows[0].Until.Equal(granted) {
		t.Errorf("the rows are %+v; the first one is granted until %v", rows, granted)
	}
	for _, forbidden := range []string{
		"DELETE FROM worker_slot", "DELETE FROM worker_pool", "UPDATE worker_slot SET worker_id = 7", "UPDATE worker_pool SET id = 1",
		"TRUNCATE worker_slot", "DROP TABLE worker_pool", "ALTER TABLE worker_slot ADD n INT", "SELECT * FROM worker_node", "CREATE TABLE t (n INT)",
	} {
		_, err := service.Exec(forbidden)
		wantState(t, err, "as the service: "+forbidden, "42501")
	}
	permanent := func(text string) {
		t.Helper()
		_, err := store.Read(t.Context(), recycled.Query{})
		if !errors.Is(err, workerassign.ErrPermanent) || !strings.Contains(err.Error(), text) {
			t.Errorf("Read() = %v, want a permanent error with %q", err, text)
		}
	}
	db.MustExec("REVOKE SELECT ON worker_slot FROM service")
	permanent("schema.postgres.sql under PRIVILEGES ON SLOTS")
	db.MustExec("DROP TABLE worker_slot")
	permanent("apply schema.postgres.sql")
}

// quiet is discardLog for Recycled.
func quiet() recycled.Option { return recycled.WithLogger(slog.New(slog.DiscardHandler)) }

// recycledRequest returns a request of a generator.
func recycledRequest() workerassign.Request {
	return workerassign.Request{Format: "a format", MaxWorkerID: 1000}
}

// The statements raise the floor: all leases end, and no lease begins before the floor.
func TestSchemaRaiseFloor(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t)
	db := idsDatabase(t, s)
	r := recycled.New(sqlstore.New(db, sqlstore.WithHistory("1")), quiet(),
		recycled.WithFencing(4*time.Second), recycled.WithSkew(2*time.Second), recycled.WithHorizon(20*time.Second))
	l, err := r.Assign(t.Context(), recycledRequest())
	if err != nil {
		t.Fatal(err)
	}
	slots := slottest.Read(t, sqlstore.New(db, sqlstore.WithHistory("1")), recycled.Query{}).Pool.Slots
	statements := newSection(t, "SLOTS AFTER A RESTORED BACKUP")
	var all []string
	for len(statements.Remaining) > 0 {
		all = append(all, statements.Next(""))
	}
	db.MustExec("ALTER DATABASE ids SET default_transaction_read_only = on") // of new sessions
	begin := time.Now()
	postgrestest.Open(t, s.DSN("postgres", "", "ids")).MustExec(strings.Join(all, ";\n"))
	db.MustExec("ALTER DATABASE ids RESET default_transaction_read_only")
	if _, err := l.Reserve(t.Context(), time.Now().Add(time.Hour)); !errors.Is(err, workerassign.ErrLeaseLost) {
		t.Errorf("Reserve of a lease from before the floor returns %v, want ErrLeaseLost", err)
	}
	l, err = r.Assign(t.Context(), recycledRequest())
	if err != nil || l.NotBefore().Before(begin.Add(26*time.Second).Truncate(time.Millisecond)) {
		t.Errorf("Assign() = %v, %v; want a lease that begins 26s after %v", l, err, begin)
	}
	if state := slottest.Read(t, sqlstore.New(db, sqlstore.WithHistory("1")), recycled.Query{}); state.Pool.Slots != slots {
		t.Errorf("the pool has %d slots instead of %d: no slot could be leased at once", state.Pool.Slots, slots)
	}
}

// A database whose encoding is not UTF8 is refused, and settings that can lose writes are refused together
// with WithHistory.
func TestSlotTableSettings(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t, "fsync=off")
	db := idsDatabase(t, s)
	s.Admin().MustExec("CREATE DATABASE latin1 ENCODING LATIN1 TEMPLATE template0")
	latin1 := postgrestest.Open(t, s.DSN("postgres", "", "latin1"))
	testserver.RunScript(t, latin1, schemaScript(t))
	for _, tt := range []struct {
		store recycled.Store
		text  string
	}{
		{sqlstore.New(latin1), "must be UTF8"},
		{sqlstore.New(db, sqlstore.WithHistory("h")), "fsync is off"},
	} {
		if _, err := tt.store.Read(t.Context(), recycled.Query{}); !errors.Is(err, workerassign.ErrPermanent) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("Read() = %v, want a permanent error with %q", err, tt.text)
		}
	}
	if state, err := sqlstore.New(db).Read(t.Context(), recycled.Query{}); err != nil || state.NoLoss {
		t.Errorf("Read() = %+v, %v", state, err)
	}
}

// WithHistory is refused on a table that is empty after a crash: the next pool would begin without a floor.
func TestR7UnloggedSlots(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t)
	db := idsDatabase(t, s)
	for _, table := range []string{"worker_pool", "worker_slot"} {
		store := sqlstore.New(db, sqlstore.WithHistory("h"))
		if _, err := store.Read(t.Context(), recycled.Query{}); err != nil {
			t.Fatal(err)
		}
		db.MustExec("ALTER TABLE " + table + " SET UNLOGGED")
		store = sqlstore.New(db, sqlstore.WithHistory("h"))
		if _, err := store.Read(t.Context(), recycled.Query{}); !errors.Is(err, workerassign.ErrPermanent) || !strings.Contains(err.Error(), "UNLOGGED") {
			t.Errorf("%s is UNLOGGED: Read() = %v, want a permanent error", table, err)
		}
		db.MustExec("ALTER TABLE " + table + " SET LOGGED")
	}
}
