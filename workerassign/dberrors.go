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

	"github.com/go-sql-driver/mysql"
)

// failureAction is what Assign does after a failed attempt.
type failureAction int

const (
	actionStop      failureAction = iota // fail: another attempt would fail in the same way
	actionRetry                          // try again, on any connection
	actionReconnect                      // try again, on another connection
	actionRepeat                         // try again immediately, with the other dialect, see correctGuess
)

// failure is the error of an attempt, and what to do about it.
type failure struct {
	err        error
	action     failureAction
	advice     string
	returnAsIs bool // return err itself, not a DatabaseError: the failure is not the database's
}

// The advice in errors and log records: what to do, or what to check if the error persists.
const (
	adviceUnknown  = "trying again would not help: correct the cause and start again"
	adviceTable    = "the table does not exist: apply schema.sql, or set the table's name by WithTable"
	adviceDatabase = "the database does not exist: name an existing one in the DSN"
	adviceAccess   = "the account may not use this database: check the database's name in the DSN, or grant the account INSERT on the table"
	adviceGrant    = "the account lacks a privilege: grant it INSERT on the table"
	adviceAccount  = "the server refused the account: check user, password and host in the DSN"
	adviceHost     = "the server does not accept this host: check the account's host part, or unblock the host"
	adviceColumns  = "the table has the wrong columns: compare its columns with schema.sql"
	adviceKey      = "if this persists, the key's AUTO_INCREMENT is exhausted or wrong: see HOW MANY ARE LEFT in schema.sql, and never lower it"
	adviceReadOnly = "the server is read-only: if this persists, point the DSN at the primary (with rejectReadOnly=true in the DSN, " +
		"go-sql-driver/mysql closes connections to read-only servers, for all statements)"
	adviceGalera   = "the node is not part of its Galera cluster: check the cluster, or point the DSN at another node"
	adviceBusy     = "if this persists, check the load and the limits of the server"
	adviceDown     = "the server is shutting down or not ready: if this persists, check that it runs"
	adviceConflict = "the statement conflicts with other statements: if this persists, check what locks the table"
	adviceLost     = "the connection was lost: if this persists, check the server's log, proxies and timeouts"
	adviceDropped  = "the driver closed the connection: either the server closed it, or the server is read-only and the DSN has rejectReadOnly=true"
	adviceTiDB     = "if this persists, check the state of TiDB, PD and TiKV"
	adviceNoAnswer = "check host and port in the DSN, that no firewall drops the packets, and that the server is not overloaded or paused"
	adviceLocked   = "check what locks the table (SHOW FULL PROCESSLIST), and that the server, the network and proxies are not overloaded or paused"
	advicePool     = "all connections of the pool are in use: close them sooner, or raise the limit of SetMaxOpenConns"
	adviceRefused  = "check host and port in the DSN, and that the server runs and listens there"
	adviceHostName = "the host name does not exist: check the host in the DSN, and the name server"
	adviceNetwork  = "check the host in the DSN, the name server and the network"
	adviceTLS      = "the TLS settings do not match the server's: check tls in the DSN and the certificates"
	adviceAuth     = "the server requires an authentication method that the DSN does not allow"
	adviceSystem   = "the operating system does not let this process reach the server"
	adviceClosed   = "the pool was closed: close it only after the generators that use it"
)

// serverError describes an error number of a server.
type serverError struct {
	number uint16
	name   string // ER_… in MySQL and MariaDB, Err… in TiDB
	action failureAction
	advice string
}

