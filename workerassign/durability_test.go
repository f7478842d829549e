package workerassign_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/schematest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/workerassign"
)

// The statements show and set the settings with which acknowledged inserts are durable.
func TestSchemaDurability(t *testing.T) {
	mariadbtest.OnEach(t, func(t *testing.T, start mariadbtest.StartFunc) {
		s := start(t, append(mariadbtest.PrimaryFlags(), "--innodb-flush-log-at-trx-commit=0", "--sync-binlog=0")...)
		admin := s.Admin()
		statements := schematest.MySQL().Section(t, "DURABILITY")
		show := statements.Next("SELECT @@GLOBAL.")
		settings := func(want string) {
			t.Helper()
			var flush, binlog int
			if err := admin.QueryRow(show).Scan(&flush, &binlog); err != nil || fmt.Sprint(flush, binlog) != want {
				t.Errorf("the settings are %d and %d, %v; want %s", flush, binlog, err, want)
			}
		}
		settings("0 0")
		admin.MustExec(statements.Next("SET GLOBAL innodb_flush_log_at_trx_commit"))
		admin.MustExec(statements.Next("SET GLOBAL sync_binlog"))
		settings("1 1")
		admin.MustExec(statements.Next("SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_%_status'")) // TestSemiSynchronousReplica checks its result
	})
}

// If a server process is killed, it loses acknowledged inserts if innodb_flush_log_at_trx_commit is 0,
// because then it writes its log only periodically. It loses none if the setting is 1 or 2.
func TestKilledServerLosesRows(t *testing.T) {
	mariadbtest.OnEach(t, func(t *testing.T, start mariadbtest.StartFunc) {
		// The longest possible interval, so that the log is not written during the test.
		s := start(t, "--innodb-flush-log-at-trx-commit=1", "--innodb-flush-log-at-timeout=2700")
		db := mariadbtest.CreateIDs(t, s)
		testserver.RunScript(t, db, ringuid.MySQLSchema())
		losesRows := func(setting string) bool {
			first := mustGrant(t, db)
			db.MustExec("SET GLOBAL innodb_flush_log_at_trx_commit = " + setting)
			last := first
			for range 5 {
				last = mustGrant(t, db)
			}
			s.Kill()
			s.Restart()
			id := mustGrant(t, db)
			t.Logf("with setting %s, after %d to %d were assigned and the server was killed, it assigns %d", setting, first, last, id)
			return id <= last
		}
		for _, setting := range []string{"1", "2"} {
			if losesRows(setting) {
				t.Errorf("a killed server loses rows with setting %s", setting)
			}
		}
		// A server that is slow may write its log nevertheless.
		testkit.Eventually(t, "a killed server that loses rows with setting 0", func() bool { return losesRows("0") })
	})
}

// A row with an explicit ID always raises the counter. ALTER TABLE ignores a value that is too small
// without an error. A server that keeps the counter in memory loses the value of ALTER TABLE in a
// restart, and its counter goes back if the row with the greatest ID was deleted.
func TestRaisedCounter(t *testing.T) {
	mariadbtest.OnEach(t, func(t *testing.T, start mariadbtest.StartFunc) {
		s := start(t)
		db := mariadbtest.CreateIDs(t, s)
		testserver.RunScript(t, db, ringuid.MySQLSchema())
		inMemory := strings.HasSuffix(t.Name(), "5.6")
		restart := func() {
			s.Stop()
			s.Restart()
		}
		want := func(id int64, why string) {
			t.Helper()
			if got := mustGrant(t, db); got != id {
				t.Errorf("%s: worker ID %d is assigned, want %d", why, got, id)
			}
		}
		want(1, "a new table")
		db.MustExec("ALTER TABLE WORKER_NODE AUTO_INCREMENT = 1")
		want(2, "ALTER TABLE to a value below the counter")
		db.MustExec("ALTER TABLE WORKER_NODE AUTO_INCREMENT = 1000")
		restart()
		last := int64(1000)
		if inMemory {
			last = 3
		}
		want(last, "ALTER TABLE and a restart")
		addRows(t, db, schematest.AgedRow{ID: 5000, Ago: 0})
		restart()
		want(5001, "a row with an explicit ID and a restart")
		_, err := db.Exec("INSERT INTO WORKER_NODE (ID, HOST_NAME, PORT, TYPE, LAUNCH_DATE) VALUES (5001, 'h', 'p', 3, CURRENT_DATE)")
		mariadbtest.WantErrorNumber(t, err, "a row with an existing ID", 1062)
		db.MustExec("DELETE FROM WORKER_NODE WHERE ID = 5001")
		restart()
		next := int64(5002)
		if inMemory {
			next = 5001 // a second time
		}
		want(next, "the row with the greatest ID deleted and a restart")
	})
}

