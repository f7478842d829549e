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

// action is what to do after a failed try.
type action int

const (
	stop      action = iota // another try fails in the same way
	again                   // another try may succeed
	elsewhere               // another try may succeed on another connection
)

// fault is an error of a try, classified.
type fault struct {
	err    error
	action action
	advice string
	own    bool // it says itself what to do, and is not about the database
}

// What to do about an error, or to check where it lasts.
const (
	adviceUnknown  = "another try would not help: correct the cause and start again"
	adviceTable    = "the table does not exist: apply schema.sql, or name the table by WithTable"
	adviceDatabase = "the database does not exist: name an existing one in the DSN"
	adviceAccess   = "the account may not use that database: check the database's name in the DSN, or grant the account INSERT on the table"
	adviceGrant    = "the account lacks a privilege: grant it INSERT on the table"
	adviceAccount  = "the server refused the account: check user, password and host in the DSN"
	adviceHost     = "the server does not accept this host: check the account's host part, or unblock the host"
	adviceColumns  = "the table is not the original's: compare its columns with schema.sql"
	adviceKey      = "if this lasts, the key's AUTO_INCREMENT is exhausted or wrong: see schema.sql on how many are left, and never set it back"
	adviceReadOnly = "the server is read-only: if this lasts, point the DSN at the primary (during a failover, rejectReadOnly=true in the DSN of " +
		"go-sql-driver/mysql makes it leave such servers for all statements)"
	adviceGalera   = "the node is not part of its Galera cluster: check the cluster, or point the DSN at another node"
	adviceBusy     = "if this lasts, check the load of the server and its limits"
	adviceDown     = "the server is shutting down or not ready: if this lasts, check that it runs"
	adviceConflict = "the statement conflicts with others: if this lasts, check what locks the table"
	adviceLost     = "the connection was lost: if this lasts, check the server's log and what lies between (proxies, timeouts)"
	adviceDropped  = "the driver dropped the connection: the server closed it, or is read-only and the DSN has rejectReadOnly=true"
	adviceTiDB     = "if this lasts, check the state of TiDB, PD and TiKV"
	adviceSilent   = "check host and port in the DSN, that no firewall drops the packets, and that the server is not overloaded or paused"
	adviceLocked   = "check what locks the table (SHOW FULL PROCESSLIST), and that the server, the network and what lies between are not overloaded or paused"
	advicePool     = "all connections of the pool are in use: give them back sooner, or raise SetMaxOpenConns"
	adviceRefused  = "check host and port in the DSN, and that the server runs and listens there"
	adviceName     = "the host name does not exist: check the host in the DSN, and the name server"
	adviceNetwork  = "check the host in the DSN, the name server and the network"
	adviceTLS      = "the TLS settings do not fit the server: check tls in the DSN and the certificates"
	adviceAuth     = "the server requires an authentication method that the DSN does not allow"
	adviceSystem   = "the system does not let this process reach the server"
	adviceClosed   = "the pool was closed: close it after the generators that use it"
)

// serverError is what is known about one of the server's error numbers.
type serverError struct {
	number uint16
	name   string // ER_… in MySQL and MariaDB, Err… in TiDB
	action action
	advice string
}

