package doctor

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/connect"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/workerassign"
)

// A database is what differs between the kinds of databases.
type database struct {
	quote    string // of names
	nothing  string // the rest of a SELECT without a table that returns no row: MySQL before 8.0 requires a table for WHERE
	version  string // an expression
	clock    string // an expression: Unix time in milliseconds
	inserted string // the rate query of WORKER_NODE: the least ID and the age in days of its row, of the last 30 days
}

var (
	mysqlFamily = database{
		quote: "`", nothing: " FROM DUAL WHERE 1 = 0", version: "VERSION()", clock: "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000",
		inserted: "SELECT ID, TIMESTAMPDIFF(SECOND, CREATED, NOW()) / 86400.0 FROM %s WHERE CREATED > NOW() - INTERVAL 30 DAY ORDER BY CREATED, ID LIMIT 1",
	}
	postgreSQL = database{
		quote: `"`, nothing: " WHERE 1 = 0", version: "version()", clock: "(extract(epoch FROM clock_timestamp()) * 1000)::bigint",
		inserted: "SELECT id, (extract(epoch FROM now() - created) / 86400)::float8 FROM %s WHERE created > now() - interval '30 days' ORDER BY created, id LIMIT 1",
	}
)

// name returns a table's name in quotes. byDefault is the name on MySQL; on PostgreSQL it is in lower case.
func (e *examination) name(table, byDefault string) string {
	d := e.dialect()
	if table == "" || table == byDefault {
		table = byDefault
		if d == postgreSQL {
			table = strings.ToLower(table)
		}
	}
	parts := strings.Split(table, ".")
	for i, p := range parts {
		parts[i] = d.quote + strings.ReplaceAll(p, d.quote, d.quote+d.quote) + d.quote
	}
	return strings.Join(parts, ".")
}

func (e *examination) dialect() database {
	if e.store.Kind() == connect.PostgreSQL {
		return postgreSQL
	}
	return mysqlFamily
}

// database examines a database: the server, and the tables of disposable and recycled worker IDs and of segments. Of the two kinds of
// worker IDs, the one that the URL asks for must be there.
func (e *examination) database() {
	db, d := e.store.Clients().DB, e.dialect()
	var version string
	if err := db.QueryRowContext(e.ctx, "SELECT "+d.version).Scan(&version); err != nil {
		e.failed("version", err)
		return
	}
	e.info("version", "%s", version)
	if d == postgreSQL {
		e.postgresSettings(db)
	} else if !e.mysqlSettings(db) {
		return
	}
	var millis int64
	sent := e.options.Now()
	if err := db.QueryRowContext(e.ctx, "SELECT "+d.clock).Scan(&millis); err != nil {
		e.failed("clock", err)
	}
	received := e.options.Now()
	recycled := e.store.Options().Assign == connect.Recycled
	if !recycled && millis != 0 {
		e.clock(time.UnixMilli(millis), sent, received)
	}
	e.nodes(db, !recycled)
	e.slotTables(db, recycled)
	e.tags(db)
}

// nodes examines the table of disposable worker IDs.
func (e *examination) nodes(db *sql.DB, required bool) {
	table := e.name(e.store.Options().Table, workerassign.DefaultTable)
	var last sql.NullInt64
	err := db.QueryRowContext(e.ctx, "SELECT MAX(ID) FROM "+table).Scan(&last)
	if isMissing(err) {
		e.missing(table, required)
		return
	}
	mayRead := err == nil
	if err != nil && !isDenied(err) {
		e.failed(table, err)
		return
	}
	e.lasting(db, table)
	if required {
		e.end(e.options.Format) // also for an account that may not read
	}
	if required || mayRead {
		e.privileges(db, table, required, "INSERT INTO "+table+" (HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED)"+
			" SELECT '', '', 3, CURRENT_DATE, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP"+e.dialect().nothing)
	}
	if !mayRead {
		e.info("worker IDs", "the account may not read the rows of %s, so it is not known how many are used: use an account with SELECT", table)
		return
	}
	if !required && !last.Valid {
		e.info("worker IDs", "%s has no rows", table)
		return
	}
	var first int64
	var days float64
	perDay := 0.0
	err = db.QueryRowContext(e.ctx, fmt.Sprintf(e.dialect().inserted, table)).Scan(&first, &days)
	if err == nil && days >= 1.0/24 {
		perDay = float64(last.Int64-first) / days
	} else if err != nil && !errors.Is(err, sql.ErrNoRows) && !isDenied(err) { // an account that may read only the ID
		e.failed("worker IDs", err)
		return
	}
	e.left(last.Int64, e.maxWorkerID(), perDay)
}

