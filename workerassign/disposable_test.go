package workerassign

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
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

// mock returns an assigner on a mock of a database, to be used in a synctest bubble.
func mock(t *testing.T, opts ...DisposableOption) (*Disposable, sqlmock.Sqlmock) {
	t.Helper()
	db, m, err := sqlmock.New(sqlmock.QueryMatcherOption(sqlmock.QueryMatcherEqual))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.ExpectationsWereMet(); err != nil {
			t.Error(err)
		}
		m.ExpectClose()
		db.Close()
	})
	return NewDisposable(sqlx.NewDb(db, "mysql"), append([]DisposableOption{WithNode(testNode)}, opts...)...), m
}

// statement is the insert, to the letter: the original's columns and no others.
const statement = "INSERT INTO `WORKER_NODE` (HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED)" +
	" VALUES (?, ?, ?, CURRENT_DATE, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)"

func expect(m sqlmock.Sqlmock) *sqlmock.ExpectedExec {
	return m.ExpectExec(statement).WithArgs("host-1", "8080", 2)
}

func TestAssignUsesTheGeneratedKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, m := mock(t)
		for _, key := range []int64{1, 2, 1 << 40} {
			expect(m).WillReturnResult(sqlmock.NewResult(key, 1))
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
// error, which another insert would not mend.
func TestD14NoKey(t *testing.T) {
	for name, result := range map[string]driver.Result{
		"zero":     sqlmock.NewResult(0, 1),
		"negative": sqlmock.NewResult(-5, 1),
		"none":     sqlmock.NewErrorResult(errors.New("LastInsertId is not supported")),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, m := mock(t)
				expect(m).WillReturnResult(result) // once
				l, err := d.Assign(context.Background(), Request{})
				if l != nil || !errors.Is(err, ErrNoKey) || !errors.Is(err, ErrPermanent) || !strings.Contains(err.Error(), "table WORKER_NODE") {
					t.Errorf("Assign() = %v, %v; want ErrNoKey with the table", l, err)
				}
				if name == "negative" && !strings.Contains(err.Error(), "it is -5, at least 1") {
					t.Errorf("the error does not name the key and the bound: %v", err)
				}
			})
		})
	}
}

// What may pass is tried again, and then there is a lease.
func TestTransientFaultsAreTriedAgain(t *testing.T) {
	faults := []error{
		mysql.ErrInvalidConn, mysql.ErrMalformPkt, mysql.ErrPktSync, mysql.ErrBusyBuffer,
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, context.DeadlineExceeded, os.ErrDeadlineExceeded,
		syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE,
		&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED},
		&net.OpError{Op: "dial", Net: "unix", Err: syscall.ENOENT},
		&net.DNSError{Err: "no such host", Name: "db", IsNotFound: true},
		fmt.Errorf("wrapped: %w", mysql.ErrInvalidConn),
	}
	for _, number := range transientNumbers() {
		faults = append(faults, &mysql.MySQLError{Number: number, Message: "transient"})
	}
	for _, fault := range faults {
		t.Run(fault.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				d, m := mock(t, WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
				expect(m).WillReturnError(fault)
				expect(m).WillReturnError(fault)
				expect(m).WillReturnResult(sqlmock.NewResult(7, 1))
				l, err := d.Assign(context.Background(), Request{})
				if err != nil || l.WorkerID() != 7 {
					t.Fatalf("Assign() = %v, %v", l, err)
				}
				if n := strings.Count(log.String(), "trying again"); n != 2 {
					t.Errorf("%d tries were logged, want 2", n)
				}
			})
		})
	}
}

// database/sql meets this one itself, so a mock cannot show it.
func TestBadConnIsTransient(t *testing.T) {
	if transient, _ := classify(driver.ErrBadConn); !transient {
		t.Error("driver.ErrBadConn is taken for permanent")
	}
}

