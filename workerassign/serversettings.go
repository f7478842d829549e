package workerassign

import (
	"context"
	"database/sql"
	"log/slog"
	"time"
)

// settingsTimeout bounds the query for the server's settings.
const settingsTimeout = 2 * time.Second

// checkDurability reads the settings that decide whether a committed row can be lost in a crash, and
// logs a warning if it can. It does so once per Disposable. It ignores errors, because the account
// may lack the privilege, and some servers do not have these settings.
func (t *assignment) checkDurability(ctx context.Context, conn *sql.Conn) {
	if !t.d.settingsChecked.CompareAndSwap(false, true) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, settingsTimeout)
	defer cancel()
	settings, err := readSettings(ctx, conn)
	// With autocommit off, the query may have started a transaction.
	rollbackTransaction(ctx, conn)
	if err != nil {
		return
	}
	for _, s := range findRiskySettings(settings) {
		t.log.Log(slog.LevelWarn, "workerassign: the database may lose assigned worker IDs and assign them a second time",
			"table", t.d.cfg.table, "server", t.d.server, "setting", s.name, "value", settings[s.name], "must be", "1", "risk", s.risk)
	}
}

// readSettings reads the settings that checkDurability checks. Settings that the server does not have
// are missing in the result.
func readSettings(ctx context.Context, conn *sql.Conn) (map[string]string, error) {
	return readVariables(ctx, conn, "innodb_flush_log_at_trx_commit", "sync_binlog", "log_bin")
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
	if isOn(settings["log_bin"]) {
		if v, ok := settings["sync_binlog"]; ok && v != "1" {
			found = append(found, riskySetting{"sync_binlog", "rows may be lost, or be missing on replicas, if the machine loses power"})
		}
	}
	return found
}
