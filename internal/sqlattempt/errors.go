package sqlattempt

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
)

// A ServerError describes an error number of a server.
type ServerError struct {
	Number uint16
	Name   string // ER_… in MySQL and MariaDB, Err… in TiDB
	Action Action
	Reason Reason
}

// ServerErrors returns the errors of the MySQL family that are known. The names are those of
// MySQL 8.4, MariaDB 11.8 and TiDB 8.5. Errors with other numbers are permanent: trying again would
// hide an unknown error.
func ServerErrors() []ServerError {
	return []ServerError{
		{1040, "ER_CON_COUNT_ERROR", Retry, ReasonBusy},
		{1041, "ER_OUT_OF_RESOURCES", Retry, ReasonBusy},
		{1135, "ER_CANT_CREATE_THREAD", Retry, ReasonBusy},
		{1203, "ER_TOO_MANY_USER_CONNECTIONS", Retry, ReasonBusy},
		{1226, "ER_USER_LIMIT_REACHED", Retry, ReasonBusy}, // per hour
		{1461, "ER_MAX_PREPARED_STMT_COUNT_REACHED", Retry, ReasonBusy},
		{1637, "ER_TOO_MANY_CONCURRENT_TRXS", Retry, ReasonBusy},
		{1969, "ER_STATEMENT_TIMEOUT", Retry, ReasonBusy}, // MariaDB
		{3024, "ER_QUERY_TIMEOUT", Retry, ReasonBusy},     // MySQL; unused in MariaDB

		// MariaDB returns this and rolls the transaction back if innodb_snapshot_isolation is on (the
		// default since 11.6.2) and another transaction has changed a row that this one read. An
		// insert reads nothing, but a trigger may.
		{1020, "ER_CHECKREAD", Retry, ReasonConflict},
		{1205, "ER_LOCK_WAIT_TIMEOUT", Retry, ReasonConflict},
		{1213, "ER_LOCK_DEADLOCK", Retry, ReasonConflict}, // on Galera also a conflict with another node
		{1412, "ER_TABLE_DEF_CHANGED", Retry, ReasonConflict},
		{1614, "ER_XA_RBDEADLOCK", Retry, ReasonConflict},
		{1615, "ER_NEED_REPREPARE", Retry, ReasonConflict},
		{1689, "ER_LOCK_ABORTED", Retry, ReasonConflict},
		{3572, "ER_LOCK_NOWAIT", Retry, ReasonConflict}, // MySQL; MariaDB has 1205

		// The generated key exists already: on Galera with wsrep_auto_increment_control off, two
		// nodes may generate the same key.
		{1062, "ER_DUP_ENTRY", Retry, ReasonKey},

		{1180, "ER_ERROR_DURING_COMMIT", Retry, ReasonBusy},
		{1317, "ER_QUERY_INTERRUPTED", Retry, ReasonBusy},
		{3100, "ER_RUN_HOOK_ERROR", Reconnect, ReasonBusy},                     // MySQL: Group Replication
		{3101, "ER_TRANSACTION_ROLLBACK_DURING_COMMIT", Retry, ReasonConflict}, // MySQL: Group Replication

		{1053, "ER_SERVER_SHUTDOWN", Reconnect, ReasonDown},
		{1077, "ER_NORMAL_SHUTDOWN", Reconnect, ReasonDown},
		{1079, "ER_SHUTDOWN_COMPLETE", Reconnect, ReasonDown},
		{3032, "ER_SERVER_OFFLINE_MODE", Reconnect, ReasonDown},
		{3168, "ER_SERVER_ISNT_AVAILABLE", Reconnect, ReasonDown}, // MySQL
		{1047, "ER_UNKNOWN_COM_ERROR", Reconnect, ReasonGalera},   // "WSREP has not yet prepared node for application use"

		// A primary that was demoted, or a replica that is about to be promoted.
		{1290, "ER_OPTION_PREVENTS_STATEMENT", Reconnect, ReasonReadOnly},
		{1792, "ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION", Reconnect, ReasonReadOnly},
		{1836, "ER_READ_ONLY_MODE", Reconnect, ReasonReadOnly},
		{1874, "ER_INNODB_READ_ONLY", Reconnect, ReasonReadOnly},

		{1152, "ER_ABORTING_CONNECTION", Reconnect, ReasonLost},
		{1158, "ER_NET_READ_ERROR", Reconnect, ReasonLost},
		{1159, "ER_NET_READ_INTERRUPTED", Reconnect, ReasonLost},
		{1160, "ER_NET_ERROR_ON_WRITE", Reconnect, ReasonLost},
		{1161, "ER_NET_WRITE_INTERRUPTED", Reconnect, ReasonLost},
		{1184, "ER_NEW_ABORTING_CONNECTION", Reconnect, ReasonLost},
		{1243, "ER_UNKNOWN_STMT_HANDLER", Reconnect, ReasonLost}, // a proxy switched to another server connection
		{1927, "ER_CONNECTION_KILLED", Reconnect, ReasonLost},    // MariaDB
		{2002, "CR_CONNECTION_ERROR", Reconnect, ReasonLost},     // some proxies return this and the next three
		{2003, "CR_CONN_HOST_ERROR", Reconnect, ReasonLost},
		{2006, "CR_SERVER_GONE_ERROR", Reconnect, ReasonLost},
		{2013, "CR_SERVER_LOST", Reconnect, ReasonLost},
		{4031, "ER_CLIENT_INTERACTION_TIMEOUT", Reconnect, ReasonLost}, // MySQL; MariaDB uses it for triggers, never for an insert

		{8002, "ErrForUpdateCantRetry", Retry, ReasonTiDB},
		{8005, "ErrWriteConflictInTiDB", Retry, ReasonTiDB},
		{8020, "ErrTableLocked", Retry, ReasonConflict},
		{8022, "ErrTxnRetryable", Retry, ReasonTiDB},
		{8027, "ErrInfoSchemaExpired", Retry, ReasonTiDB},
		{8028, "ErrInfoSchemaChanged", Retry, ReasonTiDB},
		{8111, "ErrPreparedStmtNotFound", Reconnect, ReasonTiDB},
		{8113, "ErrSchemaChanged", Retry, ReasonTiDB},
		{8120, "ErrGetStartTS", Retry, ReasonTiDB},
		{8229, "ErrLockExpire", Retry, ReasonTiDB},
		{8252, "ErrResourceGroupThrottled", Retry, ReasonTiDB},
		{9001, "ErrPDServerTimeout", Retry, ReasonTiDB}, // also of ProxySQL: no server of the hostgroup can be reached
		{9002, "ErrTiKVServerTimeout", Retry, ReasonTiDB},
		{9003, "ErrTiKVServerBusy", Retry, ReasonTiDB},
		{9004, "ErrResolveLockTimeout", Retry, ReasonTiDB},
		{9005, "ErrRegionUnavailable", Retry, ReasonTiDB},
		{9007, "ErrWriteConflict", Retry, ReasonTiDB},
		{9008, "ErrTiKVStoreLimit", Retry, ReasonTiDB},
		{9010, "ErrTiKVStaleCommand", Retry, ReasonTiDB},

		{1146, "ER_NO_SUCH_TABLE", Stop, ReasonTable},
		{1049, "ER_BAD_DB_ERROR", Stop, ReasonDatabase},
		{1044, "ER_DBACCESS_DENIED_ERROR", Stop, ReasonAccess}, // also for a database that does not exist
		{1142, "ER_TABLEACCESS_DENIED_ERROR", Stop, ReasonGrant},
		{1143, "ER_COLUMNACCESS_DENIED_ERROR", Stop, ReasonGrant},
		{1227, "ER_SPECIFIC_ACCESS_DENIED_ERROR", Stop, ReasonGrant},
		{1045, "ER_ACCESS_DENIED_ERROR", Stop, ReasonAccount},
		{1251, "ER_NOT_SUPPORTED_AUTH_MODE", Stop, ReasonAccount},
		{1524, "ER_PLUGIN_IS_NOT_LOADED", Stop, ReasonAccount},
		{1698, "ER_ACCESS_DENIED_NO_PASSWORD_ERROR", Stop, ReasonAccount},
		{1820, "ER_MUST_CHANGE_PASSWORD", Stop, ReasonAccount},
		{1862, "ER_MUST_CHANGE_PASSWORD_LOGIN", Stop, ReasonAccount},
		{3118, "ER_ACCOUNT_HAS_BEEN_LOCKED", Stop, ReasonAccount}, // MySQL
		{4151, "ER_ACCOUNT_HAS_BEEN_LOCKED", Stop, ReasonAccount}, // MariaDB
		{1129, "ER_HOST_IS_BLOCKED", Stop, ReasonHost},
		{1130, "ER_HOST_NOT_PRIVILEGED", Stop, ReasonHost},
		{1054, "ER_BAD_FIELD_ERROR", Stop, ReasonColumns},
		{1136, "ER_WRONG_VALUE_COUNT_ON_ROW", Stop, ReasonColumns},
		{1265, "WARN_DATA_TRUNCATED", Stop, ReasonColumns},
		{1292, "ER_TRUNCATED_WRONG_VALUE", Stop, ReasonColumns}, // a text that is no number
		{1364, "ER_NO_DEFAULT_FOR_FIELD", Stop, ReasonColumns},
		{1366, "ER_TRUNCATED_WRONG_VALUE_FOR_FIELD", Stop, ReasonColumns},
		{1406, "ER_DATA_TOO_LONG", Stop, ReasonColumns},
		{167, "HA_ERR_AUTOINC_ERANGE", Stop, ReasonKey}, // the storage engine's number, as MariaDB sends it
		{1264, "ER_WARN_DATA_OUT_OF_RANGE", Stop, ReasonKey},
		{1467, "ER_AUTOINC_READ_FAILED", Stop, ReasonKey},
		{1690, "ER_DATA_OUT_OF_RANGE", Stop, ReasonKey},
	}
}