// What does not pass fails at once and says what to do.
func TestPermanentFaultsFailAtOnce(t *testing.T) {
	number := func(n uint16) error { return &mysql.MySQLError{Number: n, Message: "permanent"} }
	for _, tt := range []struct {
		fault error
		want  string
	}{
		{number(1146), "apply schema.sql"},
		{number(1049), "name an existing one in the DSN"},
		{number(1044), "grant it INSERT on the table"}, {number(1142), "grant it INSERT on the table"}, {number(1143), "grant it INSERT on the table"},
		{number(1045), "check user, password and host"}, {number(1698), "check user, password and host"},
		{number(1129), "does not let this host in"}, {number(1130), "does not let this host in"},
		{number(1290), "point the DSN at the primary"}, {number(1792), "point the DSN at the primary"}, {number(1836), "point the DSN at the primary"},
		{number(1054), "compare its columns with schema.sql"}, {number(1364), "compare its columns with schema.sql"}, {number(1406), "compare its columns with schema.sql"},
		{number(1062), "AUTO_INCREMENT is exhausted"}, {number(1467), "AUTO_INCREMENT is exhausted"}, {number(167), "AUTO_INCREMENT is exhausted"},
		{number(1064), "mend it and start again"},
		{number(1227), "grant it INSERT on the table"},
		{number(1251), "check user, password and host"}, {number(1524), "check user, password and host"},
		{number(1820), "check user, password and host"}, {number(1862), "check user, password and host"},
		{number(1136), "compare its columns with schema.sql"}, {number(1265), "compare its columns with schema.sql"}, {number(1366), "compare its columns with schema.sql"},
		{number(1264), "AUTO_INCREMENT is exhausted"}, {number(1690), "AUTO_INCREMENT is exhausted"},
		{tls.RecordHeaderError{Msg: "no TLS"}, "check tls in the DSN"},
		{mysql.ErrNoTLS, "check tls in the DSN"},
		{x509.UnknownAuthorityError{}, "check tls in the DSN"}, {x509.HostnameError{Certificate: new(x509.Certificate), Host: "h"}, "check tls in the DSN"},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, "check tls in the DSN"},
		{mysql.ErrNativePassword, "way of authentication"}, {mysql.ErrUnknownPlugin, "way of authentication"},
		{&net.OpError{Op: "dial", Net: "unix", Err: syscall.EACCES}, "does not let this process reach"},
		{errors.New("nobody knows this"), "mend it and start again"},
	} {
		t.Run(tt.fault.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, m := mock(t)
				expect(m).WillReturnError(tt.fault) // once
				begin := time.Now()
				l, err := d.Assign(context.Background(), Request{})
				var e *DatabaseError
				if l != nil || !errors.Is(err, ErrPermanent) || !errors.As(err, &e) || e.Table != "WORKER_NODE" || !errors.Is(err, tt.fault) {
					t.Fatalf("Assign() = %v, %v; want a DatabaseError of %v", l, err, tt.fault)
				}
				if !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "workerassign: permanent database error: table WORKER_NODE: ") {
					t.Errorf("the error does not advise %q: %v", tt.want, err)
				}
				if took := time.Since(begin); took != 0 {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// A server that refuses the client's TLS does so for ever. The refusal comes from a real
// handshake, because package tls does not document what it is.
func TestTLSAlertsArePermanent(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	certificates := []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}
	for name, configs := range map[string]struct{ server, client *tls.Config }{
		"a version that the server does not take": {
			&tls.Config{Certificates: certificates, MinVersion: tls.VersionTLS13},
			&tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}},
		"no client certificate": {
			&tls.Config{Certificates: certificates, MaxVersion: tls.VersionTLS12, ClientAuth: tls.RequireAnyClientCert},
			&tls.Config{InsecureSkipVerify: true}},
	} {
		t.Run(name, func(t *testing.T) {
			near, far := net.Pipe()
			done := make(chan struct{})
			go func() {
				defer close(done)
				tls.Server(far, configs.server).Handshake() // it fails, and says so to the client
			}()
			err := tls.Client(near, configs.client).Handshake()
			near.Close()
			far.Close()
			<-done
			if transient, advice := classify(err); err == nil || transient || !strings.Contains(advice, "check tls in the DSN") {
				t.Errorf("classify(%v) = %v, %q; want TLS advice", err, transient, advice)
			}
		})
	}
}

// No number is on both lists of what to do.
func TestFaultListsAreDisjoint(t *testing.T) {
	for _, n := range transientNumbers() {
		if advice(n) != advice(0) {
			t.Errorf("%d is transient and has advice for a permanent fault: %s", n, advice(n))
		}
	}
}

func TestGivingUpSaysWhatWasTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, m := mock(t, WithBackoff(time.Second, time.Second))
		m.MatchExpectationsInOrder(false)
		fault := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		const enough = 20
		for range enough {
			expect(m).WillReturnError(fault)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		begin := time.Now()
		l, err := d.Assign(ctx, Request{})
		var e *GaveUpError
		if l != nil || !errors.Is(err, ErrGaveUp) || !errors.As(err, &e) || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("Assign() = %v, %v; want a GaveUpError of both", l, err)
		}
		if took := time.Since(begin); took != 10*time.Second || e.Took != took {
			t.Errorf("it took %v, the error says %v; want 10 s", took, e.Took)
		}
		if e.Attempts < 10 || e.Attempts >= enough {
			t.Errorf("%d tries in 10 s with a pause of half a second to one", e.Attempts)
		}
		want := fmt.Sprintf("workerassign: gave up: inserting a row into WORKER_NODE: tried %d times in 10s: context deadline exceeded; the last try: dial tcp: connection refused", e.Attempts)
		if err.Error() != want {
			t.Errorf("the error is %q,\nwant %q", err, want)
		}
		for range enough - e.Attempts { // what was expected too much
			d.db.Exec(statement, "host-1", "8080", 2)
		}
	})
}

func TestAssignEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, m := mock(t)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		l, err := d.Assign(ctx, Request{})
		if l != nil || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "tried 0 times") {
			t.Errorf("Assign() of a cancelled context = %v, %v", l, err)
		}
		// The server does not answer; the caller goes.
		expect(m).WillDelayFor(time.Hour).WillReturnResult(sqlmock.NewResult(1, 1))
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
		d, m := mock(t, WithAttemptTimeout(2*time.Second))
		expect(m).WillDelayFor(time.Hour).WillReturnResult(sqlmock.NewResult(1, 1))
		expect(m).WillReturnResult(sqlmock.NewResult(2, 1))
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
		d, m := mock(t, WithTimeout(time.Second))
		expect(m).WillDelayFor(time.Hour).WillReturnResult(sqlmock.NewResult(1, 1))
		begin := time.Now()
		if l, err := d.Assign(context.Background(), Request{}); l != nil || !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("Assign() = %v, %v after %v", l, err, time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
		defer cancel()
		expect(m).WillDelayFor(time.Hour).WillReturnResult(sqlmock.NewResult(1, 1))
		begin = time.Now()
		if l, err := d.Assign(ctx, Request{}); l != nil || !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 4*time.Second {
			t.Errorf("Assign() = %v, %v after %v", l, err, time.Since(begin))
		}
	})
}

func TestTableNames(t *testing.T) {
	for name, want := range map[string]string{
		"t":                     "`t`",
		"ids.WORKER_NODE":       "`ids`.`WORKER_NODE`",
		"a`b":                   "`a``b`",
		"drop table x; --.`":    "`drop table x; --`.````",
		strings.Repeat("é", 64): "`" + strings.Repeat("é", 64) + "`",
	} {
		if got, err := quoteTable(name); err != nil || got != want {
			t.Errorf("quoteTable(%q) = %s, %v; want %s", name, got, err, want)
		}
	}
	for _, bad := range []string{"", ".", "a.", ".b", "a.b.c", "a\x00b", "a ", "bad\xff", strings.Repeat("x", 65)} {
		if got, err := quoteTable(bad); err == nil {
			t.Errorf("quoteTable(%q) = %s", bad, got)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		d, m := mock(t, WithTable("ids.nodes"))
		m.ExpectExec(strings.Replace(statement, "`WORKER_NODE`", "`ids`.`nodes`", 1)).WithArgs("host-1", "8080", 2).WillReturnError(&mysql.MySQLError{Number: 1146})
		if _, err := d.Assign(context.Background(), Request{}); err == nil || !strings.Contains(err.Error(), "table ids.nodes") {
			t.Errorf("Assign() = %v, want the table's name", err)
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
	} {
		t.Run(tt.want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, _ := mock(t, tt.option)
				l, err := d.Assign(context.Background(), Request{})
				if l != nil || !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("Assign() = %v, %v; want ErrOption with %q", l, err, tt.want)
				}
			})
		})
	}
	if _, err := NewDisposable(nil).Assign(context.Background(), Request{}); !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), "the database is nil") {
		t.Errorf("Assign() without a database = %v", err)
	}
}

func TestBackoff(t *testing.T) {
	b := backoff{first: 100 * time.Millisecond, longest: 3 * time.Second}
	for tries := 1; tries < 200; tries++ {
		whole := b.longest
		if tries <= 5 {
			whole = b.first << (tries - 1)
		}
		for range 50 {
			if d := b.pause(tries); d < whole/2 || d > whole {
				t.Fatalf("the pause after %d tries is %v, want %v to %v", tries, d, whole/2, whole)
			}
		}
	}
	if d := (backoff{first: time.Hour, longest: 200 * 365 * 24 * time.Hour}).pause(39); d <= 0 {
		t.Errorf("a long pause overflowed to %v", d)
	}
}