// serverErrors returns the errors of servers that an insert may meet. The names are those of
// MySQL 8.4, MariaDB 11.8 and TiDB 8.5. Other numbers are permanent: to wait until an unknown
// error passes would hide it.
func serverErrors() []serverError {
	return []serverError{
		{1040, "ER_CON_COUNT_ERROR", again, adviceBusy},
		{1041, "ER_OUT_OF_RESOURCES", again, adviceBusy},
		{1135, "ER_CANT_CREATE_THREAD", again, adviceBusy},
		{1203, "ER_TOO_MANY_USER_CONNECTIONS", again, adviceBusy},
		{1226, "ER_USER_LIMIT_REACHED", again, adviceBusy}, // per hour
		{1461, "ER_MAX_PREPARED_STMT_COUNT_REACHED", again, adviceBusy},
		{1637, "ER_TOO_MANY_CONCURRENT_TRXS", again, adviceBusy},
		{1969, "ER_STATEMENT_TIMEOUT", again, adviceBusy}, // MariaDB
		{3024, "ER_QUERY_TIMEOUT", again, adviceBusy},     // MySQL; unused in MariaDB

		// MariaDB rolls the transaction back where innodb_snapshot_isolation is on, its default
		// from 11.6.2: what it read was changed by another one. An insert alone reads nothing,
		// but a trigger may.
		{1020, "ER_CHECKREAD", again, adviceConflict},
		{1205, "ER_LOCK_WAIT_TIMEOUT", again, adviceConflict},
		{1213, "ER_LOCK_DEADLOCK", again, adviceConflict}, // on Galera also a conflict with another node
		{1412, "ER_TABLE_DEF_CHANGED", again, adviceConflict},
		{1614, "ER_XA_RBDEADLOCK", again, adviceConflict},
		{1615, "ER_NEED_REPREPARE", again, adviceConflict},
		{1689, "ER_LOCK_ABORTED", again, adviceConflict},
		{3572, "ER_LOCK_NOWAIT", again, adviceConflict}, // MySQL; MariaDB has 1205

		// An insert without a key meets a key that is there: on Galera with
		// wsrep_auto_increment_control off two nodes may choose the same one.
		{1062, "ER_DUP_ENTRY", again, adviceKey},

		{1180, "ER_ERROR_DURING_COMMIT", again, adviceBusy},
		{1317, "ER_QUERY_INTERRUPTED", again, adviceBusy},
		{3100, "ER_RUN_HOOK_ERROR", elsewhere, adviceBusy},                     // MySQL: Group Replication
		{3101, "ER_TRANSACTION_ROLLBACK_DURING_COMMIT", again, adviceConflict}, // the same

		{1053, "ER_SERVER_SHUTDOWN", elsewhere, adviceDown},
		{1077, "ER_NORMAL_SHUTDOWN", elsewhere, adviceDown},
		{1079, "ER_SHUTDOWN_COMPLETE", elsewhere, adviceDown},
		{3032, "ER_SERVER_OFFLINE_MODE", elsewhere, adviceDown},
		{3168, "ER_SERVER_ISNT_AVAILABLE", elsewhere, adviceDown}, // MySQL
		{1047, "ER_UNKNOWN_COM_ERROR", elsewhere, adviceGalera},   // "WSREP has not yet prepared node for application use"

		// A primary that was demoted, or a replica that is about to be promoted.
		{1290, "ER_OPTION_PREVENTS_STATEMENT", elsewhere, adviceReadOnly},
		{1792, "ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION", elsewhere, adviceReadOnly},
		{1836, "ER_READ_ONLY_MODE", elsewhere, adviceReadOnly},
		{1874, "ER_INNODB_READ_ONLY", elsewhere, adviceReadOnly},

		{1152, "ER_ABORTING_CONNECTION", elsewhere, adviceLost},
		{1158, "ER_NET_READ_ERROR", elsewhere, adviceLost},
		{1159, "ER_NET_READ_INTERRUPTED", elsewhere, adviceLost},
		{1160, "ER_NET_ERROR_ON_WRITE", elsewhere, adviceLost},
		{1161, "ER_NET_WRITE_INTERRUPTED", elsewhere, adviceLost},
		{1184, "ER_NEW_ABORTING_CONNECTION", elsewhere, adviceLost},
		{1243, "ER_UNKNOWN_STMT_HANDLER", elsewhere, adviceLost}, // a proxy that changed the connection beneath
		{1927, "ER_CONNECTION_KILLED", elsewhere, adviceLost},    // MariaDB
		{2002, "CR_CONNECTION_ERROR", elsewhere, adviceLost},     // this and the next three: as some proxies report it
		{2003, "CR_CONN_HOST_ERROR", elsewhere, adviceLost},
		{2006, "CR_SERVER_GONE_ERROR", elsewhere, adviceLost},
		{2013, "CR_SERVER_LOST", elsewhere, adviceLost},
		{4031, "ER_CLIENT_INTERACTION_TIMEOUT", elsewhere, adviceLost}, // MySQL; in MariaDB it is about triggers, and no insert's

		{8002, "ErrForUpdateCantRetry", again, adviceTiDB},
		{8005, "ErrWriteConflictInTiDB", again, adviceTiDB},
		{8020, "ErrTableLocked", again, adviceConflict},
		{8022, "ErrTxnRetryable", again, adviceTiDB},
		{8027, "ErrInfoSchemaExpired", again, adviceTiDB},
		{8028, "ErrInfoSchemaChanged", again, adviceTiDB},
		{8111, "ErrPreparedStmtNotFound", elsewhere, adviceTiDB},
		{8113, "ErrSchemaChanged", again, adviceTiDB},
		{8120, "ErrGetStartTS", again, adviceTiDB},
		{8229, "ErrLockExpire", again, adviceTiDB},
		{8252, "ErrResourceGroupThrottled", again, adviceTiDB},
		{9001, "ErrPDServerTimeout", again, adviceTiDB},
		{9002, "ErrTiKVServerTimeout", again, adviceTiDB},
		{9003, "ErrTiKVServerBusy", again, adviceTiDB},
		{9004, "ErrResolveLockTimeout", again, adviceTiDB},
		{9005, "ErrRegionUnavailable", again, adviceTiDB},
		{9007, "ErrWriteConflict", again, adviceTiDB},
		{9008, "ErrTiKVStoreLimit", again, adviceTiDB},
		{9010, "ErrTiKVStaleCommand", again, adviceTiDB},

		{1146, "ER_NO_SUCH_TABLE", stop, adviceTable},
		{1049, "ER_BAD_DB_ERROR", stop, adviceDatabase},
		{1044, "ER_DBACCESS_DENIED_ERROR", stop, adviceAccess}, // also for a database that does not exist
		{1142, "ER_TABLEACCESS_DENIED_ERROR", stop, adviceGrant},
		{1143, "ER_COLUMNACCESS_DENIED_ERROR", stop, adviceGrant},
		{1227, "ER_SPECIFIC_ACCESS_DENIED_ERROR", stop, adviceGrant},
		{1045, "ER_ACCESS_DENIED_ERROR", stop, adviceAccount},
		{1251, "ER_NOT_SUPPORTED_AUTH_MODE", stop, adviceAccount},
		{1524, "ER_PLUGIN_IS_NOT_LOADED", stop, adviceAccount},
		{1698, "ER_ACCESS_DENIED_NO_PASSWORD_ERROR", stop, adviceAccount},
		{1820, "ER_MUST_CHANGE_PASSWORD", stop, adviceAccount},
		{1862, "ER_MUST_CHANGE_PASSWORD_LOGIN", stop, adviceAccount},
		{3118, "ER_ACCOUNT_HAS_BEEN_LOCKED", stop, adviceAccount}, // MySQL
		{4151, "ER_ACCOUNT_HAS_BEEN_LOCKED", stop, adviceAccount}, // MariaDB
		{1129, "ER_HOST_IS_BLOCKED", stop, adviceHost},
		{1130, "ER_HOST_NOT_PRIVILEGED", stop, adviceHost},
		{1054, "ER_BAD_FIELD_ERROR", stop, adviceColumns},
		{1136, "ER_WRONG_VALUE_COUNT_ON_ROW", stop, adviceColumns},
		{1265, "WARN_DATA_TRUNCATED", stop, adviceColumns},
		{1364, "ER_NO_DEFAULT_FOR_FIELD", stop, adviceColumns},
		{1366, "ER_TRUNCATED_WRONG_VALUE_FOR_FIELD", stop, adviceColumns},
		{1406, "ER_DATA_TOO_LONG", stop, adviceColumns},
		{167, "HA_ERR_AUTOINC_ERANGE", stop, adviceKey}, // the storage engine's number, as MariaDB sends it
		{1264, "ER_WARN_DATA_OUT_OF_RANGE", stop, adviceKey},
		{1467, "ER_AUTOINC_READ_FAILED", stop, adviceKey},
		{1690, "ER_DATA_OUT_OF_RANGE", stop, adviceKey},
	}
}

