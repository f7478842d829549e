package sqlstore

import (
	"database/sql"
	"net"
	"reflect"
	"strconv"
	"strings"

	"github.com/jmoiron/sqlx"
)

// ServerAddress returns the address in the DSN that a pool was opened with, or "" if it cannot find
// it. Errors include it. Neither database/sql nor the driver exports the address, and many of their
// errors lack it: those of a server that refuses an account, or that accepts a connection and does
// not answer. So ServerAddress reads private fields of *sql.DB and of the drivers go-sql-driver/mysql,
// pgx and lib/pq by reflection. If these fields change, errors no longer include the address, and nothing
// else changes.
func ServerAddress(db DB) (address string) {
	defer func() {
		if recover() != nil {
			address = ""
		}
	}()
	if x, ok := db.(*sqlx.DB); ok {
		db = x.DB
	}
	pool, ok := db.(*sql.DB)
	if !ok {
		return ""
	}
	connector := reflect.ValueOf(pool).Elem().FieldByName("connector")
	if address, ok := stringField(connector, "cfg", "Addr"); ok { // go-sql-driver/mysql
		return address
	}
	// pgx with a parsed configuration, and lib/pq.
	for _, config := range []string{"ConnConfig", "cfg"} {
		if host, ok := stringField(connector, config, "Host"); ok {
			if port := fieldByPath(connector, config, "Port"); port.CanUint() && port.Uint() > 0 && !strings.HasPrefix(host, "/") {
				return net.JoinHostPort(host, strconv.FormatUint(port.Uint(), 10))
			}
			return host
		}
	}
	// A driver that keeps the DSN: pgx in the field name, and database/sql in the field dsn.
	for _, field := range []string{"name", "dsn"} {
		if dsn, ok := stringField(connector, field); ok {
			return hostOfDSN(dsn)
		}
	}
	return ""
}

// fieldByPath returns a field of a field, or the zero Value if there is none.
func fieldByPath(v reflect.Value, path ...string) reflect.Value {
	for _, field := range path {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return reflect.Value{}
		}
		v = v.FieldByName(field)
	}
	return v
}

// stringField is fieldByPath for a string.
func stringField(v reflect.Value, path ...string) (string, bool) {
	v = fieldByPath(v, path...)
	if v.Kind() != reflect.String {
		return "", false
	}
	return v.String(), true
}

// hostOfDSN returns the hosts and ports of a DSN of PostgreSQL, and nothing else of it: it may contain a
// password. So hostOfDSN returns "" if it is not certain where the host is. A DSN is a URL, or has the form
// "host=db port=5432".
func hostOfDSN(dsn string) string {
	if scheme, rest, ok := strings.Cut(dsn, "://"); ok && (scheme == "postgres" || scheme == "postgresql") {
		authority, tail := rest, ""
		if i := strings.IndexAny(rest, "/?#"); i >= 0 {
			authority, tail = rest[:i], rest[i:]
		}
		if strings.Contains(tail, "@") { // perhaps of a password that is not escaped
			return ""
		}
		return authority[strings.LastIndexByte(authority, '@')+1:]
	}
	if strings.ContainsAny(dsn, `'\`) { // perhaps a password that contains spaces
		return ""
	}
	var host, port string
	for _, pair := range strings.Fields(dsn) {
		switch name, value, _ := strings.Cut(pair, "="); name {
		case "host":
			host = value
		case "port":
			port = value
		}
	}
	if host == "" || port == "" || strings.HasPrefix(host, "/") {
		return host
	}
	return net.JoinHostPort(host, port)
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
