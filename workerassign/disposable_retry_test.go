package workerassign

import (
	"context"
	"database/sql"
	"database/sql/driver"
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
)

// The error of an Assign whose context ended says what was attempted, and how often.
func TestRetryError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, m := newMockDisposable(t, WithBackoff(time.Second, time.Second))
		fault := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		const expected = 20 // more than there will be
		for range expected {
			expectFailure(m, fault)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		begin := time.Now()
		l, err := d.Assign(ctx, Request{})
		var e *RetryError
		if l != nil || !errors.Is(err, ErrGaveUp) || !errors.As(err, &e) || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("Assign() = %v, %v; want a RetryError of both", l, err)
		}
		if took := time.Since(begin); took != 10*time.Second || e.Elapsed != took {
			t.Errorf("Assign took %v, the error says %v; want 10 s", took, e.Elapsed)
		}
		if e.Attempts < 10 || e.Attempts >= expected {
			t.Errorf("%d attempts in 10 s, with pauses of 0.5 to 1 s", e.Attempts)
		}
		want := fmt.Sprintf("workerassign: gave up: inserting a row into WORKER_NODE: %d attempts in 10s: context deadline exceeded; "+
			"the last attempt: dial tcp: connection refused; check host and port in the DSN, and that the server runs and listens there", e.Attempts)
		if err.Error() != want {
			t.Errorf("the error is %q,\nwant %q", err, want)
		}
		for range expected - e.Attempts { // consume the remaining expectations of the mock
			d.insertRowOnce()
		}
	})
}

// Assign returns when its context ends, before and during an attempt.
func TestAssignContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, m := newMockDisposable(t)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		l, err := d.Assign(ctx, Request{})
		if l != nil || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "0 attempts") {
			t.Errorf("Assign() of a cancelled context = %v, %v", l, err)
		}
		// The server does not answer, and the caller cancels the context.
		expectInsert(m).WillDelayFor(time.Hour).WillReturnResult(sqlmock.NewResult(1, 1))
		ctx, cancel = context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		begin := time.Now()
		if l, err = d.Assign(ctx, Request{}); l != nil || !errors.Is(err, context.Canceled) || !errors.Is(err, ErrGaveUp) {
			t.Errorf("Assign() = %v, %v", l, err)
		}
		if took := time.Since(begin); took != time.Second {
			t.Errorf("Assign took %v, want 1 s", took)
		}
	})
}

func TestTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// An attempt that hangs fails after the attempt timeout, and the next attempt succeeds.
		d, m := newMockDisposable(t, WithAttemptTimeout(2*time.Second))
		expectInsert(m).WillDelayFor(time.Hour).WillReturnResult(sqlmock.NewResult(1, 1))
		expectSuccess(m, 2)
		begin := time.Now()
		if l, err := d.Assign(context.Background(), Request{}); err != nil || l.WorkerID() != 2 {
			t.Errorf("Assign() = %v, %v", l, err)
		}
		if took := time.Since(begin); took < 2*time.Second || took > 3*time.Second {
			t.Errorf("Assign took %v, want 2 s and a pause", took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		// WithTimeout applies if the context has no deadline, and not otherwise.
		d, m := newMockDisposable(t, WithTimeout(time.Second))
		expectInsert(m).WillDelayFor(time.Hour).WillReturnResult(sqlmock.NewResult(1, 1))
		begin := time.Now()
		if l, err := d.Assign(context.Background(), Request{}); l != nil || !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("Assign() = %v, %v after %v", l, err, time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
		defer cancel()
		expectInsert(m).WillDelayFor(time.Hour).WillReturnResult(sqlmock.NewResult(1, 1))
		begin = time.Now()
		if l, err := d.Assign(ctx, Request{}); l != nil || !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 4*time.Second {
			t.Errorf("Assign() = %v, %v after %v", l, err, time.Since(begin))
		}
	})
}

