package workerassign

import (
	"errors"
	"strings"
)

// The advice for errors of PostgreSQL where it differs from that for MySQL.
const (
	adviceTablePostgres = "the table does not exist: apply schema.postgres.sql in the database of the DSN, " +
		"set the table's name by WithTable, or check search_path"
	adviceSchemaPostgres  = "the schema does not exist: apply schema.postgres.sql, or set the table's name by WithTable"
	adviceGrantPostgres   = "the account lacks a privilege: grant it INSERT on the table and SELECT on its column id, as schema.postgres.sql describes"
	adviceAccountPostgres = "the server refused the account: check user, password and database in the DSN, and the server's pg_hba.conf"
	adviceColumnsPostgres = "the table has the wrong columns: compare its columns with schema.postgres.sql"
	adviceKeyPostgres     = "if this persists, the column's sequence is exhausted or was set back: see AFTER A FAILOVER OR A RESTORED BACKUP " +
		"and HOW MANY ARE LEFT in schema.postgres.sql"
	adviceReadOnlyPostgres = "the server is a standby or read-only: if this persists, point the DSN at the primary " +
		"(list all servers as hosts in the DSN, with target_session_attrs=read-write)"
	adviceLockedPostgres = "check what locks the table (pg_stat_activity and pg_locks), whether the commit waits for a synchronous standby " +
		"(pg_stat_replication), and that the server, the network and proxies are not overloaded or paused"
	advicePreparedPostgres = "a connection pooler has mixed up prepared statements: with pgx, add default_query_exec_mode=exec to the DSN"
	adviceTLSPostgres      = "the TLS settings do not match the server's: check sslmode in the DSN and the certificates"
	adviceDiskPostgres     = "the server has a problem with its disk: if this persists, see the server's log"
	adviceEncodingPostgres = "the database's encoding lacks a character of the host name: use a database with the encoding UTF8, or WithNode"
)

// stateError describes an SQLSTATE of PostgreSQL, or a class of them.
type stateError struct {
	state  string // five characters, or the two of a class
	name   string // as in appendix A of PostgreSQL's manual
	action failureAction
	advice string
}