// classify finds out what to do about an error of the driver.
func classify(err error) fault {
	action, advice := judge(err)
	return fault{err: foreign(err), action: action, advice: advice}
}

func judge(err error) (action, string) {
	if server := (*mysql.MySQLError)(nil); errors.As(err, &server) {
		for _, known := range serverErrors() {
			if known.number == server.Number {
				return known.action, known.advice
			}
		}
		return stop, adviceUnknown
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
		errors.As(err, &noTLS), errors.Is(err, mysql.ErrNoTLS), isAlert(err):
		return stop, adviceTLS
	case errors.Is(err, mysql.ErrCleartextPassword), errors.Is(err, mysql.ErrNativePassword),
		errors.Is(err, mysql.ErrOldPassword), errors.Is(err, mysql.ErrUnknownPlugin):
		return stop, adviceAuth
	case errors.Is(err, os.ErrPermission):
		return stop, adviceSystem
	case errors.As(err, &name):
		if name.IsNotFound {
			return elsewhere, adviceName
		}
		return elsewhere, adviceNetwork
	case isAny(err, context.DeadlineExceeded, os.ErrDeadlineExceeded):
		return elsewhere, adviceSilent
	case errors.Is(err, driver.ErrBadConn):
		return elsewhere, adviceDropped
	case isAny(err, sql.ErrConnDone, mysql.ErrInvalidConn, mysql.ErrMalformPkt, mysql.ErrPktSync,
		mysql.ErrPktSyncMul, mysql.ErrBusyBuffer, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed):
		return elsewhere, adviceLost
	case errors.As(err, &network):
		// A connection that is refused or reset, a network that is not up, a socket that is not there.
		return elsewhere, adviceRefused
	case err != nil && err.Error() == "sql: database is closed": // database/sql does not export it
		return stop, adviceClosed
	}
	return stop, adviceUnknown
}

// isAny reports whether an error is one of several.
func isAny(err error, targets ...error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// isAlert reports whether one side of a TLS connection refused the other: versions that do not
// fit, or a client certificate that is missing or not trusted. Package tls makes a net.Error
// of it, which would be taken for a network that comes back.
func isAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error")
}

// foreign returns an error of the driver, or of what the user plugged into it, in which errors.Is
// finds none of this package's errors: those have a meaning to generators.
func foreign(err error) error {
	if isAny(err, ErrOption, ErrWidth, ErrNoKey, ErrTooLow, ErrPermanent, ErrGaveUp, ErrCorrupt, ErrFile, ErrInUse, ErrReleased) {
		return errors.New(err.Error())
	}
	return err
}