// If it is not known whether a commit succeeded, another row is inserted. The key of the first row is
// not used, and its connection is not used again.
func TestAmbiguousCommit(t *testing.T) {
	for _, fault := range []error{mysql.ErrInvalidConn, driver.ErrBadConn, &mysql.MySQLError{Number: 2013}, &mysql.MySQLError{Number: 1053}} {
		synctest.Test(t, func(t *testing.T) {
			d, m := newMockDisposable(t)
			expectInsert(m).WillReturnResult(sqlmock.NewResult(5, 1))
			expectCommit(m).WillReturnError(fault)
			expectSuccess(m, 6)
			if l, err := d.Assign(context.Background(), Request{}); err != nil || l.WorkerID() != 6 {
				t.Errorf("after %v at the commit Assign() = %v, %v; want 6", fault, l, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // a commit that hangs fails after the attempt timeout
		d, m := newMockDisposable(t, WithAttemptTimeout(time.Second))
		expectInsert(m).WillReturnResult(sqlmock.NewResult(5, 1))
		expectCommit(m).WillDelayFor(time.Hour)
		expectSuccess(m, 6)
		begin := time.Now()
		if l, err := d.Assign(context.Background(), Request{}); err != nil || l.WorkerID() != 6 || time.Since(begin) > 2*time.Second {
			t.Errorf("after a commit that hangs Assign() = %v, %v after %v; want 6", l, err, time.Since(begin))
		}
	})
	synctest.Test(t, func(t *testing.T) { // the transaction is rolled back if the server refuses the commit
		d, m := newMockDisposable(t)
		expectInsert(m).WillReturnResult(sqlmock.NewResult(5, 1))
		expectCommit(m).WillReturnError(&mysql.MySQLError{Number: 1213})
		expectRollback(m)
		expectSuccess(m, 6)
		if l, err := d.Assign(context.Background(), Request{}); err != nil || l.WorkerID() != 6 {
			t.Errorf("after a commit that conflicts Assign() = %v, %v; want 6", l, err)
		}
	})
}

// A connection to a node that cannot write is discarded. If the pool has more such connections, they
// are discarded too, without a pause between the attempts.
func TestConnectionsToOtherNodesAreTried(t *testing.T) {
	for _, number := range []uint16{1047, 1290, 1792, 1836} {
		synctest.Test(t, func(t *testing.T) {
			d, m := newMockDisposable(t)
			pool := d.db.(*sqlx.DB)
			pool.SetMaxIdleConns(10)
			var conns []*sql.Conn
			for range 4 {
				conn, err := pool.Conn(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				conns = append(conns, conn)
			}
			for _, conn := range conns {
				conn.Close()
			}
			for range 4 {
				m.ExpectExec("START TRANSACTION").WillReturnError(&mysql.MySQLError{Number: number})
			}
			expectSuccess(m, 7)
			begin := time.Now()
			l, err := d.Assign(context.Background(), Request{})
			if err != nil || l.WorkerID() != 7 || time.Since(begin) > 200*time.Millisecond {
				t.Errorf("Assign() = %v, %v after %v; want 7 after at most one pause", l, err, time.Since(begin))
			}
			if s := pool.Stats(); s.Idle != 1 {
				t.Errorf("%d connections are idle, want 1, the last one", s.Idle)
			}
		})
	}
}

// If a server stays read-only, Assign tries until its context ends, and the error says what to do.
func TestReadOnlyServer(t *testing.T) {
	for _, number := range []uint16{1290, 1792, 1836} {
		synctest.Test(t, func(t *testing.T) {
			d, m := newMockDisposable(t, WithBackoff(time.Second, time.Second), WithTimeout(1200*time.Millisecond))
			for range 5 { // more than there will be
				expectFailure(m, &mysql.MySQLError{Number: number})
			}
			_, err := d.Assign(context.Background(), Request{})
			if !errors.Is(err, ErrGaveUp) || !strings.Contains(err.Error(), "point the DSN at the primary") || !strings.Contains(err.Error(), "rejectReadOnly=true") {
				t.Errorf("Assign() = %v", err)
			}
			for m.ExpectationsWereMet() != nil {
				d.insertRowOnce()
			}
		})
	}
}

// By default, an attempt may take longer than the failover of a cluster.
func TestDefaultAttemptTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, m := newMockDisposable(t)
		expectInsert(m).WillDelayFor(9 * time.Second).WillReturnResult(sqlmock.NewResult(1, 1))
		expectCommit(m)
		if l, err := d.Assign(context.Background(), Request{}); err != nil || l.WorkerID() != 1 {
			t.Errorf("Assign() = %v, %v; want the key of the first attempt", l, err)
		}
	})
}

// A host name that does not exist is a permanent error after a few consecutive attempts. Another error
// in between restarts the count.
func TestMissingHostName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, m := newMockDisposable(t)
		unknown := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "bd.example.com", IsNotFound: true}}
		for range 4 {
			expectFailure(m, unknown)
		}
		expectFailure(m, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED})
		for range maxHostNotFound {
			expectFailure(m, unknown)
		}
		begin := time.Now()
		l, err := d.Assign(context.Background(), Request{})
		if l != nil || !errors.Is(err, ErrPermanent) || !strings.Contains(err.Error(), "lookup bd.example.com: no such host; the host name does not exist: check the host in the DSN") {
			t.Errorf("Assign() = %v, %v", l, err)
		}
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("Assign took %v, want at most 20 s", took)
		}
	})
}

// If the server does not answer, the error says which phase waited, on which server, and what to
// check. It says so only once.
func TestAttemptTimeoutError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, m := newMockDisposable(t, WithAttemptTimeout(4*time.Second), WithTimeout(12*time.Second))
		d.cfg.server = "db:3306"
		for range 3 {
			expectInsert(m).WillDelayFor(time.Hour).WillReturnResult(sqlmock.NewResult(1, 1))
		}
		_, err := d.Assign(context.Background(), Request{})
		want := "workerassign: gave up: inserting a row into WORKER_NODE at db:3306: 3 attempts in 12s: context deadline exceeded; " +
			"the last attempt: no answer within 4s while waiting for the insert (" + sqlmock.ErrCancelled.Error() + "); " + sqlattempt.ReasonLocked.Advice(sqlattempt.Inserts)
		if err == nil || err.Error() != want {
			t.Errorf("Assign() = %v,\nwant %s", err, want)
		}
	})
	synctest.Test(t, func(t *testing.T) { // all connections are in use
		d, _ := newMockDisposable(t, WithTimeout(time.Second))
		d.db.(*sqlx.DB).SetMaxOpenConns(1) // the one that newMockDisposable keeps open
		_, err := d.Assign(context.Background(), Request{})
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer within 1s while waiting for a connection; all connections of the pool are in use") {
			t.Errorf("Assign() = %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) { // the error does not match the deadline of the attempt
		d, m := newMockDisposable(t, WithAttemptTimeout(time.Second))
		expectInsert(m).WillDelayFor(time.Hour).WillReturnResult(sqlmock.NewResult(1, 1))
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(1010*time.Millisecond, cancel)
		_, err := d.Assign(ctx, Request{})
		if !errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Assign() = %v; want only context.Canceled", err)
		}
	})
}