// serverErrors returns the errors that a server may return for an insert. The names are those of
// MySQL 8.4, MariaDB 11.8 and TiDB 8.5. Errors with other numbers are permanent: trying again would
// hide an unknown error.
func serverErrors() []serverError {
	return []serverError{
		{1040, "ER_CON_COUNT_ERROR", actionRetry, adviceBusy},
		{1041, "ER_OUT_OF_RESOURCES", actionRetry, adviceBusy},
		{1135, "ER_CANT_CREATE_THREAD", actionRetry, adviceBusy},
		{1203, "ER_TOO_MANY_USER_CONNECTIONS", actionRetry, adviceBusy},
		{1226, "ER_USER_LIMIT_REACHED", actionRetry, adviceBusy}, // per hour
		{1461, "ER_MAX_PREPARED_STMT_COUNT_REACHED", actionRetry, adviceBusy},
		{1637, "ER_TOO_MANY_CONCURRENT_TRXS", actionRetry, adviceBusy},
		{1969, "ER_STATEMENT_TIMEOUT", actionRetry, adviceBusy}, // MariaDB
		{3024, "ER_QUERY_TIMEOUT", actionRetry, adviceBusy},     // MySQL; unused in MariaDB

		// MariaDB returns this and rolls the transaction back if innodb_snapshot_isolation is on (the
		// default since 11.6.2) and another transaction has changed a row that this one read. An
		// insert reads nothing, but a trigger may.
		{1020, "ER_CHECKREAD", actionRetry, adviceConflict},
		{1205, "ER_LOCK_WAIT_TIMEOUT", actionRetry, adviceConflict},
		{1213, "ER_LOCK_DEADLOCK", actionRetry, adviceConflict}, // on Galera also a conflict with another node
		{1412, "ER_TABLE_DEF_CHANGED", actionRetry, adviceConflict},
		{1614, "ER_XA_RBDEADLOCK", actionRetry, adviceConflict},
		{1615, "ER_NEED_REPREPARE", actionRetry, adviceConflict},
		{1689, "ER_LOCK_ABORTED", actionRetry, adviceConflict},
		{3572, "ER_LOCK_NOWAIT", actionRetry, adviceConflict}, // MySQL; MariaDB has 1205

		// The generated key exists already: on Galera with wsrep_auto_increment_control off, two
		// nodes may generate the same key.
		{1062, "ER_DUP_ENTRY", actionRetry, adviceKey},

		{1180, "ER_ERROR_DURING_COMMIT", actionRetry, adviceBusy},
		{1317, "ER_QUERY_INTERRUPTED", actionRetry, adviceBusy},
		{3100, "ER_RUN_HOOK_ERROR", actionReconnect, adviceBusy},                     // MySQL: Group Replication
		{3101, "ER_TRANSACTION_ROLLBACK_DURING_COMMIT", actionRetry, adviceConflict}, // MySQL: Group Replication

		{1053, "ER_SERVER_SHUTDOWN", actionReconnect, adviceDown},
		{1077, "ER_NORMAL_SHUTDOWN", actionReconnect, adviceDown},
		{1079, "ER_SHUTDOWN_COMPLETE", actionReconnect, adviceDown},
		{3032, "ER_SERVER_OFFLINE_MODE", actionReconnect, adviceDown},
		{3168, "ER_SERVER_ISNT_AVAILABLE", actionReconnect, adviceDown}, // MySQL
		{1047, "ER_UNKNOWN_COM_ERROR", actionReconnect, adviceGalera},   // "WSREP has not yet prepared node for application use"

		// A primary that was demoted, or a replica that is about to be promoted.
		{1290, "ER_OPTION_PREVENTS_STATEMENT", actionReconnect, adviceReadOnly},
		{1792, "ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION", actionReconnect, adviceReadOnly},
		{1836, "ER_READ_ONLY_MODE", actionReconnect, adviceReadOnly},
		{1874, "ER_INNODB_READ_ONLY", actionReconnect, adviceReadOnly},

		{1152, "ER_ABORTING_CONNECTION", actionReconnect, adviceLost},
		{1158, "ER_NET_READ_ERROR", actionReconnect, adviceLost},
		{1159, "ER_NET_READ_INTERRUPTED", actionReconnect, adviceLost},
		{1160, "ER_NET_ERROR_ON_WRITE", actionReconnect, adviceLost},
		{1161, "ER_NET_WRITE_INTERRUPTED", actionReconnect, adviceLost},
		{1184, "ER_NEW_ABORTING_CONNECTION", actionReconnect, adviceLost},
		{1243, "ER_UNKNOWN_STMT_HANDLER", actionReconnect, adviceLost}, // a proxy switched to another server connection
		{1927, "ER_CONNECTION_KILLED", actionReconnect, adviceLost},    // MariaDB
		{2002, "CR_CONNECTION_ERROR", actionReconnect, adviceLost},     // some proxies return this and the next three
		{2003, "CR_CONN_HOST_ERROR", actionReconnect, adviceLost},
		{2006, "CR_SERVER_GONE_ERROR", actionReconnect, adviceLost},
		{2013, "CR_SERVER_LOST", actionReconnect, adviceLost},
		{4031, "ER_CLIENT_INTERACTION_TIMEOUT", actionReconnect, adviceLost}, // MySQL; MariaDB uses it for triggers, never for an insert

		{8002, "ErrForUpdateCantRetry", actionRetry, adviceTiDB},
		{8005, "ErrWriteConflictInTiDB", actionRetry, adviceTiDB},
		{8020, "ErrTableLocked", actionRetry, adviceConflict},
		{8022, "ErrTxnRetryable", actionRetry, adviceTiDB},
		{8027, "ErrInfoSchemaExpired", actionRetry, adviceTiDB},
		{8028, "ErrInfoSchemaChanged", actionRetry, adviceTiDB},
		{8111, "ErrPreparedStmtNotFound", actionReconnect, adviceTiDB},
		{8113, "ErrSchemaChanged", actionRetry, adviceTiDB},
		{8120, "ErrGetStartTS", actionRetry, adviceTiDB},
		{8229, "ErrLockExpire", actionRetry, adviceTiDB},
		{8252, "ErrResourceGroupThrottled", actionRetry, adviceTiDB},
		{9001, "ErrPDServerTimeout", actionRetry, adviceTiDB},
		{9002, "ErrTiKVServerTimeout", actionRetry, adviceTiDB},
		{9003, "ErrTiKVServerBusy", actionRetry, adviceTiDB},
		{9004, "ErrResolveLockTimeout", actionRetry, adviceTiDB},
		{9005, "ErrRegionUnavailable", actionRetry, adviceTiDB},
		{9007, "ErrWriteConflict", actionRetry, adviceTiDB},
		{9008, "ErrTiKVStoreLimit", actionRetry, adviceTiDB},
		{9010, "ErrTiKVStaleCommand", actionRetry, adviceTiDB},

		{1146, "ER_NO_SUCH_TABLE", actionStop, adviceTable},
		{1049, "ER_BAD_DB_ERROR", actionStop, adviceDatabase},
		{1044, "ER_DBACCESS_DENIED_ERROR", actionStop, adviceAccess}, // also for a database that does not exist
		{1142, "ER_TABLEACCESS_DENIED_ERROR", actionStop, adviceGrant},
		{1143, "ER_COLUMNACCESS_DENIED_ERROR", actionStop, adviceGrant},
		{1227, "ER_SPECIFIC_ACCESS_DENIED_ERROR", actionStop, adviceGrant},
		{1045, "ER_ACCESS_DENIED_ERROR", actionStop, adviceAccount},
		{1251, "ER_NOT_SUPPORTED_AUTH_MODE", actionStop, adviceAccount},
		{1524, "ER_PLUGIN_IS_NOT_LOADED", actionStop, adviceAccount},
		{1698, "ER_ACCESS_DENIED_NO_PASSWORD_ERROR", actionStop, adviceAccount},
		{1820, "ER_MUST_CHANGE_PASSWORD", actionStop, adviceAccount},
		{1862, "ER_MUST_CHANGE_PASSWORD_LOGIN", actionStop, adviceAccount},
		{3118, "ER_ACCOUNT_HAS_BEEN_LOCKED", actionStop, adviceAccount}, // MySQL
		{4151, "ER_ACCOUNT_HAS_BEEN_LOCKED", actionStop, adviceAccount}, // MariaDB
		{1129, "ER_HOST_IS_BLOCKED", actionStop, adviceHost},
		{1130, "ER_HOST_NOT_PRIVILEGED", actionStop, adviceHost},
		{1054, "ER_BAD_FIELD_ERROR", actionStop, adviceColumns},
		{1136, "ER_WRONG_VALUE_COUNT_ON_ROW", actionStop, adviceColumns},
		{1265, "WARN_DATA_TRUNCATED", actionStop, adviceColumns},
		{1364, "ER_NO_DEFAULT_FOR_FIELD", actionStop, adviceColumns},
		{1366, "ER_TRUNCATED_WRONG_VALUE_FOR_FIELD", actionStop, adviceColumns},
		{1406, "ER_DATA_TOO_LONG", actionStop, adviceColumns},
		{167, "HA_ERR_AUTOINC_ERANGE", actionStop, adviceKey}, // the storage engine's number, as MariaDB sends it
		{1264, "ER_WARN_DATA_OUT_OF_RANGE", actionStop, adviceKey},
		{1467, "ER_AUTOINC_READ_FAILED", actionStop, adviceKey},
		{1690, "ER_DATA_OUT_OF_RANGE", actionStop, adviceKey},
	}
}

