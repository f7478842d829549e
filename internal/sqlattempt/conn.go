// Package sqlattempt contains what the packages workerassign and segment both must know of database servers and their
// drivers: attempts, which errors pass, which connections were lost, reasons with advice for people, and how names and texts are
// quoted.
package sqlattempt

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"reflect"
	"strings"

	"github.com/jmoiron/sqlx"
)

// A DB is a pool of connections to a database. *sql.DB and *sqlx.DB have these methods.
type DB interface {
	Conn(ctx context.Context) (*sql.Conn, error)
	Stats() sql.DBStats
}

// IsNilDB reports whether db is nil, a nil pointer, or a *sqlx.DB without a *sql.DB.
func IsNilDB(db DB) bool {
	if db == nil {
		return true
	}
	if v := reflect.ValueOf(db); v.Kind() == reflect.Pointer && v.IsNil() {
		return true
	}
	x, ok := db.(*sqlx.DB)
	return ok && x.DB == nil
}

// The statements that end a transaction on MySQL. Without NO CHAIN NO RELEASE the session's completion_type
// applies: CHAIN starts another transaction, which would remain open in the pool, and RELEASE closes
// the connection.
const (
	CommitMySQL   = "COMMIT AND NO CHAIN NO RELEASE"
	RollbackMySQL = "ROLLBACK AND NO CHAIN NO RELEASE"
)

// WaitForCommit is an expression of PostgreSQL that sets synchronous_commit to on for the transaction, if it is
// off.
const WaitForCommit = "set_config('synchronous_commit'," +
	" CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true)"

// DiscardConn makes the pool close a connection instead of using it again.
func DiscardConn(conn *sql.Conn) {
	conn.Raw(func(any) error { return driver.ErrBadConn })
}

// abandonConn closes a connection on which the driver has panicked, so that no transaction remains open. The pool cannot have it back,
// and counts it as in use: after a panic in a query, database/sql holds a lock that Close of the *sql.Conn would wait for without end.
func abandonConn(conn *sql.Conn) {
	conn.Raw(func(c any) error {
		if c, ok := c.(driver.Conn); ok {
			c.Close()
		}
		return nil
	})
}

// ReadVariables reads global variables. Those that the server does not have are missing in the result.
func ReadVariables(ctx context.Context, conn *sql.Conn, names ...string) (map[string]string, error) {
	rows, err := conn.QueryContext(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('"+strings.Join(names, "', '")+"')")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	values := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		values[strings.ToLower(name)] = value
	}
	return values, rows.Err()
}

// IsOn reports whether the value of a variable is ON.
func IsOn(value string) bool { return value == "1" || strings.EqualFold(value, "ON") }

// OtherEngine returns the storage engine of a table of MySQL or MariaDB if it is not InnoDB, and otherwise "". Other engines
// have no transactions, or are not replicated in a Galera cluster. quoted is a result of QuoteMySQL.
func OtherEngine(ctx context.Context, conn *sql.Conn, quoted string) (engine string, err error) {
	parts := strings.Split(quoted, ".") // no name contains a dot, see QuoteMySQL
	for i, part := range parts {
		parts[i] = MySQLText(strings.ReplaceAll(part[1:len(part)-1], "``", "`"))
	}
	database, name := "DATABASE()", parts[len(parts)-1]
	if len(parts) == 2 {
		database = parts[0]
	}
	err = conn.QueryRowContext(ctx, "SELECT ENGINE FROM information_schema.TABLES WHERE ENGINE <> 'InnoDB'"+
		" AND TABLE_SCHEMA = "+database+" AND TABLE_NAME = "+name).Scan(&engine)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return engine, err
}
