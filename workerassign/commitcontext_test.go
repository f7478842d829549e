package workerassign

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jmoiron/sqlx"
)

// lateCommits is a driver of a server that acknowledges every commit, some of them only after a time, whatever the context is:
// PostgreSQL acknowledges a commit that the driver has canceled while it waits for a synchronous standby.
type lateCommits struct {
	version string
	late    []time.Duration // of the next commits
	key     int64           // the last key of an insert
}

func (d *lateCommits) Connect(context.Context) (driver.Conn, error) {
	return &lateCommitsConn{d: d}, nil
}
func (d *lateCommits) Driver() driver.Driver { return noDriver{} }

type noDriver struct{ driver.Driver }

type lateCommitsConn struct {
	driver.Conn
	d *lateCommits
}

func (c *lateCommitsConn) Close() error { return nil }

func (c *lateCommitsConn) ExecContext(_ context.Context, statement string, _ []driver.NamedValue) (driver.Result, error) {
	if strings.HasPrefix(statement, "COMMIT") && len(c.d.late) > 0 {
		time.Sleep(c.d.late[0])
		c.d.late = c.d.late[1:]
	}
	return insertedKey(7), nil
}

func (c *lateCommitsConn) QueryContext(_ context.Context, statement string, _ []driver.NamedValue) (driver.Rows, error) {
	switch {
	case strings.HasPrefix(statement, "SELECT VERSION"):
		return &oneRow{values: []driver.Value{c.d.version}}, nil
	case strings.HasPrefix(statement, "INSERT"):
		c.d.key++
		return &oneRow{values: []driver.Value{c.d.key, "on"}}, nil
	}
	return &oneRow{values: []driver.Value{"a", "b"}}, nil
}

// The key of a commit that PostgreSQL acknowledged after the attempt had ended is not used: no standby may have it.
func TestPostgresLateCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := sql.OpenDB(&lateCommits{version: "PostgreSQL 15.4", late: []time.Duration{time.Second + 1, time.Second - 1}})
		defer db.Close()
		d := NewDisposable(sqlx.NewDb(db, "pgx"), WithNode(testNode), WithAttemptTimeout(time.Second))
		d.settingsChecked.Store(true)
		if l, err := d.Assign(t.Context(), Request{}); err != nil || l.WorkerID() != 2 {
			t.Errorf("Assign() = %v, %v; want the key of the second commit", l, err)
		}
	})
}
