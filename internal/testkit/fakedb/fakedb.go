// Package fakedb has databases for tests that need no server.
package fakedb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"testing"

	"github.com/DATA-DOG/go-sqlmock"
)

// Mock returns a mock of a database, and a connection that stays open, because the mock ends with its last one. At the end of the
// test, all that was expected must have happened.
func Mock(tb testing.TB, matcher sqlmock.QueryMatcher) (*sql.DB, sqlmock.Sqlmock, *sql.Conn) {
	tb.Helper()
	db, m, err := sqlmock.New(sqlmock.QueryMatcherOption(matcher))
	if err != nil {
		tb.Fatal(err)
	}
	kept, err := db.Conn(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := m.ExpectationsWereMet(); err != nil {
			tb.Error(err)
		}
		m.ExpectClose()
		kept.Close()
		db.Close()
	})
	return db, m, kept
}

// A Server is the driver of a server that calls functions for its statements.
type Server struct {
	Exec           func(statement string) driver.Result
	Query          func(statement string) []driver.Value // the values of a row; none: there is no row
	Opened, Closed int                                   // connections
}

// Connect implements driver.Connector.
func (s *Server) Connect(context.Context) (driver.Conn, error) {
	s.Opened++
	return &conn{server: s}, nil
}

// Driver implements driver.Connector.
func (s *Server) Driver() driver.Driver { return nil }

// conn is a connection.
type conn struct {
	driver.Conn
	server *Server
}

func (c *conn) Close() error { c.server.Closed++; return nil }

func (c *conn) ExecContext(_ context.Context, statement string, _ []driver.NamedValue) (driver.Result, error) {
	return c.server.Exec(statement), nil
}

func (c *conn) QueryContext(_ context.Context, statement string, _ []driver.NamedValue) (driver.Rows, error) {
	return &row{c.server.Query(statement)}, nil
}

// row is at most one row.
type row struct{ values []driver.Value }

func (r *row) Columns() []string { return make([]string, len(r.values)) }
func (r *row) Close() error      { return nil }
func (r *row) Next(into []driver.Value) error {
	if len(r.values) == 0 {
		return io.EOF
	}
	copy(into, r.values)
	r.values = nil
	return nil
}

// Blocked is the driver of a server that accepts no connection.
type Blocked struct{}

// Connect implements driver.Connector.
func (Blocked) Connect(ctx context.Context) (driver.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// Driver implements driver.Connector.
func (Blocked) Driver() driver.Driver { return nil }
