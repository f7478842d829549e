//go:build unix

package segmenttabletests

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/sqlstore"
)

// splitter is a proxy that splits transactions, as those do that send reads to other servers: it executes some
// statements of a client on the server connection of another client.
type splitter struct {
	driver.Connector
	elsewhere func(query string) bool // whether a statement goes to another connection; nil: none does

	mu    sync.Mutex
	conns []*splitConn
}

func newSplitter(t *testing.T, s *mariadbtest.Server, database string) *splitter {
	t.Helper()
	cfg, err := mysql.ParseDSN(s.DSN("root", "", database))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &splitter{Connector: connector}
}

// open returns a database with a connection of its own.
func (p *splitter) open(t *testing.T) *sql.DB {
	db := sql.OpenDB(p)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

// client returns a Table with a connection of its own.
func (p *splitter) client(t *testing.T) *sqlstore.Store { return sqlstore.New(p.open(t)) }

func (p *splitter) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	s := &splitConn{Conn: c, proxy: p}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, s)
	return s, nil
}

// splitConn is a connection of a client to the splitter, and the one to the server that belongs to it.
type splitConn struct {
	driver.Conn
	proxy *splitter
	mu    sync.Mutex // held during a statement on Conn
}

// server locks and returns the connection on which a statement is executed: another one only if that executes none.
func (c *splitConn) server(query string) *splitConn {
	p := c.proxy
	p.mu.Lock()
	if p.elsewhere != nil && p.elsewhere(query) {
		for _, n := range rand.Perm(len(p.conns)) {
			if other := p.conns[n]; other != c && other.mu.TryLock() {
				p.mu.Unlock()
				return other
			}
		}
	}
	p.mu.Unlock()
	c.mu.Lock()
	return c
}

func (c *splitConn) Close() error {
	c.proxy.mu.Lock()
	c.proxy.conns = slices.DeleteFunc(c.proxy.conns, func(other *splitConn) bool { return other == c })
	c.proxy.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Conn.Close()
}

func (c *splitConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s := c.server(query)
	defer s.mu.Unlock()
	return s.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c *splitConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s := c.server(query)
	defer s.mu.Unlock()
	rows, err := s.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return readAll(rows)
}

// readAll reads rows, so that the connection is free.
func readAll(rows driver.Rows) (driver.Rows, error) {
	all := &readRows{columns: rows.Columns()}
	for {
		values := make([]driver.Value, len(all.columns))
		if err := rows.Next(values); err != nil {
			all.end = err
			return all, nil
		}
		for i, v := range values {
			if text, ok := v.([]byte); ok {
				values[i] = append([]byte{}, text...)
			}
		}
		all.rows = append(all.rows, values)
	}
}

type readRows struct {
	columns []string
	rows    [][]driver.Value
	end     error
}

func (r *readRows) Columns() []string                       { return r.columns }
func (r *readRows) Close() error                            { return nil }
func (r *readRows) ColumnTypeDatabaseTypeName(n int) string { return "BIGINT" }
func (r *readRows) Next(into []driver.Value) error {
	if len(r.rows) == 0 {
		return r.end
	}
	copy(into, r.rows[0])
	r.rows = r.rows[1:]
	return nil
}

// A proxy sends the SELECT of a transaction to the connection of another process, which has not seen the UPDATE, and
// whose own last UPDATE looks as if it were this one.
func TestProxySplitsSelect(t *testing.T) {
	onEachServer(t, func(t *testing.T, start startFunc) {
		s := start(t)
		for _, size := range []int64{0, 10} {
			name, db := database(t, s)
			insertTag(db, tag, 1, 10)
			p := newSplitter(t, s, name)
			a, b := p.client(t), p.client(t)
			mustTake(t, a, segment.Request{Tag: tag, Size: size}, rangeOf(1, 10, 10))
			mustTake(t, b, segment.Request{Tag: tag, Size: size}, rangeOf(11, 10, 10))
			p.elsewhere = func(query string) bool { return strings.HasPrefix(query, "SELECT") }
			for range 2 {
				if got, err := a.Take(t.Context(), segment.Request{Tag: tag, Size: size}); !errors.Is(err, segment.ErrSource) || !strings.Contains(err.Error(), "a proxy splits the transaction") {
					t.Errorf("Take() = %+v, %v; want ErrSource that says that a proxy splits the transaction", got, err)
				}
			}
			p.elsewhere = nil
			mustTake(t, a, segment.Request{Tag: tag, Size: size, AtLeast: 11}, rangeOf(21, 10, 10))
			mustTake(t, b, segment.Request{Tag: tag, Size: size, AtLeast: 21}, rangeOf(31, 10, 10))
		}
	})
}

