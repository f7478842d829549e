package workerassign_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/mariadbtest"
	"github.com/ringuid/ringuid/workerassign"
)

// slotSettings are settings of the driver and of the session that could matter to a slot table.
func slotSettings(isolation string) []string {
	quoted := func(s string) string { return url.QueryEscape("'" + s + "'") }
	settings := []string{
		"autocommit=0", "autocommit=0&clientFoundRows=true", "clientFoundRows=true", "interpolateParams=true", "parseTime=true&loc=Local",
		"charset=latin1", "multiStatements=true", "rejectReadOnly=true", "compress=true", "columnsWithAlias=true",
		"time_zone=" + quoted("-11:00"), "time_zone=" + quoted("+13:00"), "collation=utf8mb4_bin",
		"completion_type=1", "completion_type=2", "autocommit=0&completion_type=1",
		"sql_mode=" + quoted("ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,IGNORE_SPACE,HIGH_NOT_PRECEDENCE,NO_UNSIGNED_SUBTRACTION"),
		"sql_mode=" + quoted("STRICT_ALL_TABLES,ONLY_FULL_GROUP_BY,NO_ZERO_DATE"), "sql_mode=''", "sql_safe_updates=1", "sql_select_limit=1000",
	}
	for _, level := range []string{"READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"} {
		for _, autocommit := range []string{"0", "1"} {
			settings = append(settings, "autocommit="+autocommit+"&"+isolation+"="+quoted(level))
		}
	}
	return settings
}

func TestSlotTableDriverSettings(t *testing.T) {
	onEachServer(t, func(t *testing.T, start startFunc) {
		s := start(t)
		settings := slotSettings("tx_isolation")
		if strings.HasPrefix(s.QueryRow("SELECT VERSION() AS v")["v"], "10.") {
			settings = append(settings, "sql_mode="+url.QueryEscape("'ORACLE'"), "sql_mode="+url.QueryEscape("'EMPTY_STRING_IS_NULL'"))
		}
		for _, setting := range settings {
			t.Run(setting, func(t *testing.T) {
				name, db := s.Database()
				mariadbtest.RunScript(t, db, schemaScript(t))
				limited := mariadbtest.Open(t, s.DSN("root", "", name)+"?"+setting)
				testSlotStoreContract(t, workerassign.NewSlotTable(limited))
				// The store has left no transaction open in the pool: nothing is locked, and nothing is old.
				db.MustExec("UPDATE WORKER_POOL SET revision = 77")
				if state := mustRead(t, workerassign.NewSlotTable(limited), workerassign.SlotQuery{}); state.Pool.Revision != 77 {
					t.Errorf("the revision is %d, want 77", state.Pool.Revision)
				}
				var open int
				if err := db.Get(&open, "SELECT COUNT(*) FROM information_schema.INNODB_TRX"); err != nil || open != 0 {
					t.Errorf("%d transactions are open, %v", open, err)
				}
			})
		}
	})
}

// With init_connect, an account without the privilege SUPER has autocommit off, and sees uncommitted rows.
// The account has the privileges of schema.sql.
func TestSlotTableInitConnect(t *testing.T) {
	onEachServer(t, func(t *testing.T, start startFunc) {
		s := start(t, "--init-connect=SET autocommit = 0, tx_isolation = 'READ-UNCOMMITTED'")
		db := createIDsDatabase(t, s)
		mariadbtest.RunScript(t, db, schemaScript(t))
		service := slotService(t, s, db)
		testSlotStoreContract(t, workerassign.NewSlotTable(service))
	})
}

// A read does not see a row that another transaction has written but not committed, whatever the isolation
// level is. It must not, because the row may be the answer to the question whether a write was made.
func TestR4UncommittedRows(t *testing.T) {
	s := mariadbtest.Start(t)
	store, name := newSlotTables(t, s)
	h := mustRead(t, store, workerassign.SlotQuery{}).History
	p := testPool(h)
	wantWritten(t, store, true, workerassign.SlotWrite{History: h, Pool: &p, Slots: []workerassign.Slot{testSlot(h, 5)}})
	admin := mariadbtest.Open(t, s.DSN("root", "", name))
	tx := admin.MustBegin()
	defer tx.Rollback()
	tx.MustExec("UPDATE WORKER_SLOT SET token = 'uncommitted', revision = 2")
	for _, setting := range []string{"autocommit=1", "autocommit=0"} {
		other := workerassign.NewSlotTable(mariadbtest.Open(t, s.DSN("root", "", name)+"?"+setting+"&tx_isolation="+url.QueryEscape("'READ-UNCOMMITTED'")))
		state := mustRead(t, other, workerassign.SlotQuery{WorkerIDs: []int64{5}})
		if slot := state.Slots[0]; slot.Token != "token5" || slot.Revision != 1 {
			t.Errorf("with %s, the read sees the uncommitted slot %+v", setting, slot)
		}
	}
}

