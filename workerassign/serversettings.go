package workerassign

import (
	"context"
	"database/sql"
	"log/slog"
	"time"

	"github.com/ringuid/ringuid/internal/sqlstore"
)

// settingsTimeout bounds the query for the server's settings.
const settingsTimeout = 2 * time.Second

// risk is a setting with which a committed row can be lost in a crash, or an ID assigned a second time.
type risk struct{ setting, value, want, what string }

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
			"table", t.d.cfg.table, "server", t.d.cfg.server, "setting", r.setting, "value", r.value, "must be", r.want, "risk", r.what)
	}
}

// findMySQLRisks returns the risks of a server of the MySQL family.
func findMySQLRisks(ctx context.Context, conn *sql.Conn, _ string) (risks []risk) {
	settings, err := readSettings(ctx, conn)
	// With autocommit off, the query may have started a transaction.
	if _, err := conn.ExecContext(ctx, sqlstore.RollbackMySQL); err != nil {
		sqlstore.DiscardConn(conn)
	}
	if err != nil {
		return nil
	}
	for _, s := range findRiskySettings(settings) {
		risks = append(risks, risk{setting: s.name, value: settings[s.name], want: "1", what: s.risk})
	}
	return risks
}

// readSettings reads the settings that checkDurability checks. Settings that the server does not have
// are missing in the result.
func readSettings(ctx context.Context, conn *sql.Conn) (map[string]string, error) {
	return sqlstore.ReadVariables(ctx, conn, "innodb_flush_log_at_trx_commit", "sync_binlog", "log_bin")
}

// riskySetting is the name of a setting that is not 1, and what may happen because of that.
type riskySetting struct{ name, risk string }

// findRiskySettings returns the settings with which the server can lose committed rows.
func findRiskySettings(settings map[string]string) []riskySetting {
	var found []riskySetting
	if v, ok := settings["innodb_flush_log_at_trx_commit"]; ok && v != "1" {
		risk := "rows may be lost if the server process is killed"
		if v == "2" {
			risk = "rows may be lost if the machine loses power"
		}
		found = append(found, riskySetting{"innodb_flush_log_at_trx_commit", risk})
	}
	if sqlstore.IsOn(settings["log_bin"]) {
		if v, ok := settings["sync_binlog"]; ok && v != "1" {
			found = append(found, riskySetting{"sync_binlog", "rows may be lost, or be missing on replicas, if the machine loses power"})
		}
	}
	return found
}

// postgresSettings are the settings of PostgreSQL that decide whether committed rows can be lost. Every account
// may read them.
type postgresSettings struct{ fsync, pages, commit, standbys string }

// postgresSettingsColumns selects the fields of postgresSettings.
const postgresSettingsColumns = "current_setting('fsync'), current_setting('full_page_writes')," +
	" current_setting('synchronous_commit'), current_setting('synchronous_standby_names')"

// risks returns the settings with which the server can lose committed rows. synchronous_commit = off is not one
// of them, because it is changed for each transaction, see sqlstore.WaitForCommit.
func (s postgresSettings) risks() (risks []risk) {
	if s.fsync != "on" {
		risks = append(risks, risk{"fsync", s.fsync, "on", "rows may be lost, and the database may be damaged, if the machine loses power"})
	}
	if s.pages != "on" {
		risks = append(risks, risk{"full_page_writes", s.pages, "on", "rows may be lost, and the database may be damaged, if the machine loses power"})
	}
	if s.standbys != "" && (s.commit == "local" || s.commit == "remote_write") {
		risks = append(risks, risk{"synchronous_commit", s.commit, "on", "the last rows may be missing on the standby that replaces this server"})
	}
	return risks
}

// findPostgresRisks returns the risks of a PostgreSQL server and of a table.
func findPostgresRisks(ctx context.Context, conn *sql.Conn, quoted string) []risk {
	var s postgresSettings
	var persistence string
	var cycle bool
	err := conn.QueryRowContext(ctx, "SELECT "+postgresSettingsColumns+", c.relpersistence::text, coalesce(bool_or(s.seqcycle), false)"+
		" FROM pg_catalog.pg_class AS c"+
		" LEFT JOIN pg_catalog.pg_depend AS d ON d.refobjid = c.oid AND d.refclassid = 'pg_catalog.pg_class'::regclass"+
		" AND d.classid = 'pg_catalog.pg_class'::regclass AND d.deptype IN ('a', 'i')"+
		" LEFT JOIN pg_catalog.pg_sequence AS s ON s.seqrelid = d.objid"+
		" WHERE c.oid = to_regclass($1) GROUP BY c.relpersistence", quoted).Scan(&s.fsync, &s.pages, &s.commit, &s.standbys, &persistence, &cycle)
	if err != nil {
		return nil
	}
	risks := s.risks()
	if persistence != "p" {
		risks = append(risks, risk{"the table's persistence", persistence, "p", "an unlogged table and its counter are empty after a crash, and on standbys"})
	}
	if cycle {
		risks = append(risks, risk{"the sequence's CYCLE", "true", "false", "the sequence starts again after its greatest number"})
	}
	return risks
}
