package sqlattempt

import (
	"errors"
	"strings"
)

// A StateError describes an SQLSTATE of PostgreSQL, or a class of them.
type StateError struct {
	State  string // five characters, or the two of a class
	Name   string // as in appendix A of PostgreSQL's manual
	Action Action
	Reason Reason
}

// StateErrors returns the errors of PostgreSQL that are known. A state of five characters
// comes before its class. Errors with other states are permanent: trying again would hide an unknown
// error.
func StateErrors() []StateError {
	return []StateError{
		{"08P01", "protocol_violation", Reconnect, ReasonLost}, // PgBouncer returns it for most of its own errors
		{"08", "connection_exception", Reconnect, ReasonLost},

		{"25006", "read_only_sql_transaction", Reconnect, ReasonReadOnlyPostgres},
		{"25001", "active_sql_transaction", Reconnect, ReasonLost}, // a connection that another user left in a transaction
		{"25P01", "no_active_sql_transaction", Reconnect, ReasonLost},
		{"25P02", "in_failed_sql_transaction", Reconnect, ReasonLost},
		{"25P03", "idle_in_transaction_session_timeout", Reconnect, ReasonBusy},
		{"25P04", "transaction_timeout", Reconnect, ReasonBusy},

		{"40001", "serialization_failure", Retry, ReasonConflict},
		{"40P01", "deadlock_detected", Retry, ReasonConflict},
		{"40003", "statement_completion_unknown", Reconnect, ReasonLost},
		{"40", "transaction_rollback", Retry, ReasonConflict},

		{"53100", "disk_full", Retry, ReasonDiskPostgres},
		{"53300", "too_many_connections", Retry, ReasonBusy},
		{"53", "insufficient_resources", Retry, ReasonBusy},

		{"55000", "object_not_in_prerequisite_state", Reconnect, ReasonReadOnlyPostgres}, // "recovery is in progress": a slot table on a standby
		{"55006", "object_in_use", Retry, ReasonConflict},
		{"55P03", "lock_not_available", Retry, ReasonConflict}, // lock_timeout

		{"57014", "query_canceled", Retry, ReasonBusy}, // statement_timeout, or pg_cancel_backend
		{"57P01", "admin_shutdown", Reconnect, ReasonDown},
		{"57P02", "crash_shutdown", Reconnect, ReasonDown},
		{"57P03", "cannot_connect_now", Reconnect, ReasonDown},
		{"57P04", "database_dropped", Stop, ReasonDatabase},
		{"57P05", "idle_session_timeout", Reconnect, ReasonLost},

		{"58030", "io_error", Reconnect, ReasonDiskPostgres},

		// A row with the key exists already: somebody chose an ID beyond the counter.
		{"23505", "unique_violation", Retry, ReasonKeyPostgres},
		{"2200H", "sequence_generator_limit_exceeded", Stop, ReasonKeyPostgres},
		{"22003", "numeric_value_out_of_range", Stop, ReasonKeyPostgres}, // the column is narrower than the counter

		{"26000", "invalid_sql_statement_name", Reconnect, ReasonPreparedPostgres},
		{"42P05", "duplicate_prepared_statement", Reconnect, ReasonPreparedPostgres},

		{"42P01", "undefined_table", Stop, ReasonTablePostgres},
		{"3F000", "invalid_schema_name", Stop, ReasonSchemaPostgres},
		{"3D000", "invalid_catalog_name", Stop, ReasonDatabase},
		{"42501", "insufficient_privilege", Stop, ReasonGrantPostgres},
		{"28", "invalid_authorization_specification", Stop, ReasonAccountPostgres}, // 28000, and 28P01 for a password
		{"42703", "undefined_column", Stop, ReasonColumnsPostgres},
		{"42804", "datatype_mismatch", Stop, ReasonColumnsPostgres},
		{"42883", "undefined_function", Stop, ReasonColumnsPostgres}, // no operator for these types
		{"22001", "string_data_right_truncation", Stop, ReasonColumnsPostgres},
		{"23502", "not_null_violation", Stop, ReasonColumnsPostgres},
		{"23514", "check_violation", Stop, ReasonColumnsPostgres},
		{"22021", "character_not_in_repertoire", Stop, ReasonEncodingPostgres},
		{"22P05", "untranslatable_character", Stop, ReasonEncodingPostgres},
	}
}

// SQLState returns the SQLSTATE of an error of PostgreSQL. The drivers pgx and lib/pq have this method.
func SQLState(err error) (string, bool) {
	var server interface {
		error
		SQLState() string
	}
	if !errors.As(err, &server) {
		return "", false
	}
	return server.SQLState(), true
}

// classifyState returns what to do about an error with an SQLSTATE, and the reason.
func classifyState(state string, err error) (Action, Reason) {
	if containsAny(err, "cached plan must not change result type") { // somebody has changed the table; the state is a general one
		return Reconnect, ReasonConflict
	}
	if containsAny(err, "cannot use serializable mode in a hot standby") { // the state is a general one too
		return Reconnect, ReasonReadOnlyPostgres
	}
	if containsAny(err, "not allowed in statement pooling mode") { // of PgBouncer; the state is that of most of its errors
		return Stop, ReasonPoolModePostgres
	}
	for _, known := range StateErrors() {
		if strings.HasPrefix(state, known.State) {
			return known.Action, known.Reason
		}
	}
	return Stop, ReasonUnknown
}

// IsUnusedConn reports whether pgx returned err before it sent anything, for example because the connection
// is closed.
func IsUnusedConn(err error) bool {
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
