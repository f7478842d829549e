package workerassign_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/schematest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/workerassign"
)

// failover is a primary that fails, and its replica. The replica has received some of the last rows
// without applying them, and has not received others.
type failover struct {
	primary, replica *mariadbtest.Server
	granted          map[int64]bool // the worker IDs that the primary assigned
	applied          int64          // the greatest worker ID whose row the replica has applied
	received         int64          // the greatest worker ID whose row the replica has received
	stored           int64          // the greatest worker ID with a stored UID
	last             int64          // the greatest worker ID
	apply            func()         // ends the lock that prevents the replica from applying rows
}

// openAsService returns a connection to a server with the service's account.
func openAsService(t *testing.T, s *mariadbtest.Server) *sqlx.DB {
	t.Helper()
	return mariadbtest.Open(t, s.DSN("service", "secret", "ids"))
}

// newFailover starts a primary with a replica and assigns worker IDs. The UIDs are stored in a table on
// the replica, which stands for the separate database of a service.
func newFailover(t *testing.T, start mariadbtest.StartFunc) *failover {
	t.Helper()
	f := &failover{primary: start(t, mariadbtest.PrimaryFlags()...), granted: map[int64]bool{}}
	db := mariadbtest.CreateIDs(t, f.primary)
	testserver.RunScript(t, db, ringuid.MySQLSchema())
	account := schematest.MySQL().Section(t, "PRIVILEGES", "<password>", "secret")
	db.MustExec(account.Next("CREATE USER"))
	db.MustExec(account.Next("GRANT INSERT ("))
	account.Remaining = nil // the statements that change the privileges of an existing account
	f.replica = f.primary.Replica()
	admin := f.replica.Admin()
	admin.MustExec("CREATE DATABASE shop")
	admin.MustExec("CREATE TABLE shop.orders (id BIGINT NOT NULL PRIMARY KEY) ENGINE = InnoDB")

	service := openAsService(t, f.primary)
	start5 := func(store bool) int64 {
		t.Helper()
		for range 5 {
			id, worker, err := grant(t.Context(), service)
			if err != nil {
				t.Fatal(err)
			}
			if f.granted[worker] {
				t.Fatalf("worker ID %d was assigned twice", worker)
			}
			f.granted[worker], f.last = true, worker
			if store {
				admin.MustExec("INSERT INTO shop.orders VALUES (?)", int64(id))
			}
		}
		return f.last
	}
	f.applied = start5(true)
	f.replica.WaitApplied(f.primary)
	// A lock blocks the replica's thread that applies rows, so that the replica lags behind.
	locker, err := admin.Connx(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := locker.ExecContext(t.Context(), "LOCK TABLES ids.WORKER_NODE READ"); err != nil {
		t.Fatal(err)
	}
	f.apply = sync.OnceFunc(func() {
		locker.ExecContext(context.Background(), "UNLOCK TABLES") // fails if the server was stopped, which is fine
		locker.Close()
	})
	t.Cleanup(f.apply)
	f.received = start5(true)
	f.replica.WaitReceived(f.primary)
	admin.MustExec("STOP SLAVE IO_THREAD") // as if the network was interrupted
	f.stored = start5(true)
	start5(false)
	return f
}

// maxID returns the greatest ID in the server's table.
func maxID(t *testing.T, s *mariadbtest.Server) (id int64) {
	t.Helper()
	if err := s.Admin().Get(&id, "SELECT MAX(ID) FROM ids.WORKER_NODE"); err != nil {
		t.Fatal(err)
	}
	return id
}

// insertRow inserts a row as a service does, without retries, and returns the server's error.
func insertRow(db *sqlx.DB) error {
	_, err := db.Exec(`INSERT INTO WORKER_NODE (HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED)
		VALUES ('h', 'p', 3, CURRENT_DATE, NOW(), NOW())`)
	return err
}

// A replica is promoted without the primary's last rows. Without the procedure in schema.sql it assigns
// worker IDs a second time, also some whose rows it has received. With the procedure it does not, not
// even to a service that tries to insert rows during the whole procedure, and not after a restart.
func TestSchemaFailover(t *testing.T) {
	const heading, readOnly = "AFTER A FAILOVER OR A RESTORED BACKUP", 1290
	mariadbtest.OnEach(t, func(t *testing.T, start mariadbtest.StartFunc) {
		t.Run("without the procedure", func(t *testing.T) {
			f := newFailover(t, start)
			f.primary.Kill()
			f.replica.Kill() // so that it does not apply the other rows that it has received
			f.replica.RestartWith("--skip-slave-start")
			admin := f.replica.Admin()
			admin.MustExec("RESET SLAVE ALL")
			admin.MustExec("SET GLOBAL read_only = 0")
			service, again := openAsService(t, f.replica), 0
			for range 5 {
				if f.granted[mustGrant(t, service)] {
					again++
				}
			}
			if again != 5 {
				t.Errorf("%d of 5 worker IDs were assigned a second time, want all: this test could not show what the procedure prevents", again)
			}
			f.primary.Restart() // without fencing
			before := f.last
			if id := mustGrant(t, openAsService(t, f.primary)); id <= before || maxID(t, f.replica) >= id {
				t.Errorf("the old primary assigns %d after %d, want an ID that the new primary does not know", id, before)
			}
		})

		t.Run("by the procedure", func(t *testing.T) {
			f := newFailover(t, start)
			next := f.stored + 10_000
			pairs := []string{"<uid>", "id", "<table>", "shop.orders", "<next ID>", strconv.FormatInt(next, 10)}
			if strings.Contains(t.Name(), "5.6") {
				pairs = append(pairs, "REPLICA", "SLAVE") // as schema.sql says
			}
			statements := schematest.MySQL().Section(t, heading, pairs...)

			// A running service changes its worker ID repeatedly.
			var (
				running, stop = context.WithCancel(t.Context())
				done          sync.WaitGroup
				rolled        []int64
				restarting    sync.Mutex // held by the test while the server is down
				rolling       = openAsService(t, f.replica)
			)
			defer done.Wait()
			defer stop()
			done.Go(func() {
				for running.Err() == nil {
					ctx, cancel := context.WithTimeout(running, time.Second)
					restarting.Lock()
					_, id, err := grant(ctx, rolling, workerassign.WithBackoff(time.Millisecond, 20*time.Millisecond), discardLog())
					restarting.Unlock()
					cancel()
					if err == nil {
						rolled = append(rolled, id)
					}
					time.Sleep(5 * time.Millisecond)
				}
			})

			// Step 1.
			f.primary.Admin().MustExec(statements.Next("SET GLOBAL read_only = 1"))
			mariadbtest.WantErrorNumber(t, insertRow(openAsService(t, f.primary)), "an insert on the old primary", readOnly)
			f.primary.Kill()
			f.primary.RestartWith("--read-only") // as its configuration file says now
			mariadbtest.WantErrorNumber(t, insertRow(openAsService(t, f.primary)), "an insert on the restarted old primary", readOnly)
			f.primary.Kill()

			// Step 2.
			admin := mariadbtest.Open(t, f.replica.DSN("root", "", "ids"))
			admin.MustExec(statements.Next("SET GLOBAL read_only = 1"))
			admin.MustExec(statements.Next("STOP "))
			f.apply()
			status := statements.Next("SHOW ")
			testkit.Eventually(t, "all received rows applied", func() bool {
				columns := f.replica.QueryRow(status)
				for _, name := range []string{"Exec_Master_Log_Pos", "Read_Master_Log_Pos", "Relay_Master_Log_File", "Master_Log_File"} {
					if columns[name] == "" {
						t.Fatalf("the result of %s has no %s: %v", status, name, columns)
					}
				}
				return columns["Exec_Master_Log_Pos"] == columns["Read_Master_Log_Pos"] && columns["Relay_Master_Log_File"] == columns["Master_Log_File"]
			})
			admin.MustExec(statements.Next("STOP "))
			admin.MustExec(statements.Next("RESET "))

			// Step 3.
			var here, used int64
			var newest string
			if err := admin.QueryRow(statements.Next("SELECT MAX(ID), MAX(CREATED)")).Scan(&here, &newest); err != nil || here != f.received {
				t.Errorf("the greatest ID is %d, %v; want %d, the last received one", here, err, f.received)
			}
			if err := admin.Get(&used, statements.Next("SELECT MAX((<uid> >> 13)")); err != nil || used != f.stored {
				t.Errorf("the greatest worker ID in UIDs is %d, %v; want %d", used, err, f.stored)
			}

			// Step 4. Inserting an existing ID fails, and the second statement detects an ID that is too
			// small.
			insert, verify := statements.Next("INSERT INTO WORKER_NODE (ID,"), statements.Next("SELECT ID, HOST_NAME")
			raised := func() int64 {
				t.Helper()
				var id int64
				var name string
				if err := admin.QueryRow(verify).Scan(&id, &name); err != nil {
					t.Fatal(err)
				}
				if name != "counter raised" {
					return 0
				}
				return id
			}
			number := strconv.FormatInt(next, 10)
			_, err := admin.Exec(strings.Replace(insert, number, strconv.FormatInt(here, 10), 1))
			mariadbtest.WantErrorNumber(t, err, "an existing ID", 1062)
			tooSmall := strings.Replace(insert, number, strconv.FormatInt(here-1, 10), 1)
			admin.MustExec("DELETE FROM WORKER_NODE WHERE ID = ?", here-1) // an old row, so that there is a gap
			admin.MustExec(tooSmall)
			if id := raised(); id != 0 {
				t.Errorf("the second statement shows the inserted row with ID %d, although that is too small", id)
			}
			admin.MustExec(insert)
			if id := raised(); id != next {
				t.Errorf("the second statement shows ID %d, want %d", id, next)
			}
			restarting.Lock()
			f.replica.Stop()
			f.replica.Restart() // a promoted server may be restarted; it is still read-only
			restarting.Unlock()
			mariadbtest.WantErrorNumber(t, insertRow(openAsService(t, f.replica)), "an insert before step 5", readOnly)

			// Step 5.
			if n := maxID(t, f.replica); n != next {
				t.Errorf("before the server accepts writes the greatest ID is %d, want %d", n, next)
			}
			f.replica.Admin().MustExec(statements.Next("SET GLOBAL read_only = 0"))
			service := openAsService(t, f.replica)
			var after []int64
			for range 5 {
				after = append(after, mustGrant(t, service))
			}
			testkit.Eventually(t, "worker IDs of the running service", func() bool { return maxID(t, f.replica) >= next+10 })
			stop()
			done.Wait()
			seen := map[int64]bool{}
			for _, id := range append(after, rolled...) {
				if id <= next || f.granted[id] || seen[id] {
					t.Errorf("worker ID %d was assigned before, or is not greater than %d", id, next)
				}
				seen[id] = true
			}
			if len(rolled) == 0 {
				t.Error("the running service received no worker ID")
			}
		})
	})
}