// A proxy sends the begin of a transaction elsewhere, so that the UPDATE is a transaction of its own, and others
// change the row before the SELECT: by the same numbers as the step that they set.
func TestProxySplitsBegin(t *testing.T) {
	onEachServer(t, func(t *testing.T, start startFunc) {
		s := start(t)
		name, db := database(t, s)
		insertTag(db, tag, 1, 10)
		p := newSplitter(t, s, name)
		a, b := p.client(t), p.client(t)
		mustTake(t, a, segment.Request{Tag: tag}, rangeOf(1, 10, 10))
		mustTake(t, b, segment.Request{Tag: tag}, rangeOf(11, 10, 10))
		updated, changed := false, false
		p.elsewhere = func(query string) bool {
			if strings.HasPrefix(query, "UPDATE") {
				updated = true
			} else if updated && !changed && strings.HasPrefix(query, "SELECT") {
				changed = true
				mustTake(t, sqlstore.New(db), segment.Request{Tag: tag}, rangeOf(31, 10, 10))
				db.MustExec("UPDATE leaf_alloc SET step = 20")
			}
			return !strings.HasPrefix(query, "UPDATE") && !strings.HasPrefix(query, "SELECT")
		}
		mustTake(t, a, segment.Request{Tag: tag}, rangeOf(41, 20, 20))
		if !changed {
			t.Error("nothing was changed between the UPDATE and the SELECT")
		}
	})
}

// Clients of a proxy that sends most SELECTs to a connection of another client take ranges. Some fail. No number is
// handed out twice.
func TestProxySplitsAtRandom(t *testing.T) {
	s := mariadbtest.Start(t)
	name, db := database(t, s)
	insertTag(db, tag, 1, 10)
	p := newSplitter(t, s, name)
	var clients []*sql.DB
	for range 6 {
		clients = append(clients, p.open(t))
		if err := clients[len(clients)-1].PingContext(t.Context()); err != nil { // all have a connection
			t.Fatal(err)
		}
	}
	p.elsewhere = func(query string) bool {
		return strings.HasPrefix(query, "SELECT") && !strings.HasSuffix(query, "FOR UPDATE") && rand.IntN(4) > 0
	}
	var all numbers
	var taken, failed atomic.Int64
	var running sync.WaitGroup
	begin := time.Now()
	for g, db := range clients {
		running.Go(func() {
			w := all.set.Writer()
			var c *sqlstore.Store
			for n := 0; n < testkit.Size(60, 2000) || failed.Load() == 0 && time.Since(begin) < 2*time.Minute; n++ {
				if n%5 == 0 { // after an error, a Table has other statements
					c = sqlstore.New(db, sqlstore.WithAttemptTimeout(5*time.Second))
				}
				got, err := c.Take(context.Background(), segment.Request{Tag: tag, Size: int64(g % 2 * 10)})
				if err != nil {
					failed.Add(1)
					continue
				}
				taken.Add(1)
				all.add(t, w, got)
			}
		})
	}
	running.Wait()
	t.Logf("%d ranges, %d errors", taken.Load(), failed.Load())
	if taken.Load() == 0 || failed.Load() == 0 {
		t.Errorf("%d ranges were taken and %d Takes failed; want some of both", taken.Load(), failed.Load())
	}
}
