package sqlstore

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

// An Action is what to do after a failed attempt.
type Action int

const (
	Stop      Action = iota // fail: another attempt would fail in the same way
	Retry                   // try again, on any connection
	Reconnect               // try again, on another connection
	Repeat                  // try again immediately, with the other dialect; Classify does not return it
)

// A ServerError describes an error number of a server.
type ServerError struct {
	Number uint16
	Name   string // ER_… in MySQL and MariaDB, Err… in TiDB
	Action Action
	Advice string
}

// ServerErrors returns the errors of the MySQL family that are known. The names are those of
// MySQL 8.4, MariaDB 11.8 and TiDB 8.5. Errors with other numbers are permanent: trying again would
// hide an unknown error.
func ServerErrors(a Advice) []ServerError {
	return []ServerError{
		{1040, "ER_CON_COUNT_ERROR", Retry, AdviceBusy},
		{1041, "ER_OUT_OF_RESOURCES", Retry, AdviceBusy},
		{1135, "ER_CANT_CREATE_THREAD", Retry, AdviceBusy},
		{1203, "ER_TOO_MANY_USER_CONNECTIONS", Retry, AdviceBusy},
		{1226, "ER_USER_LIMIT_REACHED", Retry, AdviceBusy}, // per hour
		{1461, "ER_MAX_PREPARED_STMT_COUNT_REACHED", Retry, AdviceBusy},
		{1637, "ER_TOO_MANY_CONCURRENT_TRXS", Retry, AdviceBusy},
		{1969, "ER_STATEMENT_TIMEOUT", Retry, AdviceBusy}, // MariaDB
		{3024, "ER_QUERY_TIMEOUT", Retry, AdviceBusy},     // MySQL; unused in MariaDB

		// MariaDB returns this and rolls the transaction back if innodb_snapshot_isolation is on (the
		// default since 11.6.2) and another transaction has changed a row that this one read. An
		// insert reads nothing, but a trigger may.
		{1020, "ER_CHECKREAD", Retry, AdviceConflict},
		{1205, "ER_LOCK_WAIT_TIMEOUT", Retry, AdviceConflict},
		{1213, "ER_LOCK_DEADLOCK", Retry, AdviceConflict}, // on Galera also a conflict with another node
		{1412, "ER_TABLE_DEF_CHANGED", Retry, AdviceConflict},
		{1614, "ER_XA_RBDEADLOCK", Retry, AdviceConflict},
		{1615, "ER_NEED_REPREPARE", Retry, AdviceConflict},
		{1689, "ER_LOCK_ABORTED", Retry, AdviceConflict},
		{3572, "ER_LOCK_NOWAIT", Retry, AdviceConflict}, // MySQL; MariaDB has 1205

		// The generated key exists already: on Galera with wsrep_auto_increment_control off, two
		// nodes may generate the same key.
		{1062, "ER_DUP_ENTRY", Retry, a.Key},

		{1180, "ER_ERROR_DURING_COMMIT", Retry, AdviceBusy},
		{1317, "ER_QUERY_INTERRUPTED", Retry, AdviceBusy},
		{3100, "ER_RUN_HOOK_ERROR", Reconnect, AdviceBusy},                     // MySQL: Group Replication
		{3101, "ER_TRANSACTION_ROLLBACK_DURING_COMMIT", Retry, AdviceConflict}, // MySQL: Group Replication

		{1053, "ER_SERVER_SHUTDOWN", Reconnect, AdviceDown},
		{1077, "ER_NORMAL_SHUTDOWN", Reconnect, AdviceDown},
		{1079, "ER_SHUTDOWN_COMPLETE", Reconnect, AdviceDown},
		{3032, "ER_SERVER_OFFLINE_MODE", Reconnect, AdviceDown},
		{3168, "ER_SERVER_ISNT_AVAILABLE", Reconnect, AdviceDown}, // MySQL
		{1047, "ER_UNKNOWN_COM_ERROR", Reconnect, AdviceGalera},   // "WSREP has not yet prepared node for application use"

		// A primary that was demoted, or a replica that is about to be promoted.
		{1290, "ER_OPTION_PREVENTS_STATEMENT", Reconnect, AdviceReadOnly},
		{1792, "ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION", Reconnect, AdviceReadOnly},
		{1836, "ER_READ_ONLY_MODE", Reconnect, AdviceReadOnly},
		{1874, "ER_INNODB_READ_ONLY", Reconnect, AdviceReadOnly},

		{1152, "ER_ABORTING_CONNECTION", Reconnect, AdviceLost},
		{1158, "ER_NET_READ_ERROR", Reconnect, AdviceLost},
		{1159, "ER_NET_READ_INTERRUPTED", Reconnect, AdviceLost},
		{1160, "ER_NET_ERROR_ON_WRITE", Reconnect, AdviceLost},
		{1161, "ER_NET_WRITE_INTERRUPTED", Reconnect, AdviceLost},
		{1184, "ER_NEW_ABORTING_CONNECTION", Reconnect, AdviceLost},
		{1243, "ER_UNKNOWN_STMT_HANDLER", Reconnect, AdviceLost}, // a proxy switched to another server connection
		{1927, "ER_CONNECTION_KILLED", Reconnect, AdviceLost},    // MariaDB
		{2002, "CR_CONNECTION_ERROR", Reconnect, AdviceLost},     // some proxies return this and the next three
		{2003, "CR_CONN_HOST_ERROR", Reconnect, AdviceLost},
		{2006, "CR_SERVER_GONE_ERROR", Reconnect, AdviceLost},
		{2013, "CR_SERVER_LOST", Reconnect, AdviceLost},
		{4031, "ER_CLIENT_INTERACTION_TIMEOUT", Reconnect, AdviceLost}, // MySQL; MariaDB uses it for triggers, never for an insert

		{8002, "ErrForUpdateCantRetry", Retry, AdviceTiDB},
		{8005, "ErrWriteConflictInTiDB", Retry, AdviceTiDB},
		{8020, "ErrTableLocked", Retry, AdviceConflict},
		{8022, "ErrTxnRetryable", Retry, AdviceTiDB},
		{8027, "ErrInfoSchemaExpired", Retry, AdviceTiDB},
		{8028, "ErrInfoSchemaChanged", Retry, AdviceTiDB},
		{8111, "ErrPreparedStmtNotFound", Reconnect, AdviceTiDB},
		{8113, "ErrSchemaChanged", Retry, AdviceTiDB},
		{8120, "ErrGetStartTS", Retry, AdviceTiDB},
		{8229, "ErrLockExpire", Retry, AdviceTiDB},
		{8252, "ErrResourceGroupThrottled", Retry, AdviceTiDB},
		{9001, "ErrPDServerTimeout", Retry, AdviceTiDB},
		{9002, "ErrTiKVServerTimeout", Retry, AdviceTiDB},
		{9003, "ErrTiKVServerBusy", Retry, AdviceTiDB},
		{9004, "ErrResolveLockTimeout", Retry, AdviceTiDB},
		{9005, "ErrRegionUnavailable", Retry, AdviceTiDB},
		{9007, "ErrWriteConflict", Retry, AdviceTiDB},
		{9008, "ErrTiKVStoreLimit", Retry, AdviceTiDB},
		{9010, "ErrTiKVStaleCommand", Retry, AdviceTiDB},

		{1146, "ER_NO_SUCH_TABLE", Stop, a.Table},
		{1049, "ER_BAD_DB_ERROR", Stop, AdviceDatabase},
		{1044, "ER_DBACCESS_DENIED_ERROR", Stop, a.Access}, // also for a database that does not exist
		{1142, "ER_TABLEACCESS_DENIED_ERROR", Stop, a.Grant},
		{1143, "ER_COLUMNACCESS_DENIED_ERROR", Stop, a.Grant},
		{1227, "ER_SPECIFIC_ACCESS_DENIED_ERROR", Stop, a.Grant},
		{1045, "ER_ACCESS_DENIED_ERROR", Stop, AdviceAccount},
		{1251, "ER_NOT_SUPPORTED_AUTH_MODE", Stop, AdviceAccount},
		{1524, "ER_PLUGIN_IS_NOT_LOADED", Stop, AdviceAccount},
		{1698, "ER_ACCESS_DENIED_NO_PASSWORD_ERROR", Stop, AdviceAccount},
		{1820, "ER_MUST_CHANGE_PASSWORD", Stop, AdviceAccount},
		{1862, "ER_MUST_CHANGE_PASSWORD_LOGIN", Stop, AdviceAccount},
		{3118, "ER_ACCOUNT_HAS_BEEN_LOCKED", Stop, AdviceAccount}, // MySQL
		{4151, "ER_ACCOUNT_HAS_BEEN_LOCKED", Stop, AdviceAccount}, // MariaDB
		{1129, "ER_HOST_IS_BLOCKED", Stop, AdviceHost},
		{1130, "ER_HOST_NOT_PRIVILEGED", Stop, AdviceHost},
		{1054, "ER_BAD_FIELD_ERROR", Stop, a.Columns},
		{1136, "ER_WRONG_VALUE_COUNT_ON_ROW", Stop, a.Columns},
		{1265, "WARN_DATA_TRUNCATED", Stop, a.Columns},
		{1364, "ER_NO_DEFAULT_FOR_FIELD", Stop, a.Columns},
		{1366, "ER_TRUNCATED_WRONG_VALUE_FOR_FIELD", Stop, a.Columns},
		{1406, "ER_DATA_TOO_LONG", Stop, a.Columns},
		{167, "HA_ERR_AUTOINC_ERANGE", Stop, a.Key}, // the storage engine's number, as MariaDB sends it
		{1264, "ER_WARN_DATA_OUT_OF_RANGE", Stop, a.Key},
		{1467, "ER_AUTOINC_READ_FAILED", Stop, a.Key},
		{1690, "ER_DATA_OUT_OF_RANGE", Stop, a.Key},
	}
}

