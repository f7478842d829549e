package postgrestest_test

import (
	"context"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
)

// A killed server keeps what it has committed. A paused server does not answer until it is resumed.
func TestKillPauseAndRestart(t *testing.T) {
	s := postgrestest.Start(t)
	name, db := s.Database()
	db.MustExec("CREATE TABLE t (n int)")
	for n := 1; n <= 3; n++ {
		db.MustExec("INSERT INTO t VALUES ($1)", n)
		s.Kill()
		if db.Ping() == nil {
			t.Error("a killed server answers")
		}
		s.Restart()
		var rows int
		if err := postgrestest.Open(t, s.DSN("postgres", "", name)).Get(&rows, "SELECT count(*) FROM t"); err != nil || rows != n {
			t.Errorf("%d rows, %v; want %d", rows, err, n)
		}
	}
	db = postgrestest.Open(t, s.DSN("postgres", "", name))
	if err := db.Ping(); err != nil {
		t.Fatal(err)
	}
	s.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := db.ExecContext(ctx, "SELECT 1"); err == nil {
		t.Error("a paused server answers")
	}
	s.Resume()
	if err := db.Ping(); err != nil {
		t.Errorf("a resumed server does not answer: %v", err)
	}
}

// A standby has the rows of its primary, except those that were inserted after Disconnect, and accepts
// writes after Promote.
func TestStandby(t *testing.T) {
	primary := postgrestest.Start(t)
	name, db := primary.Database()
	db.MustExec("CREATE TABLE t (n int)")
	standby := primary.Standby()
	db.MustExec("INSERT INTO t VALUES (1)")
	standby.WaitReceived(primary)
	standby.Disconnect()
	db.MustExec("INSERT INTO t VALUES (2)")
	other := postgrestest.Open(t, standby.DSN("postgres", "", name))
	if _, err := other.Exec("INSERT INTO t VALUES (3)"); err == nil {
		t.Error("a standby accepts writes")
	}
	primary.Kill()
	standby.Promote()
	other.MustExec("INSERT INTO t VALUES (4)")
	var sum int
	if err := other.Get(&sum, "SELECT sum(n) FROM t"); err != nil || sum != 5 {
		t.Errorf("the sum is %d, %v; want 5", sum, err)
	}
}
