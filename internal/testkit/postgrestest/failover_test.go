package postgrestest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// failover is a primary that fails, and its standby, which has not received the last rows. The server
// writes its counter 32 IDs ahead, so more rows than that are missing.
type failover struct {
	primary, standby *postgrestest.Server
	granted          map[int64]bool // the worker IDs that the primary assigned
	received         int64          // the greatest worker ID whose row the standby has received
	stored           int64          // the greatest worker ID with a stored UID
	last             int64          // the greatest worker ID
}

// newFailover starts a primary with a standby and assigns worker IDs. The UIDs are stored in a table on
// another server, which stands for the separate database of a service.
func newFailover(t *testing.T, orders *sqlx.DB) *failover {
	t.Helper()
	f := &failover{primary: postgrestest.Start(t), granted: map[int64]bool{}}
	db := idsDatabase(t, f.primary)
	createService(t, db)
	f.standby = f.primary.Standby()
	service := openAsService(t, f.primary)
	assign40 := func(store bool) int64 {
		t.Helper()
		for range 40 {
			g, err := uid.NewDefault(t.Context(), workerassign.NewDisposable(service, discardLog()))
			if err != nil {
				t.Fatal(err)
			}
			id, err := g.Next()
			worker := g.Parse(id).WorkerID
			g.Close()
			if err != nil || f.granted[worker] {
				t.Fatalf("worker ID %d was assigned twice, or %v", worker, err)
			}
			f.granted[worker], f.last = true, worker
			if store && orders != nil {
				orders.MustExec("INSERT INTO orders VALUES ($1)", int64(id))
			}
		}
		return f.last
	}
	f.received = assign40(true)
	f.standby.WaitReceived(f.primary)
	f.standby.Disconnect()
	f.stored = assign40(true)
	assign40(false)
	return f
}