// IsServerError reports whether err is an error that a server has returned for a statement.
func IsServerError(err error) bool {
	server := (*mysql.MySQLError)(nil)
	_, isPostgres := SQLState(err)
	return isPostgres || errors.As(err, &server)
}

// Classify returns what to do about an error of the driver, and the advice for people.
func Classify(err error, a Advice) (Action, string) {
	if server := (*mysql.MySQLError)(nil); errors.As(err, &server) {
		for _, known := range ServerErrors(a) {
			if known.Number == server.Number {
				return known.Action, known.Advice
			}
		}
		return Stop, a.Unknown
	}
	if state, ok := SQLState(err); ok {
		return classifyState(state, err, a)
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
		return Stop, AdviceTLS
	case errors.Is(err, mysql.ErrCleartextPassword), errors.Is(err, mysql.ErrNativePassword),
		errors.Is(err, mysql.ErrOldPassword), errors.Is(err, mysql.ErrUnknownPlugin):
		return Stop, AdviceAuth
	case errors.Is(err, os.ErrPermission):
		return Stop, AdviceSystem
	case errors.As(err, &name):
		if name.IsNotFound {
			return Reconnect, AdviceHostName
		}
		return Reconnect, AdviceNetwork
	case IsAnyOf(err, context.DeadlineExceeded, os.ErrDeadlineExceeded):
		return Reconnect, AdviceNoAnswer
	case errors.Is(err, driver.ErrBadConn):
		return Reconnect, AdviceDropped
	case IsAnyOf(err, sql.ErrConnDone, mysql.ErrInvalidConn, mysql.ErrMalformPkt, mysql.ErrPktSync,
		mysql.ErrPktSyncMul, mysql.ErrBusyBuffer, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed):
		return Reconnect, AdviceLost
	case errors.As(err, &network):
		// The connection was refused or reset, the network is down, or the socket does not exist.
		return Reconnect, AdviceRefused
	case IsUnusedConn(err):
		return Reconnect, AdviceLost
	case err != nil && isPostgresReadOnly(err):
		return Reconnect, AdviceReadOnlyPostgres
	case err != nil && isPostgresTLS(err):
		return Stop, AdviceTLSPostgres
	case err != nil && err.Error() == "sql: database is closed": // database/sql does not export it
		return Stop, a.Closed
	}
	return Stop, a.Unknown
}

// IsAnyOf reports whether err matches at least one of the targets, by errors.Is.
func IsAnyOf(err error, targets ...error) bool {
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
