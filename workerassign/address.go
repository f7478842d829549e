package workerassign

import (
	"database/sql"
	"reflect"

	"github.com/jmoiron/sqlx"
)

// addressOf returns the address in the DSN that a pool was opened with, "" where it is not to be
// found. Errors name it, and neither database/sql nor the driver gives it away: not in the errors
// of a server that refuses an account, nor in those of one that accepts a connection and is
// silent. So this reads private fields of *sql.DB and go-sql-driver/mysql, as text and nothing
// else; where they look different, errors lack the address.
func serverAddress(db DB) (address string) {
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
	v := reflect.ValueOf(pool)
	for _, field := range []string{"connector", "cfg", "Addr"} {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		v = v.FieldByName(field)
	}
	if v.Kind() != reflect.String {
		return ""
	}
	return v.String()
}

// isNil reports whether a DB is nil, or a nil pointer, or one of sqlx around nothing.
func isNilDB(db DB) bool {
	if db == nil {
		return true
	}
	if v := reflect.ValueOf(db); v.Kind() == reflect.Pointer && v.IsNil() {
		return true
	}
	x, ok := db.(*sqlx.DB)
	return ok && x.DB == nil
}
