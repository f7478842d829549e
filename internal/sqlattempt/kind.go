package sqlattempt

import (
	"database/sql/driver"
	"reflect"
	"strings"
)

// Kind is a kind of database server.
type Kind int

const (
	Unknown Kind = iota
	MySQL        // also MariaDB and TiDB
	Postgres
)

// KindOf returns the kind of server that db is a pool of, if its driver shows that. It does not use
// the database.
func KindOf(db DB) Kind {
	if d, ok := db.(interface{ Driver() driver.Driver }); ok {
		t := reflect.TypeOf(d.Driver())
		for t != nil && t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		for path, kind := range map[string]Kind{
			"go-sql-driver/mysql": MySQL, "jackc/pgx": Postgres, "lib/pq": Postgres,
		} {
			if t != nil && strings.Contains(t.PkgPath(), path) {
				return kind
			}
		}
	}
	// The driver is not known, for example because it wraps another one. *sqlx.DB has the name by which the
	// user opened it.
	if x, ok := db.(interface{ DriverName() string }); ok {
		switch x.DriverName() {
		case "mysql":
			return MySQL
		case "postgres", "pgx":
			return Postgres
		}
	}
	return Unknown
}
