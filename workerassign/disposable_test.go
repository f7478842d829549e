package workerassign

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"
)

var testNode = Node{HostName: "host-1", Port: "8080", Type: Actual}

// mock returns an assigner on a mock of a database, to be used in a synctest bubble. It logs
// nothing, and does not look at the server's settings.
func newMockDisposable(t *testing.T, opts ...DisposableOption) (*Disposable, sqlmock.Sqlmock) {
	t.Helper()
	db, m, err := sqlmock.New(sqlmock.QueryMatcherOption(sqlmock.QueryMatcherEqual))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := db.Conn(context.Background()) // without any connection the mock ends
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.ExpectationsWereMet(); err != nil {
			t.Error(err)
		}
		m.ExpectClose()
		kept.Close()
		db.Close()
	})
	d := NewDisposable(sqlx.NewDb(db, "mysql"), append([]DisposableOption{WithNode(testNode), WithLogger(slog.New(slog.DiscardHandler))}, opts...)...)
	d.settingsChecked.Store(true)
	return d, m
}

// statement is the insert, to the letter: the original's columns and no others.
const insertSQL = "INSERT INTO `WORKER_NODE` (HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED)" +
	" VALUES (?, ?, ?, CURRENT_DATE, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)"

func expectBegin(m sqlmock.Sqlmock) {
	m.ExpectExec("START TRANSACTION").WillReturnResult(sqlmock.NewResult(0, 0))
}

func expectCommit(m sqlmock.Sqlmock) *sqlmock.ExpectedExec {
	return m.ExpectExec(commitStatement).WillReturnResult(sqlmock.NewResult(0, 0))
}

func expectRollback(m sqlmock.Sqlmock) {
	m.ExpectExec(rollbackStatement).WillReturnResult(sqlmock.NewResult(0, 0))
}

// expect expects a transaction up to its insert.
func expectInsert(m sqlmock.Sqlmock) *sqlmock.ExpectedExec {
	expectBegin(m)
	return m.ExpectExec(insertSQL).WithArgs("host-1", "8080", 2)
}

// expectKey expects a transaction that succeeds.
func expectSuccess(m sqlmock.Sqlmock, key int64) {
	expectInsert(m).WillReturnResult(sqlmock.NewResult(key, 1))
	expectCommit(m)
}

// expectFailure expects a transaction whose insert fails. It is rolled back unless the connection
// is dropped.
func expectFailure(m sqlmock.Sqlmock, err error) {
	expectInsert(m).WillReturnError(err)
	if server := (*mysql.MySQLError)(nil); errors.As(err, &server) && classify(err).action != actionReconnect {
		expectRollback(m)
	}
}

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
			if l.WorkerID() != key || !l.NotBefore().IsZero() || !granted.Equal(Unbounded()) || err != nil || l.Release(context.Background(), time.Time{}) != nil {
				t.Errorf("the lease is %v from %v to %v, %v; want %d without bounds", l.WorkerID(), l.NotBefore(), granted, err, key)
			}
		}
	})
}

// D14: a key that the driver did not return becomes worker ID 0 everywhere. Here it is an
// error, which another insert would not fix.
func TestD14NoKey(t *testing.T) {
	for name, result := range map[string]driver.Result{
		"zero":     sqlmock.NewResult(0, 1),
		"negative": sqlmock.NewResult(-5, 1),
		"none":     sqlmock.NewErrorResult(errors.New("LastInsertId is not supported")),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, m := newMockDisposable(t)
				expectInsert(m).WillReturnResult(result) // once
				expectRollback(m)
				l, err := d.Assign(context.Background(), Request{})
				if l != nil || !errors.Is(err, ErrNoKey) || !errors.Is(err, ErrPermanent) || !strings.Contains(err.Error(), "table WORKER_NODE") {
					t.Errorf("Assign() = %v, %v; want ErrNoKey with the table", l, err)
				}
				if name == "negative" && !strings.Contains(err.Error(), "it is -5, must be at least 1") {
					t.Errorf("the error does not name the key and the bound: %v", err)
				}
			})
		})
	}
}

func TestGivingUpSaysWhatWasTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, m := newMockDisposable(t, WithBackoff(time.Second, time.Second))
		fault := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		const enough = 20
		for range enough {
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
			t.Errorf("it took %v, the error says %v; want 10 s", took, e.Elapsed)
		}
		if e.Attempts < 10 || e.Attempts >= enough {
			t.Errorf("%d tries in 10 s with a pause of half a second to one", e.Attempts)
		}
		want := fmt.Sprintf("workerassign: gave up: inserting a row into WORKER_NODE: tried %d times in 10s: context deadline exceeded; "+
			"the last try: dial tcp: connection refused; check host and port in the DSN, and that the server runs and listens there", e.Attempts)
		if err.Error() != want {
			t.Errorf("the error is %q,\nwant %q", err, want)
		}
		for range enough - e.Attempts { // what was expected too much
			d.insertRowOnce()
		}
	})
}

