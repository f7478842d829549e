package workerassign

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
	"github.com/jmoiron/sqlx"
)

// expectLook expects a look for the row of worker ID 7.
func expectLook(m sqlmock.Sqlmock, port driver.Value, now time.Time, readOnly string) {
	expectBegin(m)
	m.ExpectQuery(lookStatement("`WORKER_NODE`", 7)).WillReturnRows(sqlmock.NewRows([]string{"port", "now", "read_only"}).AddRow(port, now.UnixMilli(), readOnly))
}

// inVerifiedLease runs a test with a verified lease on the row of worker ID 7. It was inserted when the clock showed the present.
func inVerifiedLease(t *testing.T, test func(t *testing.T, d *Disposable, l *verifiedLease, m sqlmock.Sqlmock)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d, m := newMockDisposable(t, WithVerification(Verification{Horizon: time.Minute, Fencing: time.Second, Skew: time.Second}))
		test(t, d, newVerifiedLease(d, disposableLease{workerID: 7}, "token", time.Now()), m)
	})
}

// R6: a verified lease is granted up to the server's clock and the horizon, and looks only if more is requested. What it was
// granted remains, also if another server's clock is behind.
func TestR6VerifiedGrants(t *testing.T) {
	inVerifiedLease(t, func(t *testing.T, d *Disposable, l *verifiedLease, m sqlmock.Sqlmock) {
		begin := time.Now()
		want := func(until, granted time.Time) {
			t.Helper()
			if got, err := l.Reserve(t.Context(), until); err != nil || !got.Until.Equal(granted) {
				t.Errorf("Reserve(%v) = %v, %v; want %v", until, got.Until, err, granted)
			}
		}
		want(begin.Add(time.Minute), begin.Add(time.Minute)) // no look
		expectLook(m, "8080#token", begin.Add(time.Second), "0")
		expectRollback(m)
		want(begin.Add(time.Minute+1), begin.Add(61*time.Second))
		expectLook(m, "8080#token", begin.Add(-time.Hour), "OFF")
		expectRollback(m)
		want(begin.Add(time.Hour), begin.Add(61*time.Second))
		want(begin.Add(61*time.Second), begin.Add(61*time.Second))
		if n := d.db.(*sqlx.DB).Stats(); n.Idle != 1 || n.InUse != 1 {
			t.Errorf("%d connections are in use, and %d idle; want 1, which is kept, and 1", n.InUse, n.Idle)
		}
		if err := l.Release(t.Context(), time.Now()); err != nil {
			t.Error(err)
		}
		if got, err := l.Reserve(t.Context(), begin); !errors.Is(err, ErrReleased) {
			t.Errorf("Reserve() after Release() = %v, %v", got.Until, err)
		}
	})
}

// Invariant 1: a lease is lost if its row has another token, or is missing for almost a second: a node of a cluster may
// not have it yet. It remains lost.
func TestInvariant1VerifiedRowIsGone(t *testing.T) {
	for name, port := range map[string]driver.Value{"another token": "8080#other", "no mark": "8080token", "missing": nil} {
		inVerifiedLease(t, func(t *testing.T, d *Disposable, l *verifiedLease, m sqlmock.Sqlmock) {
			begin, looks := time.Now(), 1
			if port == nil {
				looks = 5
			}
			for range looks {
				expectLook(m, port, begin, "0")
				expectRollback(m)
			}
			for range 2 { // looks only the first time
				if got, err := l.Reserve(t.Context(), begin.Add(time.Hour)); !errors.Is(err, ErrLeaseLost) || !strings.Contains(err.Error(), "worker ID 7 in table WORKER_NODE") || !got.Until.IsZero() {
					t.Errorf("%s: Reserve() = %v, %v; want ErrLeaseLost", name, got.Until, err)
				}
			}
			if took := time.Since(begin); took != time.Duration(looks-1)*200*time.Millisecond {
				t.Errorf("%s: the lease was lost after %v", name, took)
			}
		})
	}
	inVerifiedLease(t, func(t *testing.T, d *Disposable, l *verifiedLease, m sqlmock.Sqlmock) {
		begin := time.Now()
		for range 4 {
			expectLook(m, nil, begin, "0")
			expectRollback(m)
		}
		expectLook(m, "8080#token", begin, "0")
		expectRollback(m)
		if got, err := l.Reserve(t.Context(), begin.Add(time.Hour)); err != nil || !got.Until.Equal(begin.Add(time.Minute)) {
			t.Errorf("Reserve() of a row that appears at the fifth look = %v, %v", got.Until, err)
		}
	})
	// If the context ends meanwhile, the lease is not lost.
	inVerifiedLease(t, func(t *testing.T, d *Disposable, l *verifiedLease, m sqlmock.Sqlmock) {
		begin := time.Now()
		expectLook(m, nil, begin, "0")
		expectRollback(m)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if got, err := l.Reserve(ctx, begin.Add(time.Hour)); err == nil || errors.Is(err, ErrLeaseLost) {
			t.Errorf("Reserve() = %v, %v; want an error that is not ErrLeaseLost", got.Until, err)
		}
		expectLook(m, "8080#token", begin, "0")
		expectRollback(m)
		if _, err := l.Reserve(t.Context(), begin.Add(time.Hour)); err != nil {
			t.Errorf("Reserve() with another context: %v", err)
		}
	})
}

