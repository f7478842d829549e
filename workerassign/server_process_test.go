package workerassign_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/mariadbtest"
	"github.com/ringuid/ringuid/workerassign"
)

// 64 processes that start concurrently receive 64 distinct worker IDs, with an account that has only
// the privilege INSERT. Each inserts one row with the right columns. The test uses the table of
// schema.sql and the table of Baidu's script.
func TestInvariant1Processes(t *testing.T) {
	if dsn := os.Getenv("RINGUID_TEST_PROCESS"); dsn != "" {
		assignInProcess(t, dsn)
		return
	}
	const processes = 64
	s := mariadbtest.Start(t)
	for name, script := range map[string]string{"schema.sql": schemaScript(t), "Baidu's script": originalScript} {
		t.Run(name, func(t *testing.T) {
			database, db := s.Database()
			mariadbtest.RunScript(t, db, script)
			dsn := createService(t, s, db, database)
			begin := strconv.FormatInt(time.Now().Add(3*time.Second).UnixMilli(), 10)
			ids := make([]int64, processes)
			var all sync.WaitGroup
			for n := range processes {
				all.Go(func() {
					cmd := exec.Command(os.Args[0], "-test.run=^TestInvariant1Processes$", "-test.count=1")
					cmd.Env = append(os.Environ(), "RINGUID_TEST_PROCESS="+dsn, "RINGUID_TEST_BEGIN="+begin, "RINGUID_TEST_NUMBER="+strconv.Itoa(n))
					var log strings.Builder // on a busy machine the process logs that it waits for the server
					cmd.Stderr = &log
					out, err := cmd.Output()
					if err != nil {
						t.Errorf("process %d: %v\n%s%s", n, err, out, log.String())
						return
					}
					if _, err := fmt.Sscanf(string(out), "worker ID %d\n", &ids[n]); err != nil {
						t.Errorf("process %d: %v\n%s", n, err, out)
					}
				})
			}
			all.Wait()
			var got []tableRow
			if err := db.Select(&got, selectRows); err != nil {
				t.Fatal(err)
			}
			if len(got) != processes {
				t.Errorf("%d rows, want %d", len(got), processes)
			}
			byID := map[int64]tableRow{}
			for _, r := range got {
				byID[r.ID] = r
			}
			for n, id := range ids {
				want := tableRow{ID: id, Host: fmt.Sprintf("host-%d", n), Port: fmt.Sprintf("port-%d", n), Type: 1 + n%3, LaunchDateOK: true, ModifiedOK: true, CreatedOK: true}
				if id < 1 || byID[id] != want {
					t.Errorf("process %d has worker ID %d, whose row is %+v, want %+v", n, id, byID[id], want)
				}
				delete(byID, id) // so that the test finds an ID that was assigned twice
			}
		})
	}
}

// assignInProcess is what each process of TestInvariant1Processes does.
func assignInProcess(t *testing.T, dsn string) {
	n, err := strconv.Atoi(os.Getenv("RINGUID_TEST_NUMBER"))
	if err != nil {
		t.Fatal(err)
	}
	begin, err := strconv.ParseInt(os.Getenv("RINGUID_TEST_BEGIN"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Until(time.UnixMilli(begin)))
	a := workerassign.NewDisposable(mariadbtest.Open(t, dsn), workerassign.WithNode(workerassign.Node{
		HostName: fmt.Sprintf("host-%d", n), Port: fmt.Sprintf("port-%d", n), Type: workerassign.NodeType(1 + n%3)}))
	l, err := a.Assign(context.Background(), workerassign.Request{})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("worker ID %d\n", l.WorkerID())
}
