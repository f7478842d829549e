package sqlstore_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
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
	mariadbtest.OnEach(t, func(t *testing.T, start mariadbtest.StartFunc) {
		s := start(t)
		settings := slotSettings("tx_isolation")
		if strings.HasPrefix(s.QueryRow("SELECT VERSION() AS v")["v"], "10.") {
			settings = append(settings, "sql_mode="+url.QueryEscape("'ORACLE'"), "sql_mode="+url.QueryEscape("'EMPTY_STRING_IS_NULL'"))
		}
		for _, setting := range settings {
			t.Run(setting, func(t *testing.T) {
				name, db := s.Database()
				testserver.RunScript(t, db, ringuid.MySQLSchema())
				limited := mariadbtest.Open(t, s.DSN("root", "", name)+"?"+setting)
				testSlotStoreContract(t, sqlstore.New(limited))
				// The store has left no transaction open in the pool: nothing is locked, and nothing is old.
				db.MustExec("UPDATE WORKER_POOL SET revision = 77")
				if state := slottest.Read(t, sqlstore.New(limited), recycled.Query{}); state.Pool.Revision != 77 {
					t.Errorf("the revision is %d, want 77", state.Pool.Revision)
				}
				var open int
				// InnoDB has transactions of its own, in no thread of a connection.
				if err := db.Get(&open, "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id <> 0"); err != nil || open != 0 {
					t.Errorf("%d transactions are open, %v", open, err)
				}
			})
		}
	})
}

// With init_connect, an account without the privilege SUPER has autocommit off, and sees uncommitted rows.
// The account has the privileges of schema.sql.
func TestSlotTableInitConnect(t *testing.T) {
	mariadbtest.OnEach(t, func(t *testing.T, start mariadbtest.StartFunc) {
		s := start(t, "--init-connect=SET autocommit = 0, tx_isolation = 'READ-UNCOMMITTED'")
		db := mariadbtest.CreateIDs(t, s)
		testserver.RunScript(t, db, ringuid.MySQLSchema())
		service := slotService(t, s, db)
		testSlotStoreContract(t, sqlstore.New(service))
	})
}

// A read does not see a row that another transaction has written but not committed, whatever the isolation
// level is. It must not, because the row may be the answer to the question whether a write was made.
func TestR4UncommittedRows(t *testing.T) {
	s := mariadbtest.Start(t)
	store, name := newSlotTables(t, s)
	empty := slottest.Read(t, store, recycled.Query{})
	p := slottest.Pool(empty.History)
	slottest.WantWritten(t, store, true, slottest.Swap(empty, &p, slottest.Slot(empty.History, 5)))
	admin := mariadbtest.Open(t, s.DSN("root", "", name))
	tx := admin.MustBegin()
	defer tx.Rollback()
	tx.MustExec("UPDATE WORKER_SLOT SET token = 'uncommitted', revision = 2")
	for _, setting := range []string{"autocommit=1", "autocommit=0"} {
		other := sqlstore.New(mariadbtest.Open(t, s.DSN("root", "", name)+"?"+setting+"&tx_isolation="+url.QueryEscape("'READ-UNCOMMITTED'")))
		state := slottest.Read(t, other, recycled.Query{WorkerIDs: []int64{5}})
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
	store := sqlstore.New(db)
	state := slottest.Read(t, store, recycled.Query{})
	p := slottest.Pool(state.History)
	slottest.WantWritten(t, store, true, slottest.Swap(state, &p))
	state.Pool = p
	db.MustExec("START TRANSACTION WITH CONSISTENT SNAPSHOT")
	s.Admin().MustExec("UPDATE " + name + ".WORKER_POOL SET revision = 8")
	p.Revision = 2
	slottest.WantWritten(t, store, false, slottest.Swap(state, &p))
	if state := slottest.Read(t, store, recycled.Query{}); state.Pool.Revision != 8 {
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
		declared, _ := newSlotTables(t, s, sqlstore.WithHistory("h"))
		state, err := declared.Read(t.Context(), recycled.Query{})
		if c.want == "" && (err != nil || !state.NoLoss) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("after %s, Read() = %+v, %v; want %q", c.set, state, err, c.want)
		}
		other, _ := newSlotTables(t, s)
		if state := slottest.Read(t, other, recycled.Query{}); state.NoLoss {
			t.Errorf("after %s, NoLoss is true", c.set)
		}
	}
	admin.MustExec("SET GLOBAL binlog_format = 'STATEMENT'")
	store, _ := newSlotTables(t, s)
	_, err := store.Read(t.Context(), recycled.Query{})
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
	mariadbtest.OnEach(t, func(t *testing.T, start mariadbtest.StartFunc) {
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
			if p, r := slottest.Read(t, store, recycled.Query{}).History, slottest.Read(t, sqlstore.New(mariadbtest.Open(t, replica.DSN("root", "", name))), recycled.Query{}).History; p == r {
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
	mariadbtest.OnEach(t, func(t *testing.T, start mariadbtest.StartFunc) {
		s := start(t)
		store, name := newSlotTables(t, s)
		first := slottest.Read(t, store, recycled.Query{}).History
		for range 30 {
			time.Sleep(70 * time.Millisecond)
			if h := slottest.Read(t, store, recycled.Query{}).History; h != first {
				t.Fatalf("the history changed from %q to %q while the server runs", first, h)
			}
		}
		for _, zone := range []string{"-11:00", "+13:00"} {
			other := sqlstore.New(mariadbtest.Open(t, s.DSN("root", "", name)+"?time_zone="+url.QueryEscape("'"+zone+"'")))
			before := time.Now()
			state := slottest.Read(t, other, recycled.Query{})
			if state.History != first || state.Now.Before(before.Add(-2*time.Second)) || state.Now.After(time.Now().Add(2*time.Second)) {
				t.Errorf("in the time zone %s, history and clock are %q and %v", zone, state.History, state.Now)
			}
		}
		s.Kill()
		if took := time.Now(); true {
			s.Restart()
			time.Sleep(time.Second - min(time.Second, time.Since(took)))
		}
		if h := slottest.Read(t, store, recycled.Query{}).History; h == first {
			t.Errorf("the history is still %q after a restart", h)
		}
		t.Log(first)
	})
}