// stateErrors returns the errors that PostgreSQL may return for an insert. A state of five characters
// comes before its class. Errors with other states are permanent: trying again would hide an unknown
// error.
func stateErrors() []stateError {
	return []stateError{
		{"08P01", "protocol_violation", actionReconnect, adviceLost}, // PgBouncer returns it for most of its own errors
		{"08", "connection_exception", actionReconnect, adviceLost},

		{"25006", "read_only_sql_transaction", actionReconnect, adviceReadOnlyPostgres},
		{"25001", "active_sql_transaction", actionReconnect, adviceLost}, // a connection that another user left in a transaction
		{"25P01", "no_active_sql_transaction", actionReconnect, adviceLost},
		{"25P02", "in_failed_sql_transaction", actionReconnect, adviceLost},
		{"25P03", "idle_in_transaction_session_timeout", actionReconnect, adviceBusy},
		{"25P04", "transaction_timeout", actionReconnect, adviceBusy},

		{"40001", "serialization_failure", actionRetry, adviceConflict},
		{"40P01", "deadlock_detected", actionRetry, adviceConflict},
		{"40003", "statement_completion_unknown", actionReconnect, adviceLost},
		{"40", "transaction_rollback", actionRetry, adviceConflict},

		{"53100", "disk_full", actionRetry, adviceDiskPostgres},
		{"53300", "too_many_connections", actionRetry, adviceBusy},
		{"53", "insufficient_resources", actionRetry, adviceBusy},

		{"55000", "object_not_in_prerequisite_state", actionReconnect, adviceReadOnlyPostgres}, // "recovery is in progress": a slot table on a standby
		{"55006", "object_in_use", actionRetry, adviceConflict},
		{"55P03", "lock_not_available", actionRetry, adviceConflict}, // lock_timeout

		{"57014", "query_canceled", actionRetry, adviceBusy}, // statement_timeout, or pg_cancel_backend
		{"57P01", "admin_shutdown", actionReconnect, adviceDown},
		{"57P02", "crash_shutdown", actionReconnect, adviceDown},
		{"57P03", "cannot_connect_now", actionReconnect, adviceDown},
		{"57P04", "database_dropped", actionStop, adviceDatabase},
		{"57P05", "idle_session_timeout", actionReconnect, adviceLost},

		{"58030", "io_error", actionReconnect, adviceDiskPostgres},

		// A row with the key exists already: somebody chose an ID beyond the counter.
		{"23505", "unique_violation", actionRetry, adviceKeyPostgres},
		{"2200H", "sequence_generator_limit_exceeded", actionStop, adviceKeyPostgres},
		{"22003", "numeric_value_out_of_range", actionStop, adviceKeyPostgres}, // the column is narrower than the counter

		{"26000", "invalid_sql_statement_name", actionReconnect, advicePreparedPostgres},
		{"42P05", "duplicate_prepared_statement", actionReconnect, advicePreparedPostgres},

		{"42P01", "undefined_table", actionStop, adviceTablePostgres},
		{"3F000", "invalid_schema_name", actionStop, adviceSchemaPostgres},
		{"3D000", "invalid_catalog_name", actionStop, adviceDatabase},
		{"42501", "insufficient_privilege", actionStop, adviceGrantPostgres},
		{"28", "invalid_authorization_specification", actionStop, adviceAccountPostgres}, // 28000, and 28P01 for a password
		{"42703", "undefined_column", actionStop, adviceColumnsPostgres},
		{"42804", "datatype_mismatch", actionStop, adviceColumnsPostgres},
		{"22001", "string_data_right_truncation", actionStop, adviceColumnsPostgres},
		{"23502", "not_null_violation", actionStop, adviceColumnsPostgres},
		{"23514", "check_violation", actionStop, adviceColumnsPostgres},
		{"22021", "character_not_in_repertoire", actionStop, adviceEncodingPostgres},
		{"22P05", "untranslatable_character", actionStop, adviceEncodingPostgres},
	}
}

// sqlState returns the SQLSTATE of an error of PostgreSQL. The drivers pgx and lib/pq have this method.
func sqlState(err error) (string, bool) {
	var server interface {
		error
		SQLState() string
	}
	if !errors.As(err, &server) {
		return "", false
	}
	return server.SQLState(), true
}

// postgresActionAndAdvice returns what to do about an error with an SQLSTATE, and the advice for people.
func postgresActionAndAdvice(state string, err error) (failureAction, string) {
	if containsAny(err, "cached plan must not change result type") { // somebody has changed the table; the state is a general one
		return actionReconnect, adviceConflict
	}
	if containsAny(err, "cannot use serializable mode in a hot standby") { // the state is a general one too
		return actionReconnect, adviceReadOnlyPostgres
	}
	for _, known := range stateErrors() {
		if strings.HasPrefix(state, known.state) {
			return known.action, known.advice
		}
	}
	return actionStop, adviceUnknown
}

// isUnusedConn reports whether pgx returned err before it sent anything, for example because the connection
// is closed.
func isUnusedConn(err error) bool {
	var safe interface {
		error
		SafeToRetry() bool
	}
	return errors.As(err, &safe) && safe.SafeToRetry()
}

// isPostgresReadOnly reports whether pgx or lib/pq refused to connect because target_session_attrs is
// read-write or primary and the server is read-only. The drivers do not export these errors, or not in a
// package that this one may import.
func isPostgresReadOnly(err error) bool {
	return containsAny(err, "read only connection", "session is read-only", "server is in standby mode", "server is in hot standby mode")
}

// isPostgresTLS reports whether pgx or lib/pq refused to connect because the server does not support TLS.
func isPostgresTLS(err error) bool {
	return containsAny(err, "server refused TLS connection", "SSL is not enabled on the server")
}

// containsAny reports whether the text of err contains one of the texts.
func containsAny(err error, texts ...string) bool {
	for _, text := range texts {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}
