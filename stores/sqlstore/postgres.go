package sqlstore

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/ringuid/ringuid/internal/sqlattempt"
)

// postgresDialect is the dialect of PostgreSQL.
type postgresDialect struct{ sqlattempt.Dialect }

// appendText appends a literal in hexadecimal digits. Its meaning depends neither on the connection's
// character set nor on standard_conforming_strings. The collation of convert_from is C, so that the server would not
// use the index on the holder's name, which has the default one.
func (d postgresDialect) appendText(b *statement, value string) {
	b.raw("convert_from(decode('", hex.EncodeToString([]byte(value)), `', 'hex'), 'UTF8') COLLATE "default"`)
}

// readText makes the server send the bytes of a text as hexadecimal digits, without a conversion to the connection's
// character set. The driver pgx cannot read bytea if bytea_output is escape and default_query_exec_mode is exec or
// simple_protocol.
func (d postgresDialect) readText(column string) string {
	return "encode(convert_to(" + column + ", 'UTF8'), 'hex')"
}

func (d postgresDialect) decodeText(value string) (string, error) {
	text, err := hex.DecodeString(value)
	return string(text), err
}

// clock uses the time at which the server received the statement. clock_timestamp() would change while the
// statement is executed, and an index could not be used for it.
func (d postgresDialect) clock() string {
	return "CAST(floor(extract(epoch FROM statement_timestamp()) * 1000) AS bigint)"
}

// history is the identifier of the database cluster, the timeline, and the start of the server. The timeline
// is that of the log which the server writes: pg_control_checkpoint() still shows the old one after a promotion.
// On a standby, the expression is an error (55000). Every account may call these functions.
func (d postgresDialect) history() string {
	return "(SELECT concat('PostgreSQL ', system_identifier, ' ', substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), ' '," +
		" CAST(extract(epoch FROM pg_postmaster_start_time()) * 1000000 AS bigint)) FROM pg_control_system())"
}

// readOnly implements dialect: history fails on a standby.
func (d postgresDialect) readOnly() string { return "0" }

// session is not required: a statement outside of a transaction sees the rows that are committed, at every
// isolation level, and autocommit cannot be off.
func (d postgresDialect) session() string { return "''" }

func (d postgresDialect) sessionStatements(string) (before, after []string) { return nil, nil }

func (d postgresDialect) selectPrefix() string { return "SELECT " }

// beginsAlways: COMMIT without a transaction causes a warning in the server's log.
func (d postgresDialect) beginsAlways() bool { return true }

// Begin also sets synchronous_commit to on for the transaction, if it is off: then the server would
// acknowledge the commit before it is durable.
func (d postgresDialect) Begin() string {
	return d.Dialect.Begin() + "; SELECT " + sqlattempt.WaitForCommit
}

// inspect implements dialect. Any server may be replaced by a standby that lacks the last writes.
func (d postgresDialect) inspect(ctx context.Context, conn *sql.Conn, pool, slots string) (serverDurability, error) {
	var s sqlattempt.PostgresSettings
	var encoding string
	var notPermanent int
	b := (&statement{dialect: d}).raw("SELECT ", sqlattempt.PostgresSettingsColumns, ", current_setting('server_encoding'),",
		" (SELECT count(*) FROM pg_catalog.pg_class WHERE relpersistence <> 'p' AND oid IN (to_regclass(").text(pool).raw("), to_regclass(").text(slots).raw(")))")
	if err := conn.QueryRowContext(ctx, b.query.String()).
		Scan(&s.FSync, &s.Pages, &s.Commit, &s.Standbys, &encoding, &notPermanent); err != nil {
		return serverDurability{}, err
	}
	var result serverDurability
	for _, r := range s.Risks() {
		result.risk += fmt.Sprintf("; %s is %s: %s", r.Setting, r.Value, r.What)
	}
	if notPermanent > 0 {
		result.risk += "; a table is UNLOGGED: it is empty after a crash, and on standbys"
	}
	result.risk = strings.TrimPrefix(result.risk, "; ")
	if encoding != "UTF8" {
		result.refused = fmt.Sprintf("the database's encoding is %s; must be UTF8", encoding)
	}
	return result, nil
}
