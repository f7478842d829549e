package sqlattempt

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"testing"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/jmoiron/sqlx"
)

// *sqlx.DB has the name of the driver, which matters if its type is not known.
func TestServerKind(t *testing.T) {
	mocked, _, err := sqlmock.New()
	if err != nil {
		t.Fatal(err)
	}
	known, err := sql.Open("mysql", "root@tcp(db)/ids")
	if err != nil {
		t.Fatal(err)
	}
	defer known.Close()
	for _, tt := range []struct {
		name string
		db   DB
		want Kind
	}{
		{"go-sql-driver/mysql", known, MySQL},
		{"go-sql-driver/mysql with another name", sqlx.NewDb(known, "pgx"), MySQL},
		{"unknown", mocked, Unknown},
		{"unknown, named mysql", sqlx.NewDb(mocked, "mysql"), MySQL},
		{"unknown, named pgx", sqlx.NewDb(mocked, "pgx"), Postgres},
		{"unknown, with another name", sqlx.NewDb(mocked, "x"), Unknown},
		{"a DB of the user", customDB{}, Unknown},
		{"a driver that is nil", sql.OpenDB(nilDriver{}), Unknown},
	} {
		if got := KindOf(tt.db); got != tt.want {
			t.Errorf("KindOf(%s) = %d, want %d", tt.name, got, tt.want)
		}
	}
}

// nilDriver is a connector that does not know its driver.
type nilDriver struct{ driver.Connector }

func (nilDriver) Driver() driver.Driver { return nil }

// customDB is a DB that the user implements.
type customDB struct{}

func (customDB) Conn(context.Context) (*sql.Conn, error) { return nil, sql.ErrConnDone }
func (customDB) Stats() sql.DBStats                      { return sql.DBStats{} }