// A standby is promoted without the primary's last rows. Without the procedure it assigns worker IDs a
// second time, but not to services with WithMinWorkerID. With the procedure it does not,
// not even to a service that tries to insert rows during the whole procedure.
func TestSchemaFailover(t *testing.T) {
	t.Parallel()
	t.Run("without the procedure", func(t *testing.T) {
		f := newFailover(t, nil)
		f.primary.Kill()
		f.standby.Promote()
		service, again := openAsService(t, f.standby), 0
		if _, err := assign(t, service, workerassign.WithMinWorkerID(f.last+1)); !errors.Is(err, workerassign.ErrTooLow) ||
			!strings.Contains(err.Error(), "schema.postgres.sql") {
			t.Errorf("with a minimum Assign() = %v, want ErrTooLow", err)
		}
		var rows int
		if err := postgrestest.Open(t, f.standby.DSN("postgres", "", "ids")).Get(&rows, "SELECT count(*) FROM worker_node"); err != nil || int64(rows) != f.received {
			t.Errorf("%d rows, %v; want %d: the refused inserts must be rolled back", rows, err, f.received)
		}
		for range 5 {
			if f.granted[mustAssign(t, service)] {
				again++
			}
		}
		if again != 5 {
			t.Errorf("%d of 5 worker IDs were assigned a second time, want all: this test could not show what the procedure prevents", again)
		}
		f.primary.Restart() // without fencing
		before := f.last
		if id := mustAssign(t, openAsService(t, f.primary)); id <= before {
			t.Errorf("the old primary assigns %d after %d", id, before)
		}
	})

	t.Run("by the procedure", func(t *testing.T) {
		_, orders := postgrestest.Start(t).Database()
		orders.MustExec("CREATE TABLE orders (id BIGINT PRIMARY KEY)")
		f := newFailover(t, orders)
		next := f.stored + 10_000
		statements := newSection(t, "AFTER A FAILOVER OR A RESTORED BACKUP",
			"<uid>", "id", "<table>", "orders", "<next ID>", strconv.FormatInt(next, 10))

		// A running service changes its worker ID repeatedly.
		running, stop := context.WithCancel(t.Context())
		var (
			done    sync.WaitGroup
			rolled  []int64
			rolling = openAsService(t, f.standby)
		)
		defer done.Wait()
		defer stop()
		done.Go(func() {
			d := workerassign.NewDisposable(rolling, discardLog(), workerassign.WithBackoff(time.Millisecond, 5*time.Millisecond))
			for running.Err() == nil {
				if l, err := d.Assign(running, workerassign.Request{}); err == nil {
					rolled = append(rolled, l.WorkerID())
				}
				time.Sleep(time.Millisecond)
			}
		})

		// Steps 1 and 2.
		f.primary.Kill()
		admin := postgrestest.Open(t, f.standby.DSN("postgres", "", "ids"))
		admin.SetMaxOpenConns(1) // one session
		admin.MustExec(statements.Next("ALTER SYSTEM SET default_transaction_read_only"))
		admin.MustExec(statements.Next("SELECT pg_reload_conf"))
		admin.MustExec(statements.Next("SELECT pg_promote"))
		insert := "INSERT INTO worker_node (host_name, port, type, launch_date) VALUES ('h', 'p', 3, CURRENT_DATE)"
		_, err := openAsService(t, f.standby).Exec(insert)
		wantState(t, err, "an insert before step 5", "25006")

		// Step 3.
		var here, used int64
		var newest time.Time
		if err := admin.QueryRow(statements.Next("SELECT max(id), max(created)")).Scan(&here, &newest); err != nil || here != f.received {
			t.Errorf("the greatest ID is %d, %v; want %d, the last received one", here, err, f.received)
		}
		if err := orders.Get(&used, statements.Next("SELECT max((<uid> >> 13)")); err != nil || used != f.stored {
			t.Errorf("the greatest worker ID in UIDs is %d, %v; want %d", used, err, f.stored)
		}

		// Step 4, as one string. The statements do not lower the counter.
		raise := strings.Join([]string{statements.Next("START TRANSACTION READ WRITE"), statements.Next("SELECT setval("),
			statements.Next("INSERT INTO worker_node"), statements.Next("COMMIT")}, ";\n")
		admin.MustExec(raise)
		if err := admin.Get(&here, "SELECT max(id) FROM worker_node"); err != nil || here != next+1 {
			t.Errorf("the greatest ID is %d, %v; want %d", here, err, next+1)
		}
		admin.MustExec(strings.Replace(raise, strconv.FormatInt(next, 10), "7", 1))
		if err := admin.Get(&here, "SELECT max(id) FROM worker_node"); err != nil || here != next+3 {
			t.Errorf("after a number that is too small, the greatest ID is %d, %v; want %d", here, err, next+3)
		}
		_, err = openAsService(t, f.standby).Exec(insert)
		wantState(t, err, "an insert before step 5", "25006")

		// Step 5.
		admin.MustExec(statements.Next("ALTER SYSTEM RESET"))
		admin.MustExec(statements.Next("SELECT pg_reload_conf"))
		service := openAsService(t, f.standby)
		after := []int64{mustAssign(t, service, workerassign.WithMinWorkerID(next))}
		for range 5 {
			after = append(after, mustAssign(t, service))
		}
		testkit.Eventually(t, "the running service receives worker IDs", func() bool {
			return admin.Get(&here, "SELECT max(id) FROM worker_node") == nil && here > next+20
		})
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
}

// The statements of the section show the settings, and set synchronous_commit for an account. With a
// synchronous standby, an insert is acknowledged only after the standby has received it, so after a
// promotion no worker ID is assigned a second time, without any other measure. If a driver cancels a commit
// that waits for the standby, the server acknowledges it, but Assign does not use the worker ID.
func TestSchemaDurability(t *testing.T) {
	t.Parallel()
	for _, driverName := range []string{"pgx", "postgres"} {
		t.Run(driverName, func(t *testing.T) {
			primary := postgrestest.Start(t)
			db := idsDatabase(t, primary)
			createService(t, db)
			standby := primary.Standby()
			db.MustExec("ALTER SYSTEM SET synchronous_standby_names = 'standby1'")
			db.MustExec("ALTER DATABASE ids SET synchronous_commit = off")
			db.MustExec("SELECT pg_reload_conf()")
			statements := newSection(t, "DURABILITY")
			var fsync, pages, commit, standbys string
			show := statements.Next("SELECT current_setting(")
			settings := func(pool *sql.DB, want string) {
				t.Helper()
				testkit.Retry(t, "the settings apply", func() error {
					err := pool.QueryRow(show).Scan(&fsync, &pages, &commit, &standbys)
					if err == nil && (fsync != "on" || pages != "on" || commit != want || standbys != "standby1") {
						err = fmt.Errorf("the settings are %s, %s, %s and %s", fsync, pages, commit, standbys)
					}
					return err
				})
			}
			open := func(s *postgrestest.Server, options string) *sql.DB {
				t.Helper()
				pool, err := sql.Open(driverName, s.DSN("service", "secret", "ids")+options)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { pool.Close() })
				return pool
			}
			settings(open(primary, ""), "off")
			db.MustExec(statements.Next("ALTER ROLE service"))
			db.MustExec("ALTER DATABASE ids RESET synchronous_commit")
			settings(open(primary, ""), "on")
			status := statements.Next("SELECT application_name")
			testkit.Retry(t, "the standby is synchronous", func() error {
				var name, state, sync string
				err := db.QueryRow(status).Scan(&name, &state, &sync)
				if err == nil && sync != "sync" {
					err = fmt.Errorf("the standby is %s, %s, %s", name, state, sync)
				}
				return err
			})

			service, last := open(primary, "&options=-c%20synchronous_commit%3Doff"), int64(0)
			for range 40 {
				last = max(last, mustAssign(t, service))
			}
			standby.Disconnect()
			alone := workerassign.NewDisposable(open(primary, "&options=-c%20statement_timeout%3D100ms"), discardLog(),
				workerassign.WithAttemptTimeout(300*time.Millisecond))
			testkit.Retry(t, "an attempt waits for the commit", func() error { // on a busy machine, the last one may not get so far
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				// lib/pq requests the end of a statement once. A server that has not read the commit yet ignores that, and waits for the standby.
				if driverName == "postgres" {
					end := time.AfterFunc(20*time.Second, func() {
						db.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'service'")
					})
					defer end.Stop()
				}
				_, err := alone.Assign(ctx, workerassign.Request{})
				if !errors.Is(err, workerassign.ErrGaveUp) {
					t.Fatalf("without the standby Assign() = %v, want ErrGaveUp", err)
				}
				if !strings.Contains(err.Error(), "pg_stat_replication") {
					return err
				}
				return nil
			})
			primary.Kill()
			standby.Promote()
			for range 5 {
				if id := mustAssign(t, open(standby, "")); id <= last {
					t.Errorf("the promoted standby assigns %d a second time", id)
				}
			}
		})
	}
}
