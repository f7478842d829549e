package workerassign_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/mariadbtest"
)

// The statements show and set what keeps acknowledged inserts.
func TestSchemaDurability(t *testing.T) {
	onEachServer(t, func(t *testing.T, start startFunc) {
		s := start(t, append(mariadbtest.PrimaryFlags(), "--innodb-flush-log-at-trx-commit=0", "--sync-binlog=0")...)
		admin := s.Admin()
		statements := newSection(t, "DURABILITY")
		show := statements.next("SELECT @@GLOBAL.")
		settings := func(want string) {
			t.Helper()
			var flush, binlog int
			if err := admin.QueryRow(show).Scan(&flush, &binlog); err != nil || fmt.Sprint(flush, binlog) != want {
				t.Errorf("the settings are %d and %d, %v; want %s", flush, binlog, err, want)
			}
		}
		settings("0 0")
		admin.MustExec(statements.next("SET GLOBAL innodb_flush_log_at_trx_commit"))
		admin.MustExec(statements.next("SET GLOBAL sync_binlog"))
		settings("1 1")
		admin.MustExec(statements.next("SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_%_status'")) // its result: TestSemiSynchronousReplica
	})
}

// A server that is killed forgets acknowledged inserts at 0, where the log is written now and
// then only, and keeps them at 1 and 2.
func TestKilledServerByDurability(t *testing.T) {
	onEachServer(t, func(t *testing.T, start startFunc) {
		// The longest time until the log is written anyway, so that it is not during the test.
		s := start(t, "--innodb-flush-log-at-trx-commit=1", "--innodb-flush-log-at-timeout=2700")
		db := createIDsDatabase(t, s)
		mariadbtest.RunScript(t, db, schemaScript(t))
		for _, setting := range []string{"1", "2", "0"} {
			first := mustGrant(t, db)
			db.MustExec("SET GLOBAL innodb_flush_log_at_trx_commit = " + setting)
			last := first
			for range 5 {
				last = mustGrant(t, db)
			}
			s.Kill()
			s.Restart()
			id := mustGrant(t, db)
			if forgotten := id <= last; forgotten != (setting == "0") {
				t.Errorf("at %s, after %d to %d were granted and the server was killed, it grants %d", setting, first, last, id)
			}
		}
	})
}

// What raises the counter: a row with an explicit ID always; ALTER TABLE is forgotten by a
// restart where the counter is in memory, and ignores in silence what is too small. Without
// its greatest row such a server goes back.
func TestRaisedCounter(t *testing.T) {
	onEachServer(t, func(t *testing.T, start startFunc) {
		s := start(t)
		db := createIDsDatabase(t, s)
		mariadbtest.RunScript(t, db, schemaScript(t))
		inMemory := strings.HasSuffix(t.Name(), "5.6")
		restart := func() {
			s.Stop()
			s.Restart()
		}
		want := func(id int64, why string) {
			t.Helper()
			if got := mustGrant(t, db); got != id {
				t.Errorf("%s: worker ID %d is granted, want %d", why, got, id)
			}
		}
		want(1, "a new table")
		db.MustExec("ALTER TABLE WORKER_NODE AUTO_INCREMENT = 1")
		want(2, "ALTER TABLE to less than the counter")
		db.MustExec("ALTER TABLE WORKER_NODE AUTO_INCREMENT = 1000")
		restart()
		last := int64(1000)
		if inMemory {
			last = 3
		}
		want(last, "ALTER TABLE and a restart")
		addRows(t, db, agedRow{5000, 0})
		restart()
		want(5001, "a row with an explicit ID and a restart")
		_, err := db.Exec("INSERT INTO WORKER_NODE (ID, HOST_NAME, PORT, TYPE, LAUNCH_DATE) VALUES (5001, 'h', 'p', 3, CURRENT_DATE)")
		wantErrorNumber(t, err, "a row with an ID that is there", 1062)
		db.MustExec("DELETE FROM WORKER_NODE WHERE ID = 5001")
		restart()
		next := int64(5002)
		if inMemory {
			next = 5001 // again
		}
		want(next, "the greatest row deleted and a restart")
	})
}

// With a semi-synchronous replica, and a timeout that never ends, an insert is not
// acknowledged before the replica has received it: so a promoted replica that applies what it
// has received grants nothing again, without more ado. (MySQL 5.6 has it as a plugin, which
// its package lacks.)
func TestSemiSynchronousReplica(t *testing.T) {
	primary := mariadbtest.Start(t, append(mariadbtest.PrimaryFlags(), "--rpl-semi-sync-slave-enabled=ON")...)
	db := createIDsDatabase(t, primary)
	mariadbtest.RunScript(t, db, schemaScript(t))
	replica := primary.Replica()
	db.MustExec("SET GLOBAL rpl_semi_sync_master_timeout = 4294967295")
	db.MustExec("SET GLOBAL rpl_semi_sync_master_enabled = ON")
	statements := newSection(t, "DURABILITY")
	statements.left = statements.left[len(statements.left)-1:]
	show := statements.next("SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_%_status'")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		of := func(s *mariadbtest.Server, name string) string {
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
		if of(primary, "Rpl_semi_sync_master_status") == "ON" && of(replica, "Rpl_semi_sync_slave_status") == "ON" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the replica is not semi-synchronous")
		}
	}

	last := int64(0)
	for range 5 {
		last = max(last, mustGrant(t, db))
	}
	admin := replica.Admin()
	admin.MustExec("STOP SLAVE IO_THREAD") // the network is cut
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, id, err := grant(ctx, db); err == nil {
		t.Errorf("worker ID %d is granted, which the replica has not received", id)
	}
	primary.Kill()
	status := replica.ReplicaStatus()
	admin.MustExec("DO MASTER_POS_WAIT('" + status["Master_Log_File"] + "', " + status["Read_Master_Log_Pos"] + ", 60)") // apply all of it
	admin.MustExec("STOP SLAVE")
	admin.MustExec("RESET SLAVE ALL")
	admin.MustExec("SET GLOBAL read_only = 0")
	if id := mustGrant(t, mariadbtest.Open(t, replica.DSN("root", "", "ids"))); id <= last {
		t.Errorf("the promoted replica grants %d again", id)
	}
}
