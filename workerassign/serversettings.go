package workerassign

import (
	"context"
	"database/sql"
	"log/slog"
	"strings"
	"time"
)

// inspectTimeout bounds the look at the server's settings.
const settingsTimeout = 2 * time.Second

// inspect looks, once, at the settings that decide whether a committed row outlives the server,
// and logs a warning where it may not. It never fails: an account that may not look, or a server
// that has no such settings, is no fault.
func (t *assignment) checkDurability(ctx context.Context, conn *sql.Conn) {
	if !t.d.settingsChecked.CompareAndSwap(false, true) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, settingsTimeout)
	defer cancel()
	settings, err := readSettings(ctx, conn)
	// With autocommit off a query may have begun a transaction.
	rollbackTransaction(ctx, conn)
	if err != nil {
		return
	}
	for _, s := range findRiskySettings(settings) {
		t.log.Log(slog.LevelWarn, "workerassign: the database may lose worker IDs that it granted, and grant them a second time",
			"table", t.d.cfg.table, "server", t.d.server, "setting", s.name, "value", settings[s.name], "must be", "1", "else", s.risk)
	}
}

// variables reads the settings that inspect looks at, as far as the server has them.
func readSettings(ctx context.Context, conn *sql.Conn) (map[string]string, error) {
	rows, err := conn.QueryContext(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin')")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	settings := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		settings[strings.ToLower(name)] = value
	}
	return settings, rows.Err()
}

// setting is one that must be 1, and what may happen where it is not.
type riskySetting struct{ name, risk string }

// undurable returns the settings that are not as they must be.
func findRiskySettings(settings map[string]string) []riskySetting {
	var found []riskySetting
	if v, ok := settings["innodb_flush_log_at_trx_commit"]; ok && v != "1" {
		risk := "rows are lost when the server is killed"
		if v == "2" {
			risk = "rows are lost when the machine loses power"
		}
		found = append(found, riskySetting{"innodb_flush_log_at_trx_commit", risk})
	}
	if on := settings["log_bin"]; on == "1" || strings.EqualFold(on, "ON") {
		if v, ok := settings["sync_binlog"]; ok && v != "1" {
			found = append(found, riskySetting{"sync_binlog", "rows are lost, or missing on replicas, when the machine loses power"})
		}
	}
	return found
}
