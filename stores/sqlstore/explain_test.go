package sqlstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/testkit/leasetest"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// The queries read as many rows as they return, in a table with 10,000 slots.
func TestSlotTableExplain(t *testing.T) {
	mariadbtest.OnEach(t, func(t *testing.T, start mariadbtest.StartFunc) {
		s := start(t)
		_, name := newSlotTables(t, s)
		db := mariadbtest.Open(t, s.DSN("root", "", name))
		var values strings.Builder
		for id := range 10_000 {
			fmt.Fprintf(&values, ",(%d,1,'t',0,0,'h',0,%d,'n%d')", id, id, id)
		}
		db.MustExec("INSERT INTO WORKER_SLOT (worker_id, revision, token, from_ms, until_ms, history, written_ms, free_at_ms, holder_name) VALUES " + values.String()[1:])
		db.MustExec("ANALYZE TABLE WORKER_SLOT")
		db.SetMaxOpenConns(1)
		store := sqlstore.New(db, sqlstore.WithAttemptTimeout(time.Minute)) // all slots are read beside other tests
		slottest.Read(t, store, recycled.Query{})
		for _, c := range []struct {
			query recycled.Query
			slots int
			reads int64
		}{
			{recycled.Query{WorkerIDs: []int64{77}}, 1, 10},
			{recycled.Query{Free: 16}, 16, 100},
			{recycled.Query{Free: 16, Name: "n99"}, 17, 120},
			{recycled.Query{All: true}, 10_000, 10_100},
		} {
			db.MustExec("FLUSH STATUS")
			begin := time.Now()
			if got := slottest.Read(t, store, c.query); len(got.Slots) != c.slots {
				t.Fatalf("%+v selects %d slots, want %d", c.query, len(got.Slots), c.slots)
			}
			took := time.Since(begin)
			if reads := handlerReads(t, db); reads > c.reads {
				t.Errorf("%+v reads %d rows, want at most %d", c.query, reads, c.reads)
			} else {
				t.Logf("%+v reads %d rows in %v", c.query, reads, took)
			}
		}
		explainIndexes(t, db)
	})
}

// A lease costs three statements to take, three to extend and three to release, if no other process interferes,
// and five if a slot is added.
func TestSlotTableStatements(t *testing.T) {
	mariadbtest.OnEach(t, func(t *testing.T, start mariadbtest.StartFunc) {
		s := start(t)
		admin := s.Admin()
		for _, autocommit := range []int64{1, 0} {
			_, name := newSlotTables(t, s)
			r := slottest.New(t, sqlstore.New(mariadbtest.Open(t, s.DSN("root", "", name)+fmt.Sprint("?autocommit=", autocommit))))
			leasetest.MustHold(t, r, time.Minute)
			var l workerassign.Lease
			for _, step := range []struct {
				what string
				cost int64
				call func() error
			}{
				{"Assign that adds a slot", 5, func() (err error) { l, err = r.Assign(t.Context(), leasetest.Request(1024)); return err }},
				{"Reserve", 3, func() error { _, err := l.Reserve(t.Context(), time.Now().Add(30*time.Second)); return err }},
				{"Reserve without a change", 1, func() error { _, err := l.Reserve(t.Context(), time.Now()); return err }},
				{"Release", 3, func() error { return l.Release(t.Context(), time.Time{}) }},
				{"Assign", 3, func() (err error) { l, err = r.Assign(t.Context(), leasetest.Request(1024)); return err }},
			} {
				time.Sleep(5 * time.Millisecond)
				want := step.cost
				if autocommit == 0 {
					want += 5 // for the read
				}
				var row string
				var before, after int64
				if err := admin.QueryRow("SHOW GLOBAL STATUS LIKE 'Questions'").Scan(&row, &before); err != nil {
					t.Fatal(err)
				}
				if err := step.call(); err != nil {
					t.Fatal(err)
				}
				if err := admin.QueryRow("SHOW GLOBAL STATUS LIKE 'Questions'").Scan(&row, &after); err != nil {
					t.Fatal(err)
				}
				if n := after - before - 1; n != want {
					t.Errorf("with autocommit=%d, %s costs %d statements, want %d", autocommit, step.what, n, want)
				}
			}
		}
	})
}

// handlerReads returns how many rows the session has read since FLUSH STATUS, without those of the status
// table.
func handlerReads(t *testing.T, db *sqlx.DB) (sum int64) {
	t.Helper()
	var rows []struct {
		Name  string `db:"Variable_name"`
		Value int64  `db:"Value"`
	}
	if err := db.Select(&rows, "SHOW SESSION STATUS LIKE 'Innodb_rows_read'"); err != nil {
		t.Fatal(err)
	}
	if err := db.Select(&rows, "SHOW SESSION STATUS WHERE Variable_name IN ('Handler_read_first', 'Handler_read_key', 'Handler_read_next', 'Handler_read_prev', 'Handler_read_rnd')"); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if strings.HasPrefix(r.Name, "Handler") {
			sum += r.Value
		}
	}
	return sum
}

// explainIndexes checks with EXPLAIN that the selection of free slots uses its index without sorting.
func explainIndexes(t *testing.T, db *sqlx.DB) {
	t.Helper()
	rows, err := db.QueryxContext(context.Background(), "EXPLAIN SELECT worker_id FROM WORKER_SLOT WHERE free_at_ms < (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) ORDER BY free_at_ms LIMIT 16")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		columns := map[string]any{}
		if err := rows.MapScan(columns); err != nil {
			t.Fatal(err)
		}
		key, extra := fmt.Sprintf("%s", columns["key"]), fmt.Sprintf("%s", columns["Extra"])
		if key != "free_at" || strings.Contains(extra, "filesort") {
			t.Errorf("the key is %s, and the plan %q; want the index free_at without sorting", key, extra)
		}
	}
}