// With a semi-synchronous replica and an unlimited timeout, an insert is acknowledged only after the
// replica has received it. So after the replica is promoted and has applied everything that it has
// received, it assigns no worker ID a second time, without any other measure. The test does not use
// MySQL 5.6, because its package does not contain the plugin for semi-synchronous replication.
func TestSemiSynchronousReplica(t *testing.T) {
	primary := mariadbtest.Start(t, append(mariadbtest.PrimaryFlags(), "--rpl-semi-sync-slave-enabled=ON")...)
	db := mariadbtest.CreateIDs(t, primary)
	testserver.RunScript(t, db, ringuid.MySQLSchema())
	replica := primary.Replica()
	db.MustExec("SET GLOBAL rpl_semi_sync_master_timeout = 4294967295")
	db.MustExec("SET GLOBAL rpl_semi_sync_master_enabled = ON")
	statements := schematest.MySQL().Section(t, "DURABILITY")
	statements.Remaining = statements.Remaining[len(statements.Remaining)-1:]
	show := statements.Next("SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_%_status'")
	testkit.Eventually(t, "semi-synchronous replication", func() bool {
		statusOf := func(s *mariadbtest.Server, name string) string {
			rows := []struct {
				Name  string `db:"Variable_name"`
				Value string `db:"Value"`
			}{}
			if err := s.Admin().Select(&rows, show); err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				if r.Name == name {
					return r.Value
				}
			}
			return "missing"
		}
		return statusOf(primary, "Rpl_semi_sync_master_status") == "ON" && statusOf(replica, "Rpl_semi_sync_slave_status") == "ON"
	})

	last := int64(0)
	for range 5 {
		last = max(last, mustGrant(t, db))
	}
	admin := replica.Admin()
	admin.MustExec("STOP SLAVE IO_THREAD") // as if the network was interrupted
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, id, err := grant(ctx, db); err == nil {
		t.Errorf("worker ID %d was assigned, but the replica has not received its row", id)
	}
	primary.Kill()
	status := replica.ReplicaStatus()
	admin.MustExec("DO MASTER_POS_WAIT('" + status["Master_Log_File"] + "', " + status["Read_Master_Log_Pos"] + ", 60)") // apply all of it
	admin.MustExec("STOP SLAVE")
	admin.MustExec("RESET SLAVE ALL")
	admin.MustExec("SET GLOBAL read_only = 0")
	if id := mustGrant(t, mariadbtest.Open(t, replica.DSN("root", "", "ids"))); id <= last {
		t.Errorf("the promoted replica assigns %d a second time", id)
	}
}

// slowLines are those that a Disposable logs if the server is slow.
var slowLines = regexp.MustCompile(`(?m)^.*"waiting for"=.*\n`)

// If a server may lose committed rows, a Disposable logs a warning, once. The privilege INSERT is
// sufficient for that.
func TestDurabilityWarning(t *testing.T) {
	s := mariadbtest.Start(t, "--innodb-flush-log-at-trx-commit=0", "--log-bin", "--sync-binlog=0")
	database, db := s.Database()
	testserver.RunScript(t, db, ringuid.MySQLSchema())
	var log testkit.Buffer
	a := workerassign.NewDisposable(mariadbtest.Open(t, createService(t, s, db, database)), logTo(&log))
	for range 3 {
		if _, err := a.Assign(context.Background(), workerassign.Request{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"setting=innodb_flush_log_at_trx_commit value=0", "setting=sync_binlog value=0"} {
		if n := strings.Count(log.String(), want); n != 1 {
			t.Errorf("%q was logged %d times, want 1: %s", want, n, log.String())
		}
	}
	db.MustExec("SET GLOBAL innodb_flush_log_at_trx_commit = 1, sync_binlog = 1")
	log = testkit.Buffer{}
	b := workerassign.NewDisposable(db, logTo(&log))
	if _, err := b.Assign(context.Background(), workerassign.Request{}); err != nil || slowLines.ReplaceAllString(log.String(), "") != "" {
		t.Errorf("with durable settings Assign() = %v, and the log is %q, want it empty", err, log.String())
	}
}
