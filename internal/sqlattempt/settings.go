package sqlattempt

// A Risk is a setting of a server with which a committed row can be lost in a crash, or an ID assigned a second time.
type Risk struct{ Setting, Value, Want, What string }

// MySQLRisks returns the settings of a server of the MySQL family with which it can lose committed rows. settings are what
// ReadVariables returned for innodb_flush_log_at_trx_commit, sync_binlog and log_bin; one that is missing is no risk.
func MySQLRisks(settings map[string]string) (risks []Risk) {
	if v, ok := settings["innodb_flush_log_at_trx_commit"]; ok && v != "1" {
		what := "rows may be lost if the server process is killed"
		if v == "2" {
			what = "rows may be lost if the machine loses power"
		}
		risks = append(risks, Risk{"innodb_flush_log_at_trx_commit", v, "1", what})
	}
	if v, ok := settings["sync_binlog"]; IsOn(settings["log_bin"]) && ok && v != "1" {
		risks = append(risks, Risk{"sync_binlog", v, "1", "rows may be lost, or be missing on replicas, if the machine loses power"})
	}
	return risks
}

// PostgresSettings are the settings of PostgreSQL that decide whether committed rows can be lost. Every account
// may read them.
type PostgresSettings struct{ FSync, Pages, Commit, Standbys string }

// PostgresSettingsColumns selects the fields of PostgresSettings.
const PostgresSettingsColumns = "current_setting('fsync'), current_setting('full_page_writes')," +
	" current_setting('synchronous_commit'), current_setting('synchronous_standby_names')"

// Risks returns the settings with which the server can lose committed rows. synchronous_commit = off is not one
// of them, because it is changed for each transaction, see WaitForCommit.
func (s PostgresSettings) Risks() (risks []Risk) {
	if s.FSync != "on" {
		risks = append(risks, Risk{"fsync", s.FSync, "on", "rows may be lost, and the database may be damaged, if the machine loses power"})
	}
	if s.Pages != "on" {
		risks = append(risks, Risk{"full_page_writes", s.Pages, "on", "rows may be lost, and the database may be damaged, if the machine loses power"})
	}
	if s.Standbys != "" && (s.Commit == "local" || s.Commit == "remote_write") {
		risks = append(risks, Risk{"synchronous_commit", s.Commit, "on", "the last rows may be missing on the standby that replaces this server"})
	}
	return risks
}
