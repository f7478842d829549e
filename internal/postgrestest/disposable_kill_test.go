package postgrestest_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/postgrestest"
	"github.com/ringuid/ringuid/workerassign"
)

// 32 processes that start concurrently receive distinct worker IDs, with an account that has only the
// recommended privileges.
func TestInvariant1Processes(t *testing.T) {
	if dsn := os.Getenv("RINGUID_TEST_PROCESS"); dsn != "" {
		fmt.Printf("worker ID %d\n", mustAssign(t, postgrestest.Open(t, dsn)))
		return
	}
	const processes = 32
	s := postgrestest.Start(t)
	db := idsDatabase(t, s)
	createService(t, db)
	ids := make([]int64, processes)
	var all sync.WaitGroup
	for n := range processes {
		all.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestInvariant1Processes$", "-test.count=1")
			cmd.Env = append(os.Environ(), "RINGUID_TEST_PROCESS="+s.DSN("service", "secret", "ids"))
			out, err := cmd.Output()
			if err != nil {
				t.Errorf("process %d: %v\n%s", n, err, out)
				return
			}
			if _, err := fmt.Sscanf(string(out), "worker ID %d\n", &ids[n]); err != nil {
				t.Errorf("process %d: %v\n%s", n, err, out)
			}
		})
	}
	all.Wait()
	slices.Sort(ids)
	for i, id := range ids {
		if id != int64(i+1) {
			t.Fatalf("the worker IDs are %d, want 1 to %d", ids, processes)
		}
	}
}

// The server is killed a hundred times in the middle of Assigns of two drivers. No worker ID is assigned
// twice, and no acknowledged row is lost. With synchronous_commit = off and a log that is written rarely,
// a server would lose rows if Disposable did not set it to on: the test shows that a plain insert is lost.
func TestInvariant1KilledServer(t *testing.T) {
	t.Parallel()
	kills := 100
	if testing.Short() {
		kills = 10
	}
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
		d := workerassign.NewDisposable(pool, discardLog(), workerassign.WithBackoff(time.Millisecond, 20*time.Millisecond))
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
	for range kills {
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
	lost := 0
	for try := 0; lost == 0 && try < 10; try++ {
		time.Sleep(time.Duration(try) * 100 * time.Millisecond)
		db.MustExec("INSERT INTO plain SELECT $1::int FROM generate_series(1, 3)", try)
		s.Kill()
		s.Restart()
		db = postgrestest.Open(t, s.DSN("postgres", "", "ids"))
		if err := db.Get(&lost, "SELECT 3 - count(*) FROM plain WHERE n = $1", try); err != nil {
			t.Fatal(err)
		}
	}
	if lost == 0 {
		t.Error("no plain row was lost: this test could not show that synchronous_commit matters")
	}
	t.Logf("%d worker IDs were assigned, with %d kills", len(rows), kills)
}
