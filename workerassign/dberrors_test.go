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

	"github.com/go-sql-driver/mysql"
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
	for _, e := range serverErrors() {
		if e.action != actionStop {
			causes = append(causes, &mysql.MySQLError{Number: e.number, Message: e.name})
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

// A mock cannot return driver.ErrBadConn, because database/sql handles it itself.
func TestBadConnIsTransient(t *testing.T) {
	if f := classify(driver.ErrBadConn); f.action != actionReconnect {
		t.Errorf("driver.ErrBadConn is classified as %v", f)
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
		{number(1064), "correct the cause and start again"},
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
		{errors.New("an unknown error"), "correct the cause and start again"},
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

// If a server refuses the client's TLS settings, the error is permanent. The test takes the error from
// a real handshake, because package tls does not document its type.
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
		"a version that the server does not support": {
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
				tls.Server(far, configs.server).Handshake() // fails and sends an alert to the client
			}()
			err := tls.Client(near, configs.client).Handshake()
			near.Close()
			far.Close()
			<-done
			if f := classify(err); err == nil || f.action != actionStop || f.advice != adviceTLS {
				t.Errorf("classify(%v) = %v; want actionStop with adviceTLS", err, f)
			}
		})
	}
}

// serverErrors contains each number once, with a name and an advice, and classify uses its action.
func TestServerErrors(t *testing.T) {
	seen := map[uint16]bool{}
	for _, e := range serverErrors() {
		if seen[e.number] || e.name == "" || e.advice == "" {
			t.Errorf("%+v is a duplicate or incomplete", e)
		}
		seen[e.number] = true
	}
	for number, want := range map[uint16]failureAction{
		1020: actionRetry, 1461: actionRetry, 1615: actionRetry, 1412: actionRetry, 1135: actionRetry, 1062: actionRetry, 8005: actionRetry,
		1243: actionReconnect, 1047: actionReconnect, 1290: actionReconnect, 1792: actionReconnect, 1836: actionReconnect, 1053: actionReconnect,
		1044: actionStop, 1045: actionStop, 1146: actionStop, 9999: actionStop,
	} {
		if f := classify(&mysql.MySQLError{Number: number}); f.action != want {
			t.Errorf("%d is classified as %v, want %v", number, f.action, want)
		}
	}
}

// An error of the driver, or of a function that the user gave to the driver, does not match an error of
// this package by errors.Is, even if it wraps one.
func TestDriverErrorsAreMasked(t *testing.T) {
	for _, ours := range []error{ErrOption, ErrWidth, ErrNoKey, ErrTooLow, ErrPermanent, ErrGaveUp, ErrCorrupt, ErrFile} {
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
