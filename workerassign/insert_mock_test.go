package workerassign

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/sqlattempt"
	"github.com/ringuid/ringuid/internal/testkit/fakedb"
)

// refusedDB is a pool of a server that refuses connections. It always has some idle connections.
type refusedDB struct{ idle, calls int }

func (d *refusedDB) Stats() sql.DBStats { return sql.DBStats{Idle: d.idle} }
func (d *refusedDB) Conn(context.Context) (*sql.Conn, error) {
	d.calls++
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
}

// The idle connections of a pool are tried without a pause only once, however many it has later.
func TestIdleConnectionsAreTriedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &refusedDB{idle: 3}
		d := NewDisposable(db, withTestNode, quiet, WithBackoff(time.Minute, time.Minute), WithTimeout(time.Second))
		if _, err := d.Assign(t.Context(), Request{}); !errors.Is(err, ErrGaveUp) || db.calls != 1+3 {
			t.Errorf("Assign() = %v after %d calls without a pause; want 4, one for each idle connection and a new one", err, db.calls)
		}
		db.calls = 0
		d = NewDisposable(db, withTestNode, quiet, WithBackoff(time.Second, time.Second), WithTimeout(10*time.Second))
		if _, err := d.Assign(t.Context(), Request{}); !errors.Is(err, ErrGaveUp) || db.calls < 3+10 || db.calls > 3+21 {
			t.Errorf("Assign() = %v after %d calls in 10 s with pauses of 0.5 to 1 s", err, db.calls)
		}
	})
}

// A pool without a limit is not to blame if there is no connection; one that has reached its limit is.
func TestAdviceOfPoolWithoutLimit(t *testing.T) {
	for limit, want := range map[int]string{0: sqlattempt.ReasonNoAnswer.Advice(sqlattempt.Inserts), 5: sqlattempt.ReasonNoAnswer.Advice(sqlattempt.Slots)} {
		synctest.Test(t, func(t *testing.T) {
			db := sql.OpenDB(fakedb.Blocked{})
			defer db.Close()
			db.SetMaxOpenConns(limit)
			d := NewDisposable(db, withTestNode, quiet, WithTimeout(time.Second))
			if _, err := d.Assign(t.Context(), Request{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("with the limit %d Assign() = %v, want the advice %q", limit, err, want)
			}
		})
	}
}

// A connection is used again after its transaction was rolled back, and closed if that failed.
func TestConnectionAfterRollback(t *testing.T) {
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d, m := newMockDisposable(t)
			expectInsert(m).WillReturnResult(sqlmock.NewResult(0, 1))
			rollback, idle := m.ExpectExec(sqlattempt.RollbackMySQL), 1
			if fails {
				rollback.WillReturnError(mysql.ErrInvalidConn)
				idle = 0
			} else {
				rollback.WillReturnResult(sqlmock.NewResult(0, 0))
			}
			if _, err := d.Assign(t.Context(), Request{}); !errors.Is(err, ErrNoKey) {
				t.Errorf("Assign() = %v", err)
			}
			if n := d.db.(*sqlx.DB).Stats().Idle; n != idle {
				t.Errorf("%d connections are idle after a rollback that fails: %v; want %d", n, fails, idle)
			}
		})
	}
}

// newPrefixDisposable returns a Disposable on a mock of a server. An expected statement is the beginning of one.
func newPrefixDisposable(t *testing.T, driverName string, opts ...DisposableOption) (*Disposable, sqlmock.Sqlmock) {
	t.Helper()
	db, m, _ := fakedb.Mock(t, sqlmock.QueryMatcherFunc(func(expected, actual string) error {
		if !strings.HasPrefix(actual, expected) {
			return fmt.Errorf("the statement is %q, want %q", actual, expected)
		}
		return nil
	}))
	d := NewDisposable(sqlx.NewDb(db, driverName), append([]DisposableOption{withTestNode, quiet}, opts...)...)
	d.settingsChecked.Store(true)
	return d, m
}

// With WithVerification, an insert whose row cannot be looked for is rolled back. Only a missing privilege has the advice to
// grant it.
func TestVerificationOfInsert(t *testing.T) {
	for _, c := range []struct {
		name   string
		look   func(*sqlmock.ExpectedQuery)
		want   string
		target error
		again  bool
	}{
		{"denied", func(q *sqlmock.ExpectedQuery) { q.WillReturnError(&mysql.MySQLError{Number: 1142}) }, "grant the account SELECT on the columns ID and PORT", ErrPermanent, false},
		{"unknown", func(q *sqlmock.ExpectedQuery) { q.WillReturnError(&mysql.MySQLError{Number: 1064}) }, "correct the cause", ErrPermanent, false},
		{"missing", func(q *sqlmock.ExpectedQuery) {
			q.WillReturnRows(sqlmock.NewRows(make([]string, 3)).AddRow(nil, 1, "0"))
		}, "the row is gone", ErrNoKey, false},
		{"another", func(q *sqlmock.ExpectedQuery) {
			q.WillReturnRows(sqlmock.NewRows(make([]string, 3)).AddRow("8080#x", 1, "0"))
		}, "another token", ErrNoKey, false},
		{"read-only", func(q *sqlmock.ExpectedQuery) {
			q.WillReturnRows(sqlmock.NewRows(make([]string, 3)).AddRow("8080#x", 1, "1"))
		}, "", nil, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			d, m := newPrefixDisposable(t, "mysql", WithVerification(Verification{}), WithTimeout(time.Second), WithBackoff(time.Hour, time.Hour))
			m.ExpectExec("START TRANSACTION").WillReturnResult(sqlmock.NewResult(0, 0))
			m.ExpectExec("INSERT").WillReturnResult(sqlmock.NewResult(7, 1))
			c.look(m.ExpectQuery("SELECT (SELECT PORT"))
			if !c.again {
				m.ExpectExec("ROLLBACK").WillReturnResult(sqlmock.NewResult(0, 0))
			}
			l, err := d.Assign(t.Context(), Request{})
			if c.again {
				if l != nil || !errors.Is(err, ErrGaveUp) || !strings.Contains(err.Error(), "the server is read-only") {
					t.Errorf("%s: Assign() = %v, %v; want a retry", c.name, l, err)
				}
				return
			}
			if l != nil || !errors.Is(err, c.target) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "grant the account SELECT") != (c.name == "denied") {
				t.Errorf("%s: Assign() = %v, %v; want %q", c.name, l, err, c.want)
			}
		})
	}
}
