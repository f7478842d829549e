package postgrestest_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
	"github.com/ringuid/ringuid/workerassign"
)

// Processes that start concurrently receive distinct worker IDs, with an account that has only the
// recommended privileges.
func TestInvariant1Processes(t *testing.T) {
	t.Parallel()
	if dsn := testkit.ChildArg(); dsn != "" {
		fmt.Println(mustAssign(t, postgrestest.Open(t, dsn)))
		return
	}
	processes := testkit.Size(8, 16)
	s := postgrestest.Start(t)
	db := idsDatabase(t, s)
	createService(t, db)
	var children []*testkit.Child
	for range processes {
		children = append(children, testkit.StartChild(t, s.DSN("service", "secret", "ids")))
	}
	var ids []int64
	for _, c := range children {
		id, err := strconv.ParseInt(c.Line(), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for i, id := range ids {
		if id != int64(i+1) {
			t.Fatalf("the worker IDs are %d, want 1 to %d", ids, processes)
		}
	}
}

// The server is killed again and again in the middle of Assigns of two drivers. No worker ID is assigned
// twice, and no acknowledged row is lost. With synchronous_commit = off and a log that is written rarely,
// a server would lose rows if Disposable did not set it to on: the test shows that a plain insert is lost.
func TestInvariant1KilledServer(t *testing.T) {
	t.Parallel()
	kills := testkit.Size(3, 40)
	s := postgrestest.Start(t, "synchronous_commit=off", "wal_writer_delay=10s", "wal_writer_flush_after=1GB")
	db := idsDatabase(t, s)
	createService(t, db)
	db.MustExec("CREATE TABLE plain (n INT)")
	mustAssign(t, openAsService(t, s)) // otherwise the first kill may lose the tables

	var (
		mu      sync.Mutex
		granted = map[int64]bool{}
		all     sync.WaitGroup
		ctx     context.Context
		stop    context.CancelFunc
	)
	ctx, stop = context.WithCancel(t.Context())
	defer all.Wait()
	defer stop()
	for n := range 4 {
		driverName := []string{"pgx", "postgres"}[n%2]
		pool, err := sql.Open(driverName, s.DSN("service", "secret", "ids"))
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		d := workerassign.NewDisposable(pool, discardLog(), workerassign.WithBackoff(time.Millisecond, 20*time.Millisecond), workerassign.WithTimeout(10*time.Minute))
		all.Go(func() {
			for ctx.Err() == nil {
				l, err := d.Assign(ctx, workerassign.Request{})
				if err != nil {
					if ctx.Err() == nil {
						t.Errorf("Assign() = %v", err)
						return
					}
					continue
				}
				mu.Lock()
				if granted[l.WorkerID()] {
					t.Errorf("worker ID %d was assigned twice", l.WorkerID())
				}
				granted[l.WorkerID()] = true
				mu.Unlock()
			}
		})
	}
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(granted)
	}
	for range kills {
		before := count()
		testkit.Eventually(t, "worker IDs are assigned", func() bool { return count() > before+3 })
		time.Sleep(rand.N(30 * time.Millisecond))
		s.Kill()
		s.Restart()
		db = postgrestest.Open(t, s.DSN("postgres", "", "ids"))
	}
	stop()
	all.Wait()
	var rows []int64
	if err := db.Select(&rows, "SELECT id FROM worker_node"); err != nil {
		t.Fatal(err)
	}
	for _, id := range rows {
		delete(granted, id)
	}
	if len(granted) > 0 {
		t.Errorf("%d acknowledged rows are lost", len(granted))
	}

	// Nothing else writes to the log now. A server writes its log once when it has started, on a busy machine after
	// the inserts. So this is tried again, with a longer pause.
	lost, try := 0, 0
	testkit.Eventually(t, "a plain row is lost: otherwise this test could not show that synchronous_commit matters", func() bool {
		time.Sleep(time.Duration(try) * 100 * time.Millisecond)
		db.MustExec("INSERT INTO plain SELECT $1::int FROM generate_series(1, 3)", try)
		s.Kill()
		s.Restart()
		db = postgrestest.Open(t, s.DSN("postgres", "", "ids"))
		if err := db.Get(&lost, "SELECT 3 - count(*) FROM plain WHERE n = $1", try); err != nil {
			t.Fatal(err)
		}
		try++
		return lost > 0
	})
	t.Logf("%d worker IDs were assigned, with %d kills", len(rows), kills)
}