// transactOnce is a try without anything around it.
func (d *Disposable) insertRowOnce() {
	conn, err := d.db.Conn(context.Background())
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	(&assignment{d: d, node: testNode}).insertRow(context.Background(), time.Now(), conn, 0)
}

func TestAssignEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, m := newMockDisposable(t)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		l, err := d.Assign(ctx, Request{})
		if l != nil || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "tried 0 times") {
			t.Errorf("Assign() of a cancelled context = %v, %v", l, err)
		}
		// The server does not answer; the caller goes.
		expectInsert(m).WillDelayFor(time.Hour).WillReturnResult(sqlmock.NewResult(1, 1))
		ctx, cancel = context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		begin := time.Now()
		if l, err = d.Assign(ctx, Request{}); l != nil || !errors.Is(err, context.Canceled) || !errors.Is(err, ErrGaveUp) {
			t.Errorf("Assign() = %v, %v", l, err)
		}
		if took := time.Since(begin); took != time.Second {
			t.Errorf("it took %v, want a second", took)
		}
	})
}

func TestTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// One try that hangs is given up for another one.
		d, m := newMockDisposable(t, WithAttemptTimeout(2*time.Second))
		expectInsert(m).WillDelayFor(time.Hour).WillReturnResult(sqlmock.NewResult(1, 1))
		expectSuccess(m, 2)
		begin := time.Now()
		if l, err := d.Assign(context.Background(), Request{}); err != nil || l.WorkerID() != 2 {
			t.Errorf("Assign() = %v, %v", l, err)
		}
		if took := time.Since(begin); took < 2*time.Second || took > 3*time.Second {
			t.Errorf("it took %v, want 2 s and a pause", took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		// Without a deadline the timeout holds; with one it does not.
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

// D11: what cannot be used is refused by name, before anything is inserted.
func TestD11DisposableOptions(t *testing.T) {
	for _, tt := range []struct {
		option DisposableOption
		want   string
	}{
		{nil, "an option is nil"},
		{WithTable(""), `table name "" has an empty part`},
		{WithTable("a.b.c"), `table name "a.b.c" has more than one dot`},
		{WithNode(Node{Port: "1", Type: Actual}), "host name is empty"},
		{WithNode(Node{HostName: "h", Type: Actual}), "port is empty"},
		{WithNode(Node{HostName: "h", Port: "1"}), "type is 0, 1 (container) to 3 (fake)"},
		{WithTimeout(0), "timeout is 0s"},
		{WithTimeout(-time.Second), "timeout is -1s"},
		{WithAttemptTimeout(0), "attempt timeout is 0s"},
		{WithBackoff(0, time.Second), "backoff from 0s to 1s"},
		{WithBackoff(time.Second, time.Millisecond), "backoff from 1s to 1ms"},
		{WithLogger(nil), "the logger is nil"},
		{WithMinWorkerID(0), "the least worker ID is 0, must be at least 1"},
		{WithHighWaterFile(""), "the path of the high-water file is empty"},
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

// A Disposable that NewDisposable has not made says so.
func TestZeroDisposable(t *testing.T) {
	for name, d := range map[string]*Disposable{"nil": nil, "zero": new(Disposable)} {
		if l, err := d.Assign(context.Background(), Request{}); l != nil || !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), "NewDisposable") {
			t.Errorf("Assign() of the %s Disposable = %v, %v", name, l, err)
		}
	}
}

// Both kinds of pool will do.
func TestEitherPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, m := newMockDisposable(t)
		expectSuccess(m, 7)
		d.db = d.db.(*sqlx.DB).DB
		if l, err := d.Assign(context.Background(), Request{}); err != nil || l.WorkerID() != 7 {
			t.Errorf("Assign() on a *sql.DB = %v, %v", l, err)
		}
	})
}

// Where it is not known whether the commit was made, another row is inserted, and the
// first one's key is not used; the connection is not used again.
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
	synctest.Test(t, func(t *testing.T) { // a commit that hangs ends with its try
		d, m := newMockDisposable(t, WithAttemptTimeout(time.Second))
		expectInsert(m).WillReturnResult(sqlmock.NewResult(5, 1))
		expectCommit(m).WillDelayFor(time.Hour)
		expectSuccess(m, 6)
		begin := time.Now()
		if l, err := d.Assign(context.Background(), Request{}); err != nil || l.WorkerID() != 6 || time.Since(begin) > 2*time.Second {
			t.Errorf("after a commit that hangs Assign() = %v, %v after %v; want 6", l, err, time.Since(begin))
		}
	})
	synctest.Test(t, func(t *testing.T) { // a commit that the server refuses is rolled back
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

// A connection to a node that cannot write is dropped, and where the pool has more of
// them, so are these, without a pause between.
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
				t.Errorf("Assign() = %v, %v after %v; want 7 after a pause at most", l, err, time.Since(begin))
			}
			if s := pool.Stats(); s.Idle != 1 {
				t.Errorf("%d connections are idle, want the last one", s.Idle)
			}
		})
	}
}

