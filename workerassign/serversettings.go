package workerassign

import (
	"context"
	"database/sql"
	"log/slog"
	"time"

	"github.com/ringuid/ringuid/internal/sqlattempt"
)

// settingsTimeout bounds the query for the server's settings.
const settingsTimeout = 2 * time.Second

// checkDurability reads the settings that decide whether a committed row can be lost in a crash, and
// logs a warning if it can. It does so once per Disposable. It ignores errors, because the account
// may lack the privilege, and some servers do not have these settings.
func (t *assignment) checkDurability(ctx context.Context, conn *sql.Conn, target *insertTarget) {
	if !t.d.settingsChecked.CompareAndSwap(false, true) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, settingsTimeout)
	defer cancel()
	for _, r := range target.findRisks(ctx, conn, target.table) {
		t.log.Log(slog.LevelWarn, "workerassign: the database may lose assigned worker IDs and assign them a second time",
			"table", t.d.cfg.table, "server", t.d.cfg.server, "setting", r.Setting, "value", r.Value, "must be", r.Want, "risk", r.What)
	}
}

// findMySQLRisks returns the risks of a server of the MySQL family.
func findMySQLRisks(ctx context.Context, conn *sql.Conn, _ string) []sqlattempt.Risk {
	settings, err := sqlattempt.ReadVariables(ctx, conn, "innodb_flush_log_at_trx_commit", "sync_binlog", "log_bin")
	// With autocommit off, the query may have started a transaction.
	if _, err := conn.ExecContext(ctx, sqlattempt.RollbackMySQL); err != nil {
		sqlattempt.DiscardConn(conn)
	}
	if err != nil {
		return nil
	}
	return sqlattempt.MySQLRisks(settings)
}

// findPostgresRisks returns the risks of a PostgreSQL server and of a table.
func findPostgresRisks(ctx context.Context, conn *sql.Conn, quoted string) []sqlattempt.Risk {
	var s sqlattempt.PostgresSettings
	var persistence string
	var cycle bool
	err := conn.QueryRowContext(ctx, "SELECT "+sqlattempt.PostgresSettingsColumns+", c.relpersistence::text, coalesce(bool_or(s.seqcycle), false)"+
		" FROM pg_catalog.pg_class AS c"+
		" LEFT JOIN pg_catalog.pg_depend AS d ON d.refobjid = c.oid AND d.refclassid = 'pg_catalog.pg_class'::regclass"+
		" AND d.classid = 'pg_catalog.pg_class'::regclass AND d.deptype IN ('a', 'i')"+
		" LEFT JOIN pg_catalog.pg_sequence AS s ON s.seqrelid = d.objid"+
		" WHERE c.oid = to_regclass($1) GROUP BY c.relpersistence", quoted).Scan(&s.FSync, &s.Pages, &s.Commit, &s.Standbys, &persistence, &cycle)
	if err != nil {
		return nil
	}
	risks := s.Risks()
	if persistence != "p" {
		risks = append(risks, sqlattempt.Risk{Setting: "the table's persistence", Value: persistence, Want: "p", What: "an unlogged table and its counter are empty after a crash, and on standbys"})
	}
	if cycle {
		risks = append(risks, sqlattempt.Risk{Setting: "the sequence's CYCLE", Value: "true", Want: "false", What: "the sequence starts again after its greatest number"})
	}
	return risks
}
