package sqlstore

import (
	"errors"
	"strings"
)

// A StateError describes an SQLSTATE of PostgreSQL, or a class of them.
type StateError struct {
	State  string // five characters, or the two of a class
	Name   string // as in appendix A of PostgreSQL's manual
	Action Action
	Advice string
}

// StateErrors returns the errors of PostgreSQL that are known. A state of five characters
// comes before its class. Errors with other states are permanent: trying again would hide an unknown
// error.
func StateErrors(a Advice) []StateError {
	return []StateError{
		{"08P01", "protocol_violation", Reconnect, AdviceLost}, // PgBouncer returns it for most of its own errors
		{"08", "connection_exception", Reconnect, AdviceLost},

		{"25006", "read_only_sql_transaction", Reconnect, AdviceReadOnlyPostgres},
		{"25001", "active_sql_transaction", Reconnect, AdviceLost}, // a connection that another user left in a transaction
		{"25P01", "no_active_sql_transaction", Reconnect, AdviceLost},
		{"25P02", "in_failed_sql_transaction", Reconnect, AdviceLost},
		{"25P03", "idle_in_transaction_session_timeout", Reconnect, AdviceBusy},
		{"25P04", "transaction_timeout", Reconnect, AdviceBusy},

		{"40001", "serialization_failure", Retry, AdviceConflict},
		{"40P01", "deadlock_detected", Retry, AdviceConflict},
		{"40003", "statement_completion_unknown", Reconnect, AdviceLost},
		{"40", "transaction_rollback", Retry, AdviceConflict},

		{"53100", "disk_full", Retry, AdviceDiskPostgres},
		{"53300", "too_many_connections", Retry, AdviceBusy},
		{"53", "insufficient_resources", Retry, AdviceBusy},

		{"55000", "object_not_in_prerequisite_state", Reconnect, AdviceReadOnlyPostgres}, // "recovery is in progress": a slot table on a standby
		{"55006", "object_in_use", Retry, AdviceConflict},
		{"55P03", "lock_not_available", Retry, AdviceConflict}, // lock_timeout

		{"57014", "query_canceled", Retry, AdviceBusy}, // statement_timeout, or pg_cancel_backend
		{"57P01", "admin_shutdown", Reconnect, AdviceDown},
		{"57P02", "crash_shutdown", Reconnect, AdviceDown},
		{"57P03", "cannot_connect_now", Reconnect, AdviceDown},
		{"57P04", "database_dropped", Stop, AdviceDatabase},
		{"57P05", "idle_session_timeout", Reconnect, AdviceLost},

		{"58030", "io_error", Reconnect, AdviceDiskPostgres},

		// A row with the key exists already: somebody chose an ID beyond the counter.
		{"23505", "unique_violation", Retry, a.KeyPostgres},
		{"2200H", "sequence_generator_limit_exceeded", Stop, a.KeyPostgres},
		{"22003", "numeric_value_out_of_range", Stop, a.KeyPostgres}, // the column is narrower than the counter

		{"26000", "invalid_sql_statement_name", Reconnect, AdvicePreparedPostgres},
		{"42P05", "duplicate_prepared_statement", Reconnect, AdvicePreparedPostgres},

		{"42P01", "undefined_table", Stop, a.TablePostgres},
		{"3F000", "invalid_schema_name", Stop, a.SchemaPostgres},
		{"3D000", "invalid_catalog_name", Stop, AdviceDatabase},
		{"42501", "insufficient_privilege", Stop, a.GrantPostgres},
		{"28", "invalid_authorization_specification", Stop, AdviceAccountPostgres}, // 28000, and 28P01 for a password
		{"42703", "undefined_column", Stop, a.ColumnsPostgres},
		{"42804", "datatype_mismatch", Stop, a.ColumnsPostgres},
		{"22001", "string_data_right_truncation", Stop, a.ColumnsPostgres},
		{"23502", "not_null_violation", Stop, a.ColumnsPostgres},
		{"23514", "check_violation", Stop, a.ColumnsPostgres},
		{"22021", "character_not_in_repertoire", Stop, a.EncodingPostgres},
		{"22P05", "untranslatable_character", Stop, a.EncodingPostgres},
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

// classifyState returns what to do about an error with an SQLSTATE, and the advice for people.
func classifyState(state string, err error, a Advice) (Action, string) {
	if containsAny(err, "cached plan must not change result type") { // somebody has changed the table; the state is a general one
		return Reconnect, AdviceConflict
	}
	if containsAny(err, "cannot use serializable mode in a hot standby") { // the state is a general one too
		return Reconnect, AdviceReadOnlyPostgres
	}
	if containsAny(err, "not allowed in statement pooling mode") { // of PgBouncer; the state is that of most of its errors
		return Stop, AdvicePoolModePostgres
	}
	for _, known := range StateErrors(a) {
		if strings.HasPrefix(state, known.State) {
			return known.Action, known.Advice
		}
	}
	return Stop, a.Unknown
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
