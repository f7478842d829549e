package workerassign

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/testkit/fakedb"
)

func TestAssignUsesTheGeneratedKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, m := newMockDisposable(t)
		for _, key := range []int64{1, 2, 1 << 40} {
			expectSuccess(m, key)
			l, err := d.Assign(context.Background(), Request{})
			if err != nil {
				t.Fatal(err)
			}
			granted, err := l.Reserve(context.Background(), time.Now())
			if l.WorkerID() != key || !l.NotBefore().IsZero() || !granted.Until.Equal(Unbounded()) || err != nil || l.Release(context.Background(), time.Time{}) != nil {
				t.Errorf("the lease has worker ID %v and is from %v to %v, %v; want %d, unbounded", l.WorkerID(), l.NotBefore(), granted.Until, err, key)
			}
		}
	})
}

// D14: in the original, a missing key becomes worker ID 0 on every host. Here it is a permanent error.
func TestD14NoKey(t *testing.T) {
	for name, result := range map[string]driver.Result{
		"zero":     sqlmock.NewResult(0, 1),
		"negative": sqlmock.NewResult(-5, 1),
		"none":     sqlmock.NewErrorResult(errors.New("LastInsertId is not supported")),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, m := newMockDisposable(t)
				expectInsert(m).WillReturnResult(result) // exactly once
				expectRollback(m)
				l, err := d.Assign(context.Background(), Request{})
				if l != nil || !errors.Is(err, ErrNoKey) || !errors.Is(err, ErrPermanent) || !strings.Contains(err.Error(), "table WORKER_NODE") {
					t.Errorf("Assign() = %v, %v; want ErrNoKey with the table", l, err)
				}
				if name == "negative" && !strings.Contains(err.Error(), "the key is -5; must be at least 1") {
					t.Errorf("the error does not name the key and the bound: %v", err)
				}
			})
		})
	}
}

// D11: an invalid option is an error that names it, before a row is inserted.
func TestD11DisposableOptions(t *testing.T) {
	for _, tt := range []struct {
		option DisposableOption
		want   string
	}{
		{nil, "an option is nil"},
		{WithTable(""), `table name "" has an empty part`},
		{WithTable("a.b.c"), `table name "a.b.c" has more than one dot`},
		{WithNode("", "1"), `the node's host name is "", and its port is "1"; must not be empty`},
		{WithNode("h", ""), `the node's host name is "h", and its port is ""; must not be empty`},
		{WithTimeout(0), "timeout is 0s; must be greater than 0"},
		{WithTimeout(-time.Second), "timeout is -1s; must be greater than 0"},
		{WithAttemptTimeout(0), "attempt timeout is 0s; must be greater than 0"},
		{WithBackoff(0, time.Second), "backoff is 0s to 1s; the first must be greater than 0"},
		{WithBackoff(time.Second, time.Millisecond), "backoff is 1s to 1ms; the first must be greater than 0, and the second at least the first"},
		{WithLogger(nil), "the logger is nil"},
		{WithMinWorkerID(0), "minimum worker ID is 0; must be at least 1"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, _ := newMockDisposable(t, tt.option)
				l, err := d.Assign(context.Background(), Request{})
				if l != nil || !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("Assign() = %v, %v; want ErrOption with %q", l, err, tt.want)
				}
			})
		})
	}
	for name, db := range map[string]DB{
		"nil": nil, "a nil *sql.DB": (*sql.DB)(nil), "a nil *sqlx.DB": (*sqlx.DB)(nil), "a *sqlx.DB of nothing": new(sqlx.DB),
	} {
		if _, err := NewDisposable(db).Assign(context.Background(), Request{}); !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), "the database is nil") {
			t.Errorf("Assign() with %s = %v", name, err)
		}
	}
}

// The least and the greatest values of options are accepted.
func TestDisposableOptionBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, m := newMockDisposable(t, WithMinWorkerID(1), WithTimeout(1), WithAttemptTimeout(1), WithBackoff(1, 1))
		expectSuccess(m, 1)
		if l, err := d.Assign(t.Context(), Request{}); err != nil || l.WorkerID() != 1 {
			t.Errorf("Assign() = %v, %v; want 1", l, err)
		}
	})
	db := sql.OpenDB(&fakedb.Server{})
	defer db.Close()
	const year = 365 * 24 * time.Hour
	if err := NewDisposable(db, WithVerification(Verification{Horizon: year, Fencing: year, Skew: year})).cfg.err; err != nil {
		t.Error(err)
	}
}

// A Disposable that was not created by NewDisposable returns an error.
func TestZeroDisposable(t *testing.T) {
	for name, d := range map[string]*Disposable{"nil": nil, "zero": new(Disposable)} {
		if l, err := d.Assign(context.Background(), Request{}); l != nil || !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), "NewDisposable") {
			t.Errorf("Assign() of the %s Disposable = %v, %v", name, l, err)
		}
	}
}

// A Disposable works with *sql.DB too. The other tests use *sqlx.DB.
func TestSQLPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, m := newMockDisposable(t)
		expectSuccess(m, 7)
		d.db = d.db.(*sqlx.DB).DB
		if l, err := d.Assign(context.Background(), Request{}); err != nil || l.WorkerID() != 7 {
			t.Errorf("Assign() on a *sql.DB = %v, %v", l, err)
		}
	})
}

// A key below the minimum is rolled back and not used.
func TestMinWorkerID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, m := newMockDisposable(t, WithMinWorkerID(1000))
		expectInsert(m).WillReturnResult(sqlmock.NewResult(999, 1))
		expectRollback(m)
		l, err := d.Assign(context.Background(), Request{})
		if l != nil || !errors.Is(err, ErrTooLow) || errors.Is(err, ErrWidth) || !strings.Contains(err.Error(), "the key is 999; must be at least 1000") ||
			!strings.Contains(err.Error(), "as described in schema.sql") {
			t.Errorf("Assign() = %v, %v; want ErrTooLow", l, err)
		}
		expectSuccess(m, 1000)
		if l, err := d.Assign(context.Background(), Request{}); err != nil || l.WorkerID() != 1000 {
			t.Errorf("Assign() = %v, %v; want 1000", l, err)
		}
	})
}
