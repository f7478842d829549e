package workerassign

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ringuid/ringuid/internal/sqlattempt"
)

// Assign tries again after transient errors until it succeeds.
func TestTransientErrors(t *testing.T) {
	causes := []error{
		mysql.ErrInvalidConn, mysql.ErrMalformPkt, mysql.ErrPktSync, mysql.ErrBusyBuffer,
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, context.DeadlineExceeded, os.ErrDeadlineExceeded,
		syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE,
		&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED},
		&net.OpError{Op: "dial", Net: "unix", Err: syscall.ENOENT},
		&net.DNSError{Err: "no such host", Name: "db", IsNotFound: true},
		fmt.Errorf("wrapped: %w", mysql.ErrInvalidConn),
	}
	for _, e := range sqlattempt.ServerErrors() {
		if e.Action != sqlattempt.Stop {
			causes = append(causes, &mysql.MySQLError{Number: e.Number, Message: e.Name})
		}
	}
	for _, cause := range causes {
		t.Run(cause.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				d, m := newMockDisposable(t, WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
				for range 2 {
					expectFailure(m, cause)
				}
				expectSuccess(m, 7)
				l, err := d.Assign(context.Background(), Request{})
				if err != nil || l.WorkerID() != 7 {
					t.Fatalf("Assign() = %v, %v", l, err)
				}
				if n := strings.Count(log.String(), "trying again"); n != 2 {
					t.Errorf("%d failed attempts were logged, want 2", n)
				}
			})
		})
	}
}

// Permanent errors are returned immediately, with advice.
func TestPermanentErrors(t *testing.T) {
	number := func(n uint16) error { return &mysql.MySQLError{Number: n, Message: "permanent"} }
	for _, tt := range []struct {
		cause error
		want  string
	}{
		{number(1146), "apply schema.sql"},
		{number(1049), "name an existing one in the DSN"},
		{number(1044), "check the database's name in the DSN"}, {number(1142), "grant it INSERT on the table"}, {number(1143), "grant it INSERT on the table"},
		{number(1045), "check user, password and host"}, {number(1698), "check user, password and host"},
		{number(1129), "does not accept this host"}, {number(1130), "does not accept this host"},
		{number(1054), "compare its columns with schema.sql"}, {number(1364), "compare its columns with schema.sql"}, {number(1406), "compare its columns with schema.sql"},
		{number(1467), "AUTO_INCREMENT is exhausted"}, {number(167), "AUTO_INCREMENT is exhausted"},
		{number(1064), "correct the cause"},
		{number(1227), "grant it INSERT on the table"},
		{number(1251), "check user, password and host"}, {number(1524), "check user, password and host"},
		{number(1820), "check user, password and host"}, {number(1862), "check user, password and host"},
		{number(1136), "compare its columns with schema.sql"}, {number(1265), "compare its columns with schema.sql"}, {number(1366), "compare its columns with schema.sql"},
		{number(1264), "AUTO_INCREMENT is exhausted"}, {number(1690), "AUTO_INCREMENT is exhausted"},
		{tls.RecordHeaderError{Msg: "no TLS"}, "check tls in the DSN"},
		{mysql.ErrNoTLS, "check tls in the DSN"},
		{x509.UnknownAuthorityError{}, "check tls in the DSN"}, {x509.HostnameError{Certificate: new(x509.Certificate), Host: "h"}, "check tls in the DSN"},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, "check tls in the DSN"},
		{mysql.ErrNativePassword, "authentication method"}, {mysql.ErrUnknownPlugin, "authentication method"},
		{&net.OpError{Op: "dial", Net: "unix", Err: syscall.EACCES}, "does not let this process reach"},
		{errors.New("sql: database is closed"), "the pool was closed"},
		{errors.New("an unknown error"), "correct the cause"},
	} {
		t.Run(tt.cause.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, m := newMockDisposable(t)
				expectFailure(m, tt.cause) // exactly once
				begin := time.Now()
				l, err := d.Assign(context.Background(), Request{})
				var e *DatabaseError
				if l != nil || !errors.Is(err, ErrPermanent) || !errors.As(err, &e) || e.Table != "WORKER_NODE" || !errors.Is(err, tt.cause) {
					t.Fatalf("Assign() = %v, %v; want a DatabaseError of %v", l, err, tt.cause)
				}
				if !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "workerassign: permanent error: table WORKER_NODE: ") {
					t.Errorf("the error does not advise %q: %v", tt.want, err)
				}
				if took := time.Since(begin); took != 0 {
					t.Errorf("Assign took %v, want 0", took)
				}
			})
		})
	}
}

// An error of the driver, or of a function that the user gave to the driver, does not match an error of
// this package by errors.Is, even if it wraps one.
func TestDriverErrorsAreMasked(t *testing.T) {
	for _, ours := range []error{ErrOption, ErrWidth, ErrNoKey, ErrTooLow, ErrPermanent, ErrGaveUp, ErrCorrupt, ErrFile, ErrInUse, ErrReleased, ErrRenewal, ErrLeaseLost, ErrVoid} {
		synctest.Test(t, func(t *testing.T) {
			d, m := newMockDisposable(t)
			expectFailure(m, fmt.Errorf("a dialer's: %w", ours))
			l, err := d.Assign(context.Background(), Request{})
			var e *DatabaseError
			if l != nil || !errors.As(err, &e) || e.Err == nil || errors.Is(e.Err, ours) || !strings.Contains(err.Error(), "a dialer's: "+ours.Error()) {
				t.Errorf("Assign() = %v, %v; want a DatabaseError that does not match %v", l, err, ours)
			}
		})
	}
}