// slotTables examines the tables of recycled worker IDs.
func (e *examination) slotTables(db *sql.DB, required bool) {
	o := e.store.Options()
	pool, slots := e.name(o.PoolTable, sqlstore.DefaultPoolTable), e.name(o.SlotTable, sqlstore.DefaultSlotTable)
	for _, table := range []string{pool, slots} {
		var one int
		err := db.QueryRowContext(e.ctx, "SELECT 1 FROM "+table+" WHERE 1 = 0").Scan(&one)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			e.lasting(db, table)
		case isMissing(err):
			e.missing(table, required)
			return
		case isDenied(err) && !required:
			e.info("slots", "the account may not read %s", table)
			return
		case isDenied(err):
			e.fault("privileges", schemaAdvice, "%s: %v", table, err)
			return
		default:
			e.failed(table, err)
			return
		}
	}
	if required {
		e.privileges(db, pool, true,
			"INSERT INTO "+pool+" (id, revision, format, first_worker_id, slot_count, history, since_ms, floor_ms, horizon_ms, fencing_ms, skew_ms) SELECT 1, 1, '', 0, 0, '', 0, NULL, 0, 0, 0"+e.dialect().nothing,
			"UPDATE "+pool+" SET revision = 0, format = '', first_worker_id = 0, slot_count = 0, history = '', since_ms = 0, floor_ms = NULL, horizon_ms = 0, fencing_ms = 0, skew_ms = 0 WHERE 1 = 0")
		e.privileges(db, slots, true,
			"INSERT INTO "+slots+" (worker_id, revision, token, from_ms, until_ms, history, written_ms, free_at_ms, holder_name, holder_host, holder_process, holder_since_ms) SELECT 0, 0, NULL, 0, 0, '', 0, 0, NULL, NULL, NULL, NULL"+e.dialect().nothing,
			"UPDATE "+slots+" SET revision = 0, token = NULL, from_ms = 0, until_ms = 0, history = '', written_ms = 0, free_at_ms = 0, holder_name = NULL, holder_host = NULL, holder_process = NULL, holder_since_ms = NULL WHERE 1 = 0")
		e.pool()
		return
	}
	var rows int64
	if err := db.QueryRowContext(e.ctx, "SELECT COUNT(*) FROM "+pool).Scan(&rows); err != nil {
		e.failed("pool", err)
	} else if rows > 0 {
		e.info("pool", "%s has a pool of recycled worker IDs: examine it with assign=recycled", pool)
	}
}

// maxTags is how many tags are listed.
const maxTags = 10

// listed says which tags are listed, if not all.
func listed(count int64) string {
	if count <= maxTags {
		return ""
	}
	return fmt.Sprintf("; these %d have the greatest counters: ringuid tag raise TAG 1 shows another one, and changes nothing", maxTags)
}

// tags examines the table of segments.
func (e *examination) tags(db *sql.DB) {
	table := e.name(e.store.Options().TagTable, sqlstore.DefaultTagTable)
	var count int64
	var greatest sql.NullInt64
	err := db.QueryRowContext(e.ctx, "SELECT COUNT(*), MAX(max_id) FROM "+table).Scan(&count, &greatest)
	switch {
	case isMissing(err):
		e.missing(table, e.store.Options().TagTable != "")
		return
	case isDenied(err):
		e.info("tags", "the account may not read %s", table)
		return
	case err != nil:
		e.failed("tags", err)
		return
	}
	e.lasting(db, table)
	e.privileges(db, table, false, "UPDATE "+table+" SET max_id = 0 WHERE 1 = 0")
	e.info("tags", "%s has %d tags%s", table, count, listed(count))
	rows, err := db.QueryContext(e.ctx, "SELECT biz_tag, max_id, step FROM "+table+" ORDER BY max_id DESC LIMIT "+fmt.Sprint(maxTags))
	if err != nil {
		e.failed("tags", err)
		return
	}
	defer rows.Close()
	for rows.Next() {
		var tag string
		var next, step int64
		if err := rows.Scan(&tag, &next, &step); err != nil {
			e.failed("tags", err)
			return
		}
		e.tag(tag, next, step)
	}
	if err := rows.Err(); err != nil {
		e.failed("tags", err)
	}
}

// tag examines one tag.
func (e *examination) tag(tag string, next, step int64) {
	switch left := segment.MaxNumber - next + 1; {
	case next < 1 || step < 1 || step > segment.MaxStep:
		e.fault("tag", "correct the row: max_id must be at least 1, and never lower than before; step 1 to 1099511627776", "%q: the next number is %d, the step %d", tag, next, step)
	case left < 1000*step:
		e.warn("tag", "use another tag before its numbers end", "%q: the next number is %d, the step %d, %d numbers are left", tag, next, step, max(left, 0))
	default:
		e.info("tag", "%q: the next number is %d, the step %d", tag, next, step)
	}
}

const schemaAdvice = "grant what schema.sql or schema.postgres.sql lists under PRIVILEGES (ringuid schema prints them)"

// missing reports that a table does not exist.
func (e *examination) missing(table string, required bool) {
	if required {
		e.fault("tables", "create it: ringuid schema prints the script", "there is no table %s", table)
		return
	}
	e.info("tables", "there is no table %s", table)
}

// privileges executes statements that change nothing, in a transaction that is rolled back: the server checks the privileges.
func (e *examination) privileges(db *sql.DB, table string, required bool, statements ...string) {
	tx, err := db.BeginTx(e.ctx, nil)
	if err != nil {
		e.failed("privileges", err)
		return
	}
	defer tx.Rollback()
	for _, s := range statements {
		_, err := tx.ExecContext(e.ctx, s)
		switch {
		case isDenied(err) && required:
			e.fault("privileges", schemaAdvice, "%s: %v", table, err)
		case isDenied(err):
			e.info("privileges", "%s: %v", table, err)
		case isReadOnly(err):
			e.fault("writable", "make the address lead to the primary", "%s: %v", table, err)
		case err != nil:
			e.failed("privileges", err)
		default:
			continue
		}
		return
	}
	e.ok("privileges", "the account may write what generators write to %s", table)
}

// errorCode returns the code of an error of a server: a number or five characters.
func errorCode(err error) string {
	var m *mysql.MySQLError
	if errors.As(err, &m) {
		return fmt.Sprint(m.Number)
	}
	var p *pgconn.PgError
	if errors.As(err, &p) {
		return p.Code
	}
	return ""
}

func isOneOf(err error, codes string) bool {
	code := errorCode(err)
	return code != "" && strings.Contains(codes, code)
}

func isMissing(err error) bool  { return isOneOf(err, "1146 1049 42P01 3F000") }
func isDenied(err error) bool   { return isOneOf(err, "1044 1142 1143 1227 42501") }
func isReadOnly(err error) bool { return isOneOf(err, "1290 1836 25006") }
