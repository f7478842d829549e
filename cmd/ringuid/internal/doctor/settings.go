package doctor

import (
	"database/sql"
	"errors"
	"strings"
)

// mysqlSettings examines the settings that decide whether the server loses acknowledged writes. It returns false if the server
// refuses all statements that use tables, as a node without its cluster does.
func (e *examination) mysqlSettings(db *sql.DB) (usable bool) {
	rows, err := db.QueryContext(e.ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', 'sync_binlog',"+
		" 'log_bin', 'binlog_format', 'read_only', 'super_read_only', 'wsrep_on', 'auto_increment_increment')")
	if err != nil {
		e.failed("durability", err)
		return true
	}
	settings, err := readVariables(rows)
	if err != nil {
		e.failed("durability", err)
		return true
	}
	on := func(name string) bool { return settings[name] == "ON" || settings[name] == "1" }
	const advice = "see schema.sql under DURABILITY (ringuid schema mysql)"
	healthy := true
	switch v, ok := settings["innodb_flush_log_at_trx_commit"]; {
	case !ok:
		healthy = false
		e.info("durability", "the server does not show innodb_flush_log_at_trx_commit: whether it loses acknowledged writes cannot be seen from here")
	case v != "1":
		healthy = false
		e.fault("durability", advice, "innodb_flush_log_at_trx_commit is %s; must be 1: the server can lose acknowledged writes in a crash", v)
	}
	if v, ok := settings["sync_binlog"]; ok && v != "1" && on("log_bin") {
		healthy = false
		e.fault("durability", advice, "sync_binlog is %s; must be 1: the server can lose acknowledged writes if the machine loses power", v)
	}
	if settings["binlog_format"] == "STATEMENT" && on("log_bin") {
		healthy = false
		e.warn("durability", advice, "binlog_format is STATEMENT; must be ROW or MIXED for recycled worker IDs")
	}
	if on("read_only") || on("super_read_only") {
		e.fault("writable", "make the address lead to the primary", "the server is read-only: it may be a replica")
	}
	if healthy {
		e.ok("durability", "innodb_flush_log_at_trx_commit is %s, sync_binlog is %s, log_bin is %s", settings["innodb_flush_log_at_trx_commit"], settings["sync_binlog"], settings["log_bin"])
	}
	if v := settings["auto_increment_increment"]; v != "" && v != "1" && !on("wsrep_on") {
		e.info("worker IDs", "auto_increment_increment is %s: only every %s-th worker ID is assigned", v, v)
	}
	return !on("wsrep_on") || e.galera(db, settings["auto_increment_increment"])
}

// galera examines a node of a Galera cluster. It returns false if the node refuses statements.
func (e *examination) galera(db *sql.DB, increment string) (usable bool) {
	rows, err := db.QueryContext(e.ctx, "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_status', 'wsrep_cluster_size', 'wsrep_ready', 'wsrep_local_state_comment')")
	if err != nil {
		e.failed("cluster", err)
		return true
	}
	status, err := readVariables(rows)
	switch {
	case err != nil:
		e.failed("cluster", err)
	case status["wsrep_cluster_status"] != "Primary":
		e.fault("cluster", "connect to a node that is in the primary component, or bring the other nodes back; schema.sql, GALERA CLUSTERS, says what to do if all are lost",
			"the node is not in the primary component of its Galera cluster (%s), and refuses all statements: it does not reach most of the other nodes", status["wsrep_cluster_status"])
		return false
	case status["wsrep_ready"] != "ON":
		e.fault("cluster", "wait until it has the data of the cluster, or connect to another node", "the node of a Galera cluster is not ready (%s), and refuses all statements", status["wsrep_local_state_comment"])
		return false
	default:
		e.ok("cluster", "the node is in the primary component of a Galera cluster with %s nodes; it assigns every %s-th disposable worker ID", status["wsrep_cluster_size"], increment)
	}
	return true
}