// A server that is read-only or cannot answer grants nothing, and the lease is not lost. Its connection is not used again.
func TestVerifiedLookFails(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(m sqlmock.Sqlmock)
		want    string
		advice  bool
	}{
		"read-only":       {func(m sqlmock.Sqlmock) { expectLook(m, "8080#token", time.Now(), "1") }, "read-only", false},
		"read-only, text": {func(m sqlmock.Sqlmock) { expectLook(m, "8080#token", time.Now(), "ON") }, "read-only", false},
		"not yet begun":   {func(m sqlmock.Sqlmock) { m.ExpectExec("START TRANSACTION").WillReturnError(mysql.ErrInvalidConn) }, "invalid connection", false},
		"lost": {func(m sqlmock.Sqlmock) {
			expectBegin(m)
			m.ExpectQuery(lookStatement("`WORKER_NODE`", 7)).WillReturnError(mysql.ErrInvalidConn)
		}, "invalid connection", false},
		"denied": {func(m sqlmock.Sqlmock) {
			expectBegin(m)
			m.ExpectQuery(lookStatement("`WORKER_NODE`", 7)).WillReturnError(&mysql.MySQLError{Number: 1142, Message: "denied"})
		}, "denied", true},
	} {
		inVerifiedLease(t, func(t *testing.T, d *Disposable, l *verifiedLease, m sqlmock.Sqlmock) {
			begin := time.Now()
			c.prepare(m)
			got, err := l.Reserve(t.Context(), begin.Add(time.Hour))
			if err == nil || errors.Is(err, ErrLeaseLost) || !strings.Contains(err.Error(), "cannot look for the row of worker ID 7 in table WORKER_NODE") ||
				!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "grant the account SELECT") != c.advice || !got.Until.IsZero() {
				t.Errorf("%s: Reserve() = %v, %v; want an error with %q", name, got.Until, err, c.want)
			}
			if n := d.db.(*sqlx.DB).Stats().Idle; n != 0 {
				t.Errorf("%s: the connection is kept", name)
			}
			expectLook(m, "8080#token", begin.Add(time.Second), "0")
			expectRollback(m)
			if got, err := l.Reserve(t.Context(), begin.Add(time.Hour)); err != nil || !got.Until.Equal(begin.Add(61*time.Second)) {
				t.Errorf("%s: the next Reserve() = %v, %v", name, got.Until, err)
			}
		})
	}
	// A connection whose rollback fails is not used again, but the look counts.
	inVerifiedLease(t, func(t *testing.T, d *Disposable, l *verifiedLease, m sqlmock.Sqlmock) {
		begin := time.Now()
		expectLook(m, "8080#token", begin, "0")
		m.ExpectExec("ROLLBACK AND NO CHAIN NO RELEASE").WillReturnError(mysql.ErrInvalidConn)
		if got, err := l.Reserve(t.Context(), begin.Add(time.Hour)); err != nil || !got.Until.Equal(begin.Add(time.Minute)) {
			t.Errorf("Reserve() = %v, %v", got.Until, err)
		}
		if n := d.db.(*sqlx.DB).Stats().Idle; n != 0 {
			t.Error("the connection is kept")
		}
	})
}