// isServerError reports whether err is an error that a server has returned for a statement.
func isServerError(err error) bool {
	server := (*mysql.MySQLError)(nil)
	_, isPostgres := sqlState(err)
	return isPostgres || errors.As(err, &server)
}

// classify decides what to do about an error of the driver.
func classify(err error) failure {
	action, advice := actionAndAdvice(err)
	return failure{err: maskOwnErrors(err), action: action, advice: advice}
}

// actionAndAdvice returns what to do about an error of the driver, and the advice for people.
func actionAndAdvice(err error) (failureAction, string) {
	if server := (*mysql.MySQLError)(nil); errors.As(err, &server) {
		for _, known := range serverErrors() {
			if known.number == server.Number {
				return known.action, known.advice
			}
		}
		return actionStop, adviceUnknown
	}
	if state, ok := sqlState(err); ok {
		return postgresActionAndAdvice(state, err)
	}
	var (
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		hostname    x509.HostnameError
		invalid     x509.CertificateInvalidError
		noTLS       tls.RecordHeaderError
		name        *net.DNSError
		network     net.Error
	)
	switch {
	case errors.As(err, &certificate), errors.As(err, &authority), errors.As(err, &hostname), errors.As(err, &invalid),
		errors.As(err, &noTLS), errors.Is(err, mysql.ErrNoTLS), isTLSAlert(err):
		return actionStop, adviceTLS
	case errors.Is(err, mysql.ErrCleartextPassword), errors.Is(err, mysql.ErrNativePassword),
		errors.Is(err, mysql.ErrOldPassword), errors.Is(err, mysql.ErrUnknownPlugin):
		return actionStop, adviceAuth
	case errors.Is(err, os.ErrPermission):
		return actionStop, adviceSystem
	case errors.As(err, &name):
		if name.IsNotFound {
			return actionReconnect, adviceHostName
		}
		return actionReconnect, adviceNetwork
	case isAnyOf(err, context.DeadlineExceeded, os.ErrDeadlineExceeded):
		return actionReconnect, adviceNoAnswer
	case errors.Is(err, driver.ErrBadConn):
		return actionReconnect, adviceDropped
	case isAnyOf(err, sql.ErrConnDone, mysql.ErrInvalidConn, mysql.ErrMalformPkt, mysql.ErrPktSync,
		mysql.ErrPktSyncMul, mysql.ErrBusyBuffer, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed):
		return actionReconnect, adviceLost
	case errors.As(err, &network):
		// The connection was refused or reset, the network is down, or the socket does not exist.
		return actionReconnect, adviceRefused
	case isUnusedConn(err):
		return actionReconnect, adviceLost
	case err != nil && isPostgresReadOnly(err):
		return actionReconnect, adviceReadOnlyPostgres
	case err != nil && isPostgresTLS(err):
		return actionStop, adviceTLSPostgres
	case err != nil && err.Error() == "sql: database is closed": // database/sql does not export it
		return actionStop, adviceClosed
	}
	return actionStop, adviceUnknown
}

// isAnyOf reports whether err matches at least one of the targets, by errors.Is.
func isAnyOf(err error, targets ...error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// isTLSAlert reports whether one side of a TLS handshake refused the other, because of the version,
// or because a client certificate is missing or not trusted. Package tls returns a net.Error in this
// case, which must not be classified as a transient network error.
func isTLSAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error")
}

// maskOwnErrors returns an error of the driver, or of a function that the user gave to the driver,
// such that errors.Is matches none of this package's errors. Those have a meaning for generators.
func maskOwnErrors(err error) error {
	if isAnyOf(err, ErrOption, ErrWidth, ErrNoKey, ErrTooLow, ErrPermanent, ErrGaveUp, ErrCorrupt, ErrFile, ErrInUse, ErrReleased) {
		return errors.New(err.Error())
	}
	return err
}
