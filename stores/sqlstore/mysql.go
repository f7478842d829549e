package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/ringuid/ringuid/internal/sqlattempt"
)

// mysqlDialect is the dialect of MariaDB, MySQL and TiDB.
type mysqlDialect struct {
	sqlattempt.Dialect
	sessionStatus string // the table with the session's status variables
	hasWsrep      bool   // the server was built with support for Galera
	isGalera      bool   // it is a node of a cluster
	isolation     string // the name of the variable with the isolation level
}

// newMySQLDialect returns the dialect of a server.
func newMySQLDialect(ctx context.Context, conn *sql.Conn, base sqlattempt.Dialect) (dialect, error) {
	d := mysqlDialect{Dialect: base, sessionStatus: "performance_schema.session_status", isolation: "tx_isolation"}
	if !base.IsTiDB() && (base.IsMariaDB() || isBeforeMySQL57(base.Version)) {
		d.sessionStatus = "information_schema.SESSION_STATUS"
	}
	settings, err := sqlattempt.ReadVariables(ctx, conn, "wsrep_on", "transaction_isolation")
	if err != nil {
		return nil, err
	}
	wsrep, hasWsrep := settings["wsrep_on"]
	d.hasWsrep, d.isGalera = hasWsrep, sqlattempt.IsOn(wsrep)
	if _, ok := settings["transaction_isolation"]; ok { // MySQL 5.7.20, MariaDB 11.1
		d.isolation = "transaction_isolation"
	}
	return d, nil
}

// isBeforeMySQL57 reports whether a version of MySQL is before 5.7.
func isBeforeMySQL57(version string) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return err1 == nil && err2 == nil && (major < 5 || major == 5 && minor < 7)
}

// appendText appends a literal. Unlike a parameter, it requires no prepared statement, see insertStatement, which would
// also cost another round trip.
func (d mysqlDialect) appendText(b *statement, value string) { b.raw(sqlattempt.MySQLText(value)) }

// readText makes the server send the bytes of a text, without a conversion to the connection's character set.
func (d mysqlDialect) readText(column string) string { return "CAST(" + column + " AS BINARY)" }

func (d mysqlDialect) decodeText(value string) (string, error) { return value, nil }

// clock uses UTC_TIMESTAMP, because UNIX_TIMESTAMP(NOW(3)) is an hour off in some time zones when the
// daylight saving time ends. Its value is the time at which the statement began.
func (d mysqlDialect) clock() string {
	return "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)"
}

// history is the identity of the server and its start. The server calculates Uptime as the difference of
// two numbers of seconds, the time of UNIX_TIMESTAMP() and its start. So the difference of these two is
// exactly the start, also after a step of the server's clock. On a node of a Galera cluster, the history is
// the UUID of the cluster's state, because what one node has acknowledged, all nodes have received.
func (d mysqlDialect) history() string {
	if d.IsTiDB() {
		return "CAST('TiDB' AS BINARY)"
	}
	identity := "'MySQL ', @@server_uuid"
	if d.IsMariaDB() {
		identity = "'MariaDB ', @@hostname, ':', @@port, ':', @@server_id"
	}
	single := "CONCAT(" + identity + ", ' ', UNIX_TIMESTAMP() - CAST(" + d.status("Uptime") + " AS SIGNED))"
	if !d.hasWsrep {
		return "CAST(" + single + " AS BINARY)"
	}
	// A node outside of the primary component executes no statement, unless somebody has allowed it to
	// read (wsrep_dirty_reads). Then its history is that of no cluster.
	return "CAST(IF(@@wsrep_on, CONCAT('Galera ', IF(" + d.status("wsrep_cluster_status") + " = 'Primary', " + d.status("wsrep_cluster_state_uuid") +
		", 'not primary')), " + single + ") AS BINARY)"
}

// status is an expression: the value of a status variable. The session's are those of the server where
// they do not count anything, and cost less than the global ones, for which the server adds up all sessions.
func (d mysqlDialect) status(name string) string {
	return "(SELECT VARIABLE_VALUE FROM " + d.sessionStatus + " WHERE VARIABLE_NAME = '" + name + "')"
}

