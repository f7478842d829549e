package postgrestest_test

import (
	"testing"

	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// In a table of 10,000 slots, queries for a few of them use the indexes.
func TestSlotTableIndexes(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t)
	db := idsDatabase(t, s)
	db.MustExec("INSERT INTO worker_slot (worker_id, revision, token, from_ms, until_ms, history, written_ms, free_at_ms, holder_name) " +
		"SELECT n, 1, 't', 0, 0, 'h', 0, n, 'n' || n FROM generate_series(0, 9999) AS n")
	db.MustExec("ANALYZE worker_slot")
	db.SetMaxOpenConns(1)
	store := sqlstore.New(db)
	scans := func() (n int64) {
		t.Helper()
		if err := db.Get(&n, "SELECT pg_stat_get_numscans('worker_slot'::regclass) + pg_stat_get_xact_numscans('worker_slot'::regclass)"); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, q := range []recycled.Query{{WorkerIDs: []int64{77}}, {Free: 16}, {Name: "n99"}, {Name: "n99", Free: 16}} {
		db.MustExec("SELECT pg_stat_force_next_flush()")
		before := scans()
		if state, err := store.Read(t.Context(), q); err != nil || len(state.Slots) == 0 {
			t.Fatalf("Read(%+v) returns %d slots, %v", q, len(state.Slots), err)
		}
		db.MustExec("SELECT pg_stat_force_next_flush()")
		if after := scans(); after != before {
			t.Errorf("Read(%+v) scans the whole table", q)
		}
	}
}
