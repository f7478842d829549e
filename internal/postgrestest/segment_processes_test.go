//go:build unix

package postgrestest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/fleettest"
	"github.com/ringuid/ringuid/internal/postgrestest"
	"github.com/ringuid/ringuid/internal/uniq"
	"github.com/ringuid/ringuid/segment"
)

// segmentProcessEnv has the data source name for the processes of TestSegmentTableProcesses.
const segmentProcessEnv = "RINGUID_TEST_SEGMENTS"

// Many processes with several goroutines, which ask for several sizes while the step changes, the server is killed and paused, and
// processes are killed. No number is handed out twice. One goroutine follows Leaf's statements.
func TestSegmentTableProcesses(t *testing.T) {
	if dsn := os.Getenv(segmentProcessEnv); dsn != "" {
		runSegmentProcess(t, dsn)
		return
	}
	processes, kills := 4, 3
	if os.Getenv(fleettest.FullEnv) != "" {
		processes, kills = 64, 100
	}
	s := postgrestest.Start(t, "max_connections=400")
	name, db := segmentDatabase(t, s)
	db.MustExec("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('orders', 1, 50)")
	var (
		seen   uniq.Set
		total  atomic.Int64
		ranges atomic.Int64
		all    sync.WaitGroup
		cmds   []*exec.Cmd
	)
	start := func() {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSegmentTableProcesses$", "-test.count=1")
		cmd.Env = append(os.Environ(), segmentProcessEnv+"="+s.DSN("postgres", "", name))
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill() })
		cmds = append(cmds, cmd)
		all.Go(func() {
			w := seen.Writer()
			for {
				var first, length int64
				if _, err := fmt.Fscanf(out, "range %d %d\n", &first, &length); err != nil {
					break
				}
				for n := first; n < first+length; n++ {
					if !w.Add(n) {
						t.Errorf("the number %d was handed out twice", n)
					}
				}
				total.Add(length)
				ranges.Add(1)
			}
			cmd.Process.Kill()
			cmd.Wait()
		})
	}
	for range processes {
		start()
	}
	more := func(n int64) {
		t.Helper()
		want := ranges.Load() + n
		for deadline := time.Now().Add(time.Minute); ranges.Load() < want; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d ranges are missing", want-ranges.Load())
			}
		}
	}
	more(int64(processes) * 40)
	for i := range kills {
		db.Exec("UPDATE leaf_alloc SET step = $1", 10+7*(i%5))
		switch i % 3 {
		case 0:
			s.Kill()
			s.Restart()
		case 1:
			s.Pause()
			time.Sleep(20 * time.Millisecond)
			s.Resume()
		default: // a process, which may be between a statement and its reply
			cmds[0].Process.Kill()
			cmds = cmds[1:]
			start()
		}
		more(50)
	}
	s.Kill() // the processes end: their Takes fail
	s.Restart()
	db.MustExec("UPDATE leaf_alloc SET biz_tag = 'ended'")
	all.Wait()
	var maxID int64
	if err := db.Get(&maxID, "SELECT max_id FROM leaf_alloc"); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d ranges, %d numbers, max_id %d", ranges.Load(), total.Load(), maxID)
	if seen.Len() != total.Load() || maxID <= total.Load() {
		t.Errorf("%d numbers, %d different ones, max_id is %d", total.Load(), seen.Len(), maxID)
	}
}

// runSegmentProcess takes ranges in 8 goroutines, and prints each, until the tag does not exist.
func runSegmentProcess(t *testing.T, dsn string) {
	db := postgrestest.Open(t, dsn)
	db.SetMaxOpenConns(4)
	source := segment.NewTable(db, segment.WithAttemptTimeout(5*time.Second))
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			var end int64
			for {
				var got segment.Range
				var err error
				if g == 0 {
					got, err = takeLikeLeaf(db)
				} else {
					got, err = source.Take(context.Background(), segment.Request{Tag: "orders", Size: []int64{0, 0, 1, 7, 100, 3, 0, 20}[g], AtLeast: end})
				}
				switch {
				case errors.Is(err, segment.ErrNoTag):
					return
				case err != nil:
					time.Sleep(10 * time.Millisecond)
					continue
				}
				end = got.First + got.Length
				os.Stdout.WriteString(fmt.Sprintf("range %d %d\n", got.First, got.Length))
			}
		})
	}
	all.Wait()
}

// takeLikeLeaf takes a range with Leaf's statements.
func takeLikeLeaf(db *sqlx.DB) (r segment.Range, err error) {
	tx, err := db.Beginx()
	if err != nil {
		return r, err
	}
	defer tx.Rollback()
	result, err := tx.Exec("UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = 'orders'")
	if err != nil {
		return r, err
	}
	if n, _ := result.RowsAffected(); n == 0 {
		return r, segment.ErrNoTag
	}
	var maxID, step int64
	if err := tx.QueryRow("SELECT max_id, step FROM leaf_alloc WHERE biz_tag = 'orders'").Scan(&maxID, &step); err != nil {
		return r, err
	}
	return segment.Range{First: maxID - step, Length: step}, tx.Commit()
}