// IsServerError reports whether err is an error that a server has returned for a statement.
func IsServerError(err error) bool {
	server := (*mysql.MySQLError)(nil)
	_, isPostgres := SQLState(err)
	return isPostgres || errors.As(err, &server)
}

// Classify returns what to do about an error of the driver, and the reason.
func Classify(err error) (Action, Reason) {
	if server := (*mysql.MySQLError)(nil); errors.As(err, &server) {
		for _, known := range ServerErrors() {
			if known.Number == server.Number {
				return known.Action, known.Reason
			}
		}
		return Stop, ReasonUnknown
	}
	if state, ok := SQLState(err); ok {
		return classifyState(state, err)
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
		return Stop, ReasonTLS
	case errors.Is(err, mysql.ErrCleartextPassword), errors.Is(err, mysql.ErrNativePassword),
		errors.Is(err, mysql.ErrOldPassword), errors.Is(err, mysql.ErrUnknownPlugin):
		return Stop, ReasonAuth
	case errors.Is(err, os.ErrPermission):
		return Stop, ReasonSystem
	case errors.As(err, &name):
		if name.IsNotFound {
			return Reconnect, ReasonHostName
		}
		return Reconnect, ReasonNetwork
	case IsAnyOf(err, context.DeadlineExceeded, os.ErrDeadlineExceeded):
		return Reconnect, ReasonNoAnswer
	case errors.Is(err, driver.ErrBadConn):
		return Reconnect, ReasonDropped
	case IsAnyOf(err, sql.ErrConnDone, mysql.ErrInvalidConn, mysql.ErrMalformPkt, mysql.ErrPktSync,
		mysql.ErrPktSyncMul, mysql.ErrBusyBuffer, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed):
		return Reconnect, ReasonLost
	case errors.As(err, &network):
		// The connection was refused or reset, the network is down, or the socket does not exist.
		return Reconnect, ReasonRefused
	case IsUnusedConn(err):
		return Reconnect, ReasonLost
	case err != nil && isPostgresReadOnly(err):
		return Reconnect, ReasonReadOnlyPostgres
	case err != nil && isPostgresTLS(err):
		return Stop, ReasonTLSPostgres
	case err != nil && err.Error() == "sql: database is closed": // database/sql does not export it
		return Stop, ReasonClosed
	}
	return Stop, ReasonUnknown
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