// readOnly implements dialect. The value of the variable is a number, or text on servers where it has more than two values. There is no
// empty literal, which the SQL mode EMPTY_STRING_IS_NULL changes.
func (d mysqlDialect) readOnly() string {
	return "IF(UPPER(CAST(@@GLOBAL.read_only AS CHAR)) IN ('0', 'OFF'), 0, 1)"
}

// session is "1" if autocommit is on, and the isolation level. In MariaDB, CONCAT converts @@autocommit to ON,
// and cuts the result.
func (d mysqlDialect) session() string {
	return "CONCAT(IF(@@autocommit, '1', '0'), ' ', @@" + d.isolation + ")"
}

// sessionStatements: with autocommit off, a read may be part of a transaction that began earlier, and at
// READ UNCOMMITTED it may see rows whose transactions are rolled back later.
func (d mysqlDialect) sessionStatements(session string) (before, after []string) {
	if session == "1 REPEATABLE-READ" || session == "1 READ-COMMITTED" || session == "1 SERIALIZABLE" {
		return nil, nil
	}
	return []string{sqlattempt.CommitMySQL, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED", d.Begin()}, []string{sqlattempt.CommitMySQL}
}

// selectPrefix makes a node of a Galera cluster wait until it has applied what other nodes have
// acknowledged. Otherwise a lease that was taken on another node would look as if it was lost.
func (d mysqlDialect) selectPrefix() string {
	switch {
	case !d.isGalera:
		return "SELECT "
	case d.IsMariaDB():
		return "SET STATEMENT wsrep_sync_wait = 1 FOR SELECT "
	}
	return "SELECT /*+ SET_VAR(wsrep_sync_wait = 1) */ "
}

// beginsAlways: with autocommit, the statement commits, and COMMIT has no effect. Not so on TiDB, which may execute a transaction that
// is not pessimistic again at the commit, with another result.
func (d mysqlDialect) beginsAlways() bool { return d.IsTiDB() }

// inspect implements dialect. TiDB acknowledges a write when a majority has it on disk, and Galera when all
// nodes have received it. Any other server may be replaced by a replica that lacks the last writes.
func (d mysqlDialect) inspect(ctx context.Context, conn *sql.Conn, pool, slots string) (serverDurability, error) {
	if d.IsTiDB() {
		return serverDurability{noLoss: true}, nil
	}
	engines, err := d.otherEngines(ctx, conn, pool, slots)
	if err != nil || engines != "" {
		return serverDurability{refused: engines}, err
	}
	settings, err := sqlattempt.ReadVariables(ctx, conn, "innodb_flush_log_at_trx_commit", "sync_binlog", "log_bin", "binlog_format", "wsrep_on")
	if err != nil {
		return serverDurability{}, err
	}
	galera := sqlattempt.IsOn(settings["wsrep_on"])
	if galera {
		delete(settings, "sync_binlog") // the other nodes have the write
	}
	result := serverDurability{}
	for _, r := range sqlattempt.MySQLRisks(settings) {
		result.risk += fmt.Sprintf("; %s is %s: %s", r.Setting, r.Value, r.What)
	}
	result.risk = strings.TrimPrefix(result.risk, "; ")
	result.noLoss = galera && result.risk == ""
	if sqlattempt.IsOn(settings["log_bin"]) && strings.EqualFold(settings["binlog_format"], "STATEMENT") {
		result.refused = "binlog_format is STATEMENT; must be ROW or MIXED, because a replica would compare its own history"
	}
	return result, nil
}

// otherEngines returns what is wrong if a table has another storage engine than InnoDB. On Galera, each node would then
// have a pool of its own.
func (d mysqlDialect) otherEngines(ctx context.Context, conn *sql.Conn, tables ...string) (refused string, err error) {
	for _, quoted := range tables {
		engine, err := sqlattempt.OtherEngine(ctx, conn, quoted)
		if err != nil {
			return "", err
		}
		if engine != "" {
			return fmt.Sprintf("the storage engine of table %s is %s; must be InnoDB", quoted, engine), nil
		}
	}
	return "", nil
}