// A server that stays read-only is waited for, and the error at the end says what to do.
func TestReadOnlyServer(t *testing.T) {
	for _, number := range []uint16{1290, 1792, 1836} {
		synctest.Test(t, func(t *testing.T) {
			d, m := newMockDisposable(t, WithBackoff(time.Second, time.Second), WithTimeout(1200*time.Millisecond))
			for range 5 { // more than there are
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

// One try takes longer than a failover of a cluster.
func TestAttemptTimeoutByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, m := newMockDisposable(t)
		expectInsert(m).WillDelayFor(9 * time.Second).WillReturnResult(sqlmock.NewResult(1, 1))
		expectCommit(m)
		if l, err := d.Assign(context.Background(), Request{}); err != nil || l.WorkerID() != 1 {
			t.Errorf("Assign() = %v, %v; want the key of the first try", l, err)
		}
	})
}

// A key below the least one is rolled back, and not used.
func TestMinWorkerID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, m := newMockDisposable(t, WithMinWorkerID(1000))
		expectInsert(m).WillReturnResult(sqlmock.NewResult(999, 1))
		expectRollback(m)
		l, err := d.Assign(context.Background(), Request{})
		if l != nil || !errors.Is(err, ErrTooLow) || errors.Is(err, ErrWidth) || !strings.Contains(err.Error(), "it is 999, must be at least 1000") ||
			!strings.Contains(err.Error(), "as schema.sql describes") {
			t.Errorf("Assign() = %v, %v; want ErrTooLow", l, err)
		}
		expectSuccess(m, 1000)
		if l, err := d.Assign(context.Background(), Request{}); err != nil || l.WorkerID() != 1000 {
			t.Errorf("Assign() = %v, %v; want 1000", l, err)
		}
	})
}

// A host name that does not exist fails after a few tries, as long as it is nothing else
// that fails.
func TestHostNameThatDoesNotExist(t *testing.T) {
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
			t.Errorf("it took %v", took)
		}
	})
}

// What is waited for, where, and what to check; once.
func TestNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, m := newMockDisposable(t, WithAttemptTimeout(4*time.Second), WithTimeout(12*time.Second))
		d.server = "db:3306"
		for range 3 {
			expectInsert(m).WillDelayFor(time.Hour).WillReturnResult(sqlmock.NewResult(1, 1))
		}
		_, err := d.Assign(context.Background(), Request{})
		want := "workerassign: gave up: inserting a row into WORKER_NODE at db:3306: tried 3 times in 12s: context deadline exceeded; " +
			"the last try: no answer within 4s while waiting for the insert (" + sqlmock.ErrCancelled.Error() + "); " + adviceLocked
		if err == nil || err.Error() != want {
			t.Errorf("Assign() = %v,\nwant %s", err, want)
		}
	})
	synctest.Test(t, func(t *testing.T) { // all connections are in use
		d, _ := newMockDisposable(t, WithTimeout(time.Second))
		d.db.(*sqlx.DB).SetMaxOpenConns(1) // the one that is kept
		_, err := d.Assign(context.Background(), Request{})
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer within 1s while waiting for a connection; all connections of the pool are in use") {
			t.Errorf("Assign() = %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) { // the deadline of a try is none of the caller's
		d, m := newMockDisposable(t, WithAttemptTimeout(time.Second))
		expectInsert(m).WillDelayFor(time.Hour).WillReturnResult(sqlmock.NewResult(1, 1))
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(1010*time.Millisecond, cancel)
		_, err := d.Assign(ctx, Request{})
		if !errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Assign() = %v; want Canceled alone", err)
		}
	})
}

// A panic of the driver, or of what it calls, is an error.
func TestPanicOfTheDriver(t *testing.T) {
	db := sql.OpenDB(panickingConnector{})
	defer db.Close()
	l, err := NewDisposable(db, WithLogger(slog.New(slog.DiscardHandler))).Assign(context.Background(), Request{})
	if l != nil || !errors.Is(err, ErrPermanent) || !strings.Contains(err.Error(), "panicked: the dialer's") {
		t.Errorf("Assign() = %v, %v", l, err)
	}
}

type panickingConnector struct{}

func (panickingConnector) Connect(context.Context) (driver.Conn, error) { panic("the dialer's") }
func (panickingConnector) Driver() driver.Driver                        { return new(mysql.MySQLDriver) }