// A transaction that somebody has left open in the pool does not make reads see an old state for longer than
// one write.
func TestSlotTableLeftTransaction(t *testing.T) {
	s := mariadbtest.Start(t)
	_, name := newSlotTables(t, s)
	db := mariadbtest.Open(t, s.DSN("root", "", name))
	db.SetMaxOpenConns(1)
	store := workerassign.NewSlotTable(db)
	h := mustRead(t, store, workerassign.SlotQuery{}).History
	p := testPool(h)
	wantWritten(t, store, true, workerassign.SlotWrite{History: h, Pool: &p})
	db.MustExec("START TRANSACTION WITH CONSISTENT SNAPSHOT")
	s.Admin().MustExec("UPDATE " + name + ".WORKER_POOL SET revision = 8")
	p.Revision = 2
	wantWritten(t, store, false, workerassign.SlotWrite{History: h, Pool: &p})
	if state := mustRead(t, store, workerassign.SlotQuery{}); state.Pool.Revision != 8 {
		t.Errorf("the revision is %d, want 8", state.Pool.Revision)
	}
}

// The store refuses settings that would make it unsafe, and NoLoss is false with settings that lose writes.
func TestSlotTableDurabilitySettings(t *testing.T) {
	s := mariadbtest.Start(t, mariadbtest.PrimaryFlags()...)
	admin := s.Admin()
	for _, c := range []struct{ set, want string }{
		{"SET GLOBAL sync_binlog = 1", ""},
		{"SET GLOBAL innodb_flush_log_at_trx_commit = 2", "WithHistory declares that the server loses no acknowledged write, but it can: innodb_flush_log_at_trx_commit is 2"},
		{"SET GLOBAL innodb_flush_log_at_trx_commit = 0", "innodb_flush_log_at_trx_commit is 0"},
		{"SET GLOBAL innodb_flush_log_at_trx_commit = 1, sync_binlog = 1000", "sync_binlog is 1000"},
	} {
		admin.MustExec(c.set)
		declared, _ := newSlotTables(t, s, workerassign.WithHistory("h"))
		state, err := declared.Read(t.Context(), workerassign.SlotQuery{})
		if c.want == "" && (err != nil || !state.NoLoss) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("after %s, Read() = %+v, %v; want %q", c.set, state, err, c.want)
		}
		other, _ := newSlotTables(t, s)
		if state := mustRead(t, other, workerassign.SlotQuery{}); state.NoLoss {
			t.Errorf("after %s, NoLoss is true", c.set)
		}
	}
	admin.MustExec("SET GLOBAL binlog_format = 'STATEMENT'")
	store, _ := newSlotTables(t, s)
	_, err := store.Read(t.Context(), workerassign.SlotQuery{})
	wantPermanent(t, err, "binlog_format is STATEMENT")
}

// wantPermanent checks an error that another try does not fix.
func wantPermanent(t *testing.T, err error, text string) {
	t.Helper()
	if e := (*workerassign.DatabaseError)(nil); err == nil || !errors.As(err, &e) || !strings.Contains(err.Error(), text) {
		t.Errorf("the error is %v; want a *DatabaseError with %q", err, text)
	}
}

// With binlog_format=MIXED, a replica has the same rows, although its own history differs.
func TestSlotTableReplicaMixed(t *testing.T) {
	onEachServer(t, func(t *testing.T, start startFunc) {
		for _, format := range []string{"MIXED", "ROW"} {
			primary := start(t, append(mariadbtest.PrimaryFlags(), "--binlog-format="+format)...)
			replica := primary.Replica()
			store, name := newSlotTables(t, primary)
			testSlotStoreContract(t, store)
			replica.WaitApplied(primary)
			for _, table := range []string{"WORKER_POOL", "WORKER_SLOT"} {
				query := "SELECT * FROM " + table + " ORDER BY 1"
				want, got := dumpRows(t, primary, name, query), dumpRows(t, replica, name, query)
				if want != got || want == "" {
					t.Errorf("%s: the replica has\n%s\nand the primary\n%s", format, got, want)
				}
			}
			if p, r := mustRead(t, store, workerassign.SlotQuery{}).History, mustRead(t, workerassign.NewSlotTable(mariadbtest.Open(t, replica.DSN("root", "", name))), workerassign.SlotQuery{}).History; p == r {
				t.Errorf("primary and replica both have the history %q", p)
			}
		}
	})
}

