package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/sqlattempt"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// lateCommits is a driver of a server that acknowledges every commit, some of them only after a time, whatever the context is:
// PostgreSQL acknowledges a commit that the driver has canceled while it waits for a synchronous standby.
type lateCommits struct {
	version string
	late    []time.Duration // of the next commits
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
	return driver.RowsAffected(1), nil
}

func (c *lateCommitsConn) QueryContext(_ context.Context, statement string, _ []driver.NamedValue) (driver.Rows, error) {
	if strings.HasPrefix(statement, "SELECT VERSION") {
		return &oneRow{values: []driver.Value{c.d.version}}, nil
	}
	return &oneRow{values: []driver.Value{"a", "b"}}, nil
}

// oneRow is at most one row.
type oneRow struct{ values []driver.Value }

func (r *oneRow) Columns() []string { return []string{"a", "b"}[:len(r.values)] }
func (r *oneRow) Close() error      { return nil }
func (r *oneRow) Next(into []driver.Value) error {
	if len(r.values) == 0 {
		return io.EOF
	}
	copy(into, r.values)
	r.values = nil
	return nil
}

// A write of a slot table whose commit was acknowledged after its end is not taken for one that is durable.
func TestSlotTableLateCommit(t *testing.T) {
	for _, version := range []string{"PostgreSQL 15.4", "8.0.36"} {
		synctest.Test(t, func(t *testing.T) {
			db := sql.OpenDB(&lateCommits{version: version, late: []time.Duration{time.Second + 1, time.Second - 1}})
			defer db.Close()
			table := New(db)
			for _, want := range []bool{false, true} {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				written, err := table.Write(ctx, swapOf(recycled.Slot{WorkerID: 5, Revision: 2}))
				if written != want || (err == nil) != want || errors.Is(err, workerassign.ErrPermanent) {
					t.Errorf("%s: Write() = %v, %v; want %v", version, written, err, want)
				}
				cancel()
			}
		})
	}
}

// blockedConnector is a driver whose connections are never established.
type blockedConnector struct{}

func (blockedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
func (blockedConnector) Driver() driver.Driver { return noDriver{} }

// A pool without a limit is not to blame if there is no connection; one that has reached its limit is.
func TestAdviceOfPoolWithoutLimit(t *testing.T) {
	for limit, want := range map[int]string{0: sqlattempt.ReasonNoAnswer.Advice(sqlattempt.Inserts), 5: sqlattempt.ReasonNoAnswer.Advice(sqlattempt.Slots)} {
		synctest.Test(t, func(t *testing.T) {
			db := sql.OpenDB(blockedConnector{})
			defer db.Close()
			db.SetMaxOpenConns(limit)
			if _, err := New(db).Read(t.Context(), recycled.Query{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("with the limit %d Read() = %v, want the advice %q", limit, err, want)
			}
		})
	}
}
