package workerassign_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/workerassign"
)

// Processes that start concurrently receive distinct worker IDs, with an account that has only
// the privilege INSERT. Each inserts one row with the right columns. The test uses the table of
// schema.sql and the table of Baidu's script.
func TestInvariant1Processes(t *testing.T) {
	if arg := testkit.ChildArg(); arg != "" {
		assignInProcess(t, arg)
		return
	}
	processes := testkit.Size(24, 32)
	s := mariadbtest.Start(t)
	for name, script := range map[string]string{"schema.sql": ringuid.MySQLSchema(), "Baidu's script": originalScript} {
		t.Run(name, func(t *testing.T) {
			database, db := s.Database()
			testserver.RunScript(t, db, script)
			var (
				begin = filepath.Join(t.TempDir(), "begin")
				dsn   = createService(t, s, db, database)
				ids   = make([]int64, processes)
				ready int
				args  []string
			)
			for n := range processes {
				args = append(args, fmt.Sprint(n, " ", dsn, " ", begin))
			}
			testkit.RunChildren(t, args, func(n int, _ *testkit.Child, line string) {
				if line == "ready" {
					if ready++; ready == processes {
						if err := os.WriteFile(begin, nil, 0o600); err != nil {
							t.Error(err)
						}
					}
				} else if !scan(line, "worker ID %d", &ids[n]) {
					t.Errorf("process %d wrote %q", n, line)
				}
			})
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
				want := tableRow{ID: id, Host: fmt.Sprintf("host-%d", n), Port: fmt.Sprintf("port-%d", n), Type: 2, LaunchDateOK: true, ModifiedOK: true, CreatedOK: true}
				if id < 1 || byID[id] != want {
					t.Errorf("process %d has worker ID %d, whose row is %+v, want %+v", n, id, byID[id], want)
				}
				delete(byID, id) // so that the test finds an ID that was assigned twice
			}
		})
	}
}

// assignInProcess is what each process of TestInvariant1Processes does.
func assignInProcess(t *testing.T, arg string) {
	part := strings.SplitN(arg, " ", 3)
	n, err := strconv.Atoi(part[0])
	if err != nil {
		t.Fatal(err)
	}
	dsn, begin := part[1], part[2]
	fmt.Println("ready")
	testkit.Retry(t, "the other processes", func() error { _, err := os.Stat(begin); return err })
	a := workerassign.NewDisposable(mariadbtest.Open(t, dsn), discardLog(),
		workerassign.WithNode(fmt.Sprintf("host-%d", n), fmt.Sprintf("port-%d", n)))
	l, err := a.Assign(testkit.Patient(t), workerassign.Request{})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("worker ID %d\n", l.WorkerID())
}

// scan reports whether a line has a form, and reads its values.
func scan(line, form string, values ...any) bool {
	_, err := fmt.Sscanf(line, form, values...)
	return err == nil
}
