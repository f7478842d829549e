package sqlstore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
	"github.com/ringuid/ringuid/stores/sqlstore"
)

// A Table is a source as segmenttest demands it, on every kind of server. The tests of the module's internal packages
// do the same with real servers.
func TestTableConformance(t *testing.T) {
	for name, tt := range map[string]struct {
		version       string
		folds, hideID bool
		lost          error // what the driver returns for a lost reply
	}{
		"MariaDB":          {version: sqlstore.FakeMariaDB, lost: mysql.ErrInvalidConn},
		"MySQL, no case":   {version: sqlstore.FakeMySQL, lost: mysql.ErrInvalidConn, folds: true},
		"TiDB":             {version: sqlstore.FakeTiDB, lost: mysql.ErrInvalidConn},
		"without reply ID": {version: sqlstore.FakeMariaDB, lost: mysql.ErrInvalidConn, hideID: true},
		"PostgreSQL":       {version: sqlstore.FakePostgres, lost: io.ErrUnexpectedEOF},
	} {
		if testing.Short() && name != "MariaDB" && name != "PostgreSQL" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			last := ""
			var server *sqlstore.FakeServer // that New has made last
			var killed, losing atomic.Bool
			var paused atomic.Pointer[chan struct{}]
			segmenttest.Run(t, segmenttest.Harness{
				New: func(tb testing.TB, name string) segment.Creator {
					if name != last {
						last = name
						server = sqlstore.NewFakeServer(tt.version)
						server.Folds, server.HidesID = tt.folds, tt.hideID
						server.Before = func(ctx context.Context, statement string) error {
							if p := paused.Load(); p != nil {
								select {
								case <-*p:
								case <-ctx.Done():
									return ctx.Err()
								}
							}
							switch {
							case !killed.Load():
								return nil
							case statement == "CONNECT":
								return &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
							}
							return driver.ErrBadConn
						}
						server.After = func(context.Context, string) error {
							if losing.Load() {
								return tt.lost
							}
							return nil
						}
					}
					db := sql.OpenDB(server)
					tb.Cleanup(func() { db.Close() })
					return sqlstore.New(db, sqlstore.WithAttemptTimeout(20*time.Second))
				},
				FoldsTags: tt.folds,
				Faults: segmenttest.Faults{
					Kill:  func(testing.TB) { killed.Store(true) },
					Start: func(testing.TB) { killed.Store(false) },
					Pause: func(testing.TB) {
						resume := make(chan struct{})
						paused.Store(&resume)
					},
					Resume: func(testing.TB) { close(*paused.Swap(nil)) },
					LoseReplies: func(_ testing.TB, call func()) {
						losing.Store(true)
						call()
						losing.Store(false)
					},
					SetCounter: func(_ testing.TB, tag string, next int64) { server.SetCounter(tag, next) },
					LoseWritesUnnoticed: func(_ testing.TB, write func()) {
						rows := server.Rows()
						write()
						server.Restore(rows)
					},
					Without: map[string]string{"LoseWrites": "Leaf's table has no record of the server, so that a Table cannot notice it"},
				},
			})
		})
	}
}
