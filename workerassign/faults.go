package workerassign

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"os"
	"slices"

	"github.com/go-sql-driver/mysql"
)

// transientNumbers are the server's errors that another try may not meet again.
func transientNumbers() []uint16 {
	return []uint16{
		1040, 1203, 1226, // too many connections, of the server, the user, an hour
		1205, 1213, 1614, 3572, // lock wait, deadlock
		1053, 1077, 1079, 3032, 3168, // the server is shutting down, offline for a while, or not ready yet
		1047,                                     // a Galera node that is not prepared yet
		1152, 1158, 1159, 1160, 1161, 1184, 1927, // the connection broke or was killed
		1180, 1637, 3101, // the commit failed: too many transactions, a conflict in a group
		1317, 1969, 3024, // interrupted, or took too long
		2002, 2003, 2006, 2013, 4031, // the server went away, as some proxies tell it
		8002, 8022, 8027, 8028, 9001, 9002, 9003, 9004, 9005, 9007, // TiDB: busy, conflict, region unavailable
	}
}

// advice says what to do about a permanent error of the server.
func advice(number uint16) string {
	switch number {
	case 1146:
		return "there is no such table: apply schema.sql, or name the table by WithTable"
	case 1049:
		return "there is no such database: name an existing one in the DSN"
	case 1044, 1142, 1143, 1227:
		return "the account lacks a privilege: grant it INSERT on the table"
	case 1045, 1698, 1251, 1524, 1862, 1820:
		return "the server refused the account: check user, password and host in the DSN"
	case 1129, 1130:
		return "the server does not let this host in: check the account's host part, or unblock the host"
	case 1290, 1792, 1836:
		return "the server is read-only: point the DSN at the primary"
	case 1054, 1136, 1364, 1406, 1366, 1265:
		return "the table is not the original's: compare its columns with schema.sql"
	case 1062, 1467, 167, 1264, 1690:
		return "the key's AUTO_INCREMENT is exhausted or wrong: see schema.sql on how many are left, and never set it back"
	}
	return "another try would not help: mend it and start again"
}

// classify tells whether an error may pass by itself, or else what to do about it. What it
// does not know is permanent: waiting for it to pass would hide it.
func classify(err error) (transient bool, doWhat string) {
	var server *mysql.MySQLError
	if errors.As(err, &server) {
		if slices.Contains(transientNumbers(), server.Number) {
			return true, ""
		}
		return false, advice(server.Number)
	}
	var (
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		hostname    x509.HostnameError
		invalid     x509.CertificateInvalidError
		noTLS       tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &certificate), errors.As(err, &authority), errors.As(err, &hostname), errors.As(err, &invalid),
		errors.As(err, &noTLS), errors.Is(err, mysql.ErrNoTLS), isAlert(err):
		return false, "the TLS settings do not fit the server: check tls in the DSN and the certificates"
	case errors.Is(err, mysql.ErrCleartextPassword), errors.Is(err, mysql.ErrNativePassword),
		errors.Is(err, mysql.ErrOldPassword), errors.Is(err, mysql.ErrUnknownPlugin):
		return false, "the server wants a way of authentication that the DSN does not allow"
	case errors.Is(err, os.ErrPermission):
		return false, "the system does not let this process reach the server"
	}
	for _, passing := range []error{
		driver.ErrBadConn, sql.ErrConnDone, mysql.ErrInvalidConn, mysql.ErrMalformPkt, mysql.ErrPktSync,
		mysql.ErrPktSyncMul, mysql.ErrBusyBuffer, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
		context.DeadlineExceeded, os.ErrDeadlineExceeded,
	} {
		if errors.Is(err, passing) {
			return true, ""
		}
	}
	// A connection that is refused or reset, a name that is not known yet, a network that is
	// not up, a socket that is not there.
	if network := net.Error(nil); errors.As(err, &network) {
		return true, ""
	}
	return false, "another try would not help: mend it and start again"
}

// isAlert tells whether one side of a TLS connection refused the other: versions that do not
// fit, or a client certificate that is missing or not trusted. Package tls makes a net.Error
// of it, which would be taken for a network that comes back.
func isAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error")
}
