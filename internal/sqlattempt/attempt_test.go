package sqlattempt

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/go-sql-driver/mysql"

	"github.com/ringuid/ringuid/internal/testkit/fakedb"
)

// inRunner calls f with a runner on a mock of a database, in a synctest bubble.
func inRunner(t *testing.T, f func(t *testing.T, r *Runner, m sqlmock.Sqlmock, idle func() int)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		db, m, _ := fakedb.Mock(t, sqlmock.QueryMatcherEqual)
		f(t, &Runner{DB: db, Timeout: time.Second}, m, func() int { return db.Stats().Idle })
	})
}

// After an attempt that has failed, its connection has no open transaction: that is rolled back, or the connection is closed, if it
// should not be used again or the rollback fails.
func TestAttemptEnds(t *testing.T) {
	var (
		denied   = &mysql.MySQLError{Number: 1142}
		readOnly = &mysql.MySQLError{Number: 1290}
		deadlock = &mysql.MySQLError{Number: 1213}
		again    = Found(errors.New("found"), "")
	)
	again.Action = Reconnect
	for name, tt := range map[string]struct {
		err       error
		closed    bool    // without a ROLLBACK
		rollbacks []error // the replies to each ROLLBACK
		idle      int
	}{
		"an error of the server":          {denied, false, []error{nil}, 1},
		"found by the package":            {Found(errors.New("found"), ReasonKey), false, []error{nil}, 1},
		"a conflict before the rollback":  {denied, false, []error{deadlock, nil}, 1},
		"the rollback fails":              {denied, false, []error{mysql.ErrInvalidConn}, 0},
		"the rollback fails twice":        {denied, false, []error{deadlock, deadlock}, 0},
		"another server":                  {readOnly, true, nil, 0},
		"found, and another server":       {again, true, nil, 0},
		"an unknown error":                {errors.New("unknown"), true, nil, 0},
		"a connection that does not work": {mysql.ErrInvalidConn, true, nil, 0},
	} {
		for _, open := range []bool{true, false} {
			inRunner(t, func(t *testing.T, r *Runner, m sqlmock.Sqlmock, idle func() int) {
				if open {
					for _, reply := range tt.rollbacks {
						expected := m.ExpectExec(RollbackMySQL)
						if reply != nil {
							expected.WillReturnError(reply)
						} else {
							expected.WillReturnResult(sqlmock.NewResult(0, 0))
						}
					}
				}
				failed := r.Run(t.Context(), func(_ context.Context, a *Attempt) error {
					a.Dialect, a.Open = Dialect{Kind: MySQL}, open
					return tt.err
				})
				want := tt.idle
				if !open && !tt.closed {
					want = 1
				}
				if failed == nil || !errors.Is(failed, tt.err) || idle() != want {
					t.Errorf("%s, open: %t: Run() = %v, and %d connections are idle; want %v and %d", name, open, failed, idle(), tt.err, want)
				}
			})
		}
	}
}

// Nothing was written for certain before a statement was sent that may write, if the server has refused it, or if the driver has not
// sent it.
func TestAttemptUnwritten(t *testing.T) {
	for _, tt := range []struct {
		kind                  Kind
		unsure                bool
		err                   error
		unwritten, rolledBack bool
	}{
		{MySQL, false, mysql.ErrInvalidConn, true, false},
		{MySQL, true, mysql.ErrInvalidConn, false, false},
		{MySQL, true, &mysql.MySQLError{Number: 1290}, true, false},
		{MySQL, true, &mysql.MySQLError{Number: 1213}, false, true},
		{MySQL, true, driver.ErrBadConn, true, false},
		{Postgres, true, driver.ErrBadConn, false, false},
		{Unknown, true, driver.ErrBadConn, false, false},
		{Postgres, true, stateTestError("25006"), true, false},
		{Postgres, true, stateTestError("40001"), false, true},
	} {
		inRunner(t, func(t *testing.T, r *Runner, _ sqlmock.Sqlmock, _ func() int) {
			a := &Attempt{runner: r, Dialect: Dialect{Kind: tt.kind}, Unsure: tt.unsure}
			a.Wait("a statement")
			if f := a.Failure(t.Context(), tt.err); f.Unwritten != tt.unwritten || f.RolledBack != tt.rolledBack || f.Waiting != "a statement" {
				t.Errorf("%v: unwritten %t, rolled back %t; want %t, %t", tt.err, f.Unwritten, f.RolledBack, tt.unwritten, tt.rolledBack)
			}
		})
	}
}

// An attempt that ends by its timeout says what it has waited for, and nothing is certain.
func TestAttemptTimeout(t *testing.T) {
	for _, mayWait := range []bool{false, true} {
		inRunner(t, func(t *testing.T, r *Runner, m sqlmock.Sqlmock, idle func() int) {
			var slow []string
			r.SlowAfter, r.Slow = time.Second/2, func(waiting string) { slow = append(slow, waiting) }
			m.ExpectExec("x").WillDelayFor(time.Hour).WillReturnResult(sqlmock.NewResult(0, 0))
			failed := r.Run(t.Context(), func(ctx context.Context, a *Attempt) error {
				a.Dialect, a.MayWait = Dialect{Kind: Postgres}, mayWait
				_, err := a.Exec(ctx, "the statement", "x")
				return err
			})
			want := ReasonNoAnswer
			if mayWait {
				want = ReasonLockedPostgres
			}
			if failed == nil || failed.Action != Reconnect || failed.Reason != want || failed.Unwritten || errors.Is(failed, context.DeadlineExceeded) ||
				!strings.Contains(failed.Error(), "no answer within 1s while waiting for the statement") || idle() != 0 {
				t.Errorf("Run() = %+v, and %d connections are idle", failed, idle())
			}
			synctest.Wait()
			if len(slow) != 1 || slow[0] != "the statement" {
				t.Errorf("Slow was called with %q", slow)
			}
		})
	}
	inRunner(t, func(t *testing.T, r *Runner, _ sqlmock.Sqlmock, _ func() int) {
		r.DB.(interface{ SetMaxOpenConns(int) }).SetMaxOpenConns(1) // the one that is kept
		if failed := r.Run(t.Context(), nil); failed == nil || failed.Reason != ReasonPool || failed.Waiting != "a connection" {
			t.Errorf("Run() = %+v", failed)
		}
	})
}

// The family follows from the version. A transaction of TiDB is pessimistic.
func TestDialects(t *testing.T) {
	for version, want := range map[string]struct {
		kind    Kind
		begin   string
		mariaDB bool
	}{
		"10.11.6-MariaDB-log":    {MySQL, "START TRANSACTION", true},
		"8.0.36":                 {MySQL, "START TRANSACTION", false},
		"8.0.11-TiDB-v7.5.0":     {MySQL, "BEGIN PESSIMISTIC", false},
		"PostgreSQL 15.5 on x86": {Postgres, "START TRANSACTION ISOLATION LEVEL READ COMMITTED", false},
		"CockroachDB CCL v23.1":  {Postgres, "START TRANSACTION ISOLATION LEVEL READ COMMITTED", false},
	} {
		db, m, err := sqlmock.New()
		if err != nil {
			t.Fatal(err)
		}
		m.ExpectQuery("SELECT VERSION").WillReturnRows(sqlmock.NewRows([]string{"v"}).AddRow(version))
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		d, err := Detect(t.Context(), conn)
		if err != nil || d.Kind != want.kind || d.Begin() != want.begin || d.IsMariaDB() != want.mariaDB {
			t.Errorf("%s: %+v, %v; begins with %s", version, d, err, d.Begin())
		}
	}
}