// readVariables reads the rows of SHOW VARIABLES or SHOW STATUS, with their names in lower case, and closes them.
func readVariables(rows *sql.Rows) (map[string]string, error) {
	defer rows.Close()
	found := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		found[strings.ToLower(name)] = value
	}
	return found, rows.Err()
}

// postgresSettings examines the settings that decide whether the server loses acknowledged writes.
func (e *examination) postgresSettings(db *sql.DB) {
	var fsync, pages, commit, standbys, readOnly, encoding string
	var standby bool
	err := db.QueryRowContext(e.ctx, "SELECT current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'),"+
		" current_setting('synchronous_standby_names'), pg_is_in_recovery(), current_setting('transaction_read_only'), current_setting('server_encoding')").
		Scan(&fsync, &pages, &commit, &standbys, &standby, &readOnly, &encoding)
	if err != nil {
		e.failed("durability", err)
		return
	}
	const advice = "see schema.postgres.sql under DURABILITY (ringuid schema postgres)"
	healthy := true
	for _, s := range []struct{ name, value string }{{"fsync", fsync}, {"full_page_writes", pages}} {
		if s.value != "on" {
			healthy = false
			e.fault("durability", advice, "%s is %s; must be on: the server can lose acknowledged writes if the machine loses power", s.name, s.value)
		}
	}
	switch {
	case commit == "off":
		healthy = false
		e.warn("durability", advice, "synchronous_commit is off; ringuid sets it to on in its own transactions, but other services do not")
	case standbys != "" && (commit == "local" || commit == "remote_write"):
		healthy = false
		e.fault("durability", advice, "synchronous_commit is %s; must be on: the last commits can be missing on a standby that replaces this server", commit)
	case standbys == "":
		e.info("failover", "synchronous_standby_names is empty: a standby that replaces this server lacks the last commits")
	}
	if standby {
		e.fault("writable", "make the address lead to the primary", "the server is a standby")
	} else if readOnly == "on" {
		e.fault("writable", "check default_transaction_read_only", "transactions are read-only")
	}
	if encoding != "UTF8" {
		e.fault("encoding", "use a database whose encoding is UTF8", "the database's encoding is %s; must be UTF8 for recycled worker IDs", encoding)
	}
	if healthy {
		e.ok("durability", "fsync, full_page_writes and synchronous_commit are %s, %s and %s", fsync, pages, commit)
	}
}

// lasting examines whether a table on PostgreSQL lasts after a crash, and whether its counter can start again. The name is quoted.
func (e *examination) lasting(db *sql.DB, table string) {
	if e.dialect() != postgreSQL {
		return
	}
	var persistence string
	var cycle bool
	err := db.QueryRowContext(e.ctx, "SELECT c.relpersistence::text, coalesce(bool_or(s.seqcycle), false) FROM pg_catalog.pg_class AS c"+
		" LEFT JOIN pg_catalog.pg_depend AS d ON d.refobjid = c.oid AND d.refclassid = 'pg_catalog.pg_class'::regclass"+
		" AND d.classid = 'pg_catalog.pg_class'::regclass AND d.deptype IN ('a', 'i')"+
		" LEFT JOIN pg_catalog.pg_sequence AS s ON s.seqrelid = d.objid WHERE c.oid = to_regclass($1) GROUP BY c.relpersistence", table).Scan(&persistence, &cycle)
	switch {
	case errors.Is(err, sql.ErrNoRows) || isDenied(err): // it was dropped meanwhile, or is in a schema that the account may not use
	case err != nil:
		e.failed("durability", err)
	case persistence != "p":
		e.fault("durability", "ALTER TABLE "+table+" SET LOGGED, and check its counters against schema.postgres.sql", "%s is not a logged table: it is empty after a crash, and on standbys", table)
	case cycle:
		e.fault("durability", "ALTER SEQUENCE … NO CYCLE", "the sequence of %s has CYCLE: after its greatest number it starts again", table)
	}
}
