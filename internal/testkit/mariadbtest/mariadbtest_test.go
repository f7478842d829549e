//go:build unix

package mariadbtest_test

import (
	"os"
	"reflect"
	"syscall"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
)

// A server keeps its data across restarts, and is removed at the end of the test.
func TestServer(t *testing.T) {
	var directory string
	var pid int
	t.Run("server", func(t *testing.T) {
		s := mariadbtest.Start(t)
		directory, pid = s.Directory(), s.PID()
		name, db := s.Database()
		db.MustExec("CREATE TABLE t (n INT)")
		db.MustExec("INSERT INTO t VALUES (1)")
		for _, end := range []func(){s.Kill, s.Stop} {
			end()
			s.Restart()
			var n int
			if err := mariadbtest.Open(t, s.DSN("root", "", name)).Get(&n, "SELECT COUNT(*) FROM t"); err != nil || n != 1 {
				t.Errorf("%d rows remain after a restart, %v; want 1", n, err)
			}
		}
		pid = s.PID()
	})
	if directory == "" {
		return // skipped
	}
	if _, err := os.Stat(directory); err == nil {
		t.Errorf("the directory %s was not removed", directory)
	}
	if err := syscall.Kill(pid, 0); err == nil {
		t.Errorf("process %d is still running", pid)
	}
}

func TestConnect(t *testing.T) {
	var name string
	db, _ := mariadbtest.Connect(t)
	if err := db.Get(&name, "SELECT DATABASE()"); err != nil || name == "" {
		t.Errorf("the database is %q, %v", name, err)
	}
}

func TestSplitStatements(t *testing.T) {
	got := testserver.SplitStatements("-- a; comment\nSELECT 1;\n  -- another;\nSELECT\n  2 /* within; */;\n\n;\n")
	want := []string{"SELECT 1", "SELECT\n  2 /* within; */"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