func dumpRows(t *testing.T, s *mariadbtest.Server, database, query string) string {
	t.Helper()
	rows, err := mariadbtest.Open(t, s.DSN("root", "", database)).Queryx(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var text strings.Builder
	for rows.Next() {
		columns, err := rows.SliceScan()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range columns {
			if b, ok := c.([]byte); ok {
				c = string(b)
			}
			fmt.Fprint(&text, c, "|")
		}
		text.WriteByte('\n')
	}
	return text.String()
}

// The history changes with each start of the server, and only then. The clock does not depend on the
// session's time zone.
func TestR7HistoryOfServer(t *testing.T) {
	onEachServer(t, func(t *testing.T, start startFunc) {
		s := start(t)
		store, name := newSlotTables(t, s)
		first := mustRead(t, store, workerassign.SlotQuery{}).History
		for range 30 {
			time.Sleep(70 * time.Millisecond)
			if h := mustRead(t, store, workerassign.SlotQuery{}).History; h != first {
				t.Fatalf("the history changed from %q to %q while the server runs", first, h)
			}
		}
		for _, zone := range []string{"-11:00", "+13:00"} {
			other := workerassign.NewSlotTable(mariadbtest.Open(t, s.DSN("root", "", name)+"?time_zone="+url.QueryEscape("'"+zone+"'")))
			state := mustRead(t, other, workerassign.SlotQuery{})
			if d := time.Since(state.Now); state.History != first || d < -2*time.Second || d > 2*time.Second {
				t.Errorf("in the time zone %s, history and clock are %q and %v", zone, state.History, state.Now)
			}
		}
		s.Kill()
		if took := time.Now(); true {
			s.Restart()
			time.Sleep(time.Second - min(time.Second, time.Since(took)))
		}
		if h := mustRead(t, store, workerassign.SlotQuery{}).History; h == first {
			t.Errorf("the history is still %q after a restart", h)
		}
		t.Log(first)
	})
}

// The queries read as many rows as they return, in a table with 10,000 slots.
func TestSlotTableExplain(t *testing.T) {
	onEachServer(t, func(t *testing.T, start startFunc) {
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
		store := workerassign.NewSlotTable(db)
		mustRead(t, store, workerassign.SlotQuery{})
		for _, c := range []struct {
			query workerassign.SlotQuery
			slots int
			reads int64
		}{
			{workerassign.SlotQuery{WorkerIDs: []int64{77}}, 1, 10},
			{workerassign.SlotQuery{Free: 16}, 16, 100},
			{workerassign.SlotQuery{Free: 16, Name: "n99"}, 17, 120},
			{workerassign.SlotQuery{All: true}, 10_000, 10_100},
		} {
			db.MustExec("FLUSH STATUS")
			begin := time.Now()
			if got := mustRead(t, store, c.query); len(got.Slots) != c.slots {
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
	onEachServer(t, func(t *testing.T, start startFunc) {
		s := start(t)
		admin := s.Admin()
		for _, autocommit := range []int64{1, 0} {
			_, name := newSlotTables(t, s)
			r := workerassign.NewRecycled(workerassign.NewSlotTable(mariadbtest.Open(t, s.DSN("root", "", name)+fmt.Sprint("?autocommit=", autocommit))), workerassign.WithNewPool())
			mustLease(t, r, time.Minute)
			var l workerassign.Lease
			for _, step := range []struct {
				what string
				cost int64
				call func() error
			}{
				{"Assign that adds a slot", 5, func() (err error) { l, err = r.Assign(t.Context(), recycledRequest()); return err }},
				{"Reserve", 3, func() error { _, err := l.Reserve(t.Context(), time.Now().Add(time.Second)); return err }},
				{"Reserve without a change", 1, func() error { _, err := l.Reserve(t.Context(), time.Now()); return err }},
				{"Release", 3, func() error { return l.Release(t.Context(), time.Time{}) }},
				{"Assign", 3, func() (err error) { l, err = r.Assign(t.Context(), recycledRequest()); return err }},
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
