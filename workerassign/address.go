package workerassign

import (
	"database/sql"
	"reflect"

	"github.com/jmoiron/sqlx"
)

// serverAddress returns the address in the DSN that a pool was opened with, or "" if it cannot find
// it. Errors include it. Neither database/sql nor the driver exports the address, and many of their
// errors lack it: those of a server that refuses an account, or that accepts a connection and does
// not answer. So serverAddress reads private fields of *sql.DB and go-sql-driver/mysql by reflection.
// If these fields change, errors no longer include the address, and nothing else changes.
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

// isNilDB reports whether db is nil, a nil pointer, or a *sqlx.DB without a *sql.DB.
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
