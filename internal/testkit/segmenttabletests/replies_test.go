//go:build unix

package segmenttabletests

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/sqlstore"
)

// hook is a connector that calls around for each statement, with its number since the last reset. around calls
// execute to execute it.
type hook struct {
	driver.Connector
	statements int
	around     func(number int, query string, execute func() error) error
}

func (h *hook) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := h.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &hookedConn{Conn: c, hook: h}, nil
}

// hookedConn is a connection of hook. Statements are not prepared: driver.Conn has no method for their context.
type hookedConn struct {
	driver.Conn
	hook *hook
}

func (c *hookedConn) run(query string, execute func() error) error {
	c.hook.statements++
	if c.hook.around == nil {
		return execute()
	}
	return c.hook.around(c.hook.statements, query, execute)
}

func (c *hookedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (result driver.Result, err error) {
	err = c.run(query, func() (err error) {
		result, err = c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
		return err
	})
	return result, err
}

func (c *hookedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (rows driver.Rows, err error) {
	err = c.run(query, func() (err error) {
		rows, err = c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
		return err
	})
	return rows, err
}

func (c *hookedConn) Prepare(query string) (driver.Stmt, error) {
	return nil, errors.New("a statement was prepared: " + query)
}

func (c *hookedConn) ResetSession(ctx context.Context) error {
	return c.Conn.(driver.SessionResetter).ResetSession(ctx)
}
func (c *hookedConn) IsValid() bool { return c.Conn.(driver.Validator).IsValid() }

// The replies to each statement of a Take get lost, or its connection is lost before or after it. No number is handed
// out twice, and the source sends each Take once: at most its own numbers are a gap. A lost connection before the
// COMMIT, when it is certain that nothing was written, is not noticed. No statement is prepared.
func TestTableRepliesLost(t *testing.T) {
	s := mariadbtest.Start(t)
	t.Run("reported", func(t *testing.T) {
		testRepliesLost(t, s, 7, false) // VERSION, engine, SELECT, START TRANSACTION, UPDATE, SELECT, COMMIT
	})
	t.Run("compared", func(t *testing.T) {
		testRepliesLost(t, s, 7, true) // START TRANSACTION, SELECT FOR UPDATE, UPDATE, SELECT, COMMIT
	})
}

func testRepliesLost(t *testing.T, s *mariadbtest.Server, statements int, compares bool) {
	name, admin := database(t, s)
	insertTag(admin, tag, 1, 10)
	if compares {
		createAudit(admin)
	}
	proxy := testserver.NewProxy(t, s.Address())
	cfg, err := mysql.ParseDSN(s.DSN("root", "", name))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Addr, cfg.Logger = proxy.Address(), &mysql.NopLogger{}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	other := sqlstore.New(admin)
	faults := map[string]func(execute func() error) error{
		"reply lost": func(execute func() error) (err error) {
			proxy.LoseReplies(t, func() { err = execute() })
			return err
		},
		"request lost": func(execute func() error) (err error) {
			proxy.LoseRequests(t, func() { err = execute() })
			return err
		},
		"connection lost after it": func(execute func() error) error {
			execute()
			return mysql.ErrInvalidConn
		},
		"connection lost before it": func(func() error) error { return driver.ErrBadConn },
		"connection killed": func(execute func() error) error {
			var ids []int64
			if err := admin.Select(&ids, "SELECT ID FROM information_schema.PROCESSLIST WHERE DB = ? AND ID <> CONNECTION_ID()", name); err != nil {
				t.Error(err)
			}
			for _, id := range ids {
				admin.Exec("KILL ?", id)
			}
			return execute()
		},
	}
	var all numbers
	w := all.set.Writer()
	admin.SetMaxOpenConns(1)
	for what, fault := range faults {
		for number := 1; number <= statements; number++ {
			for _, cold := range []bool{true, false} {
				if cold && compares { // a source compares from its first Take on
					continue
				}
				first := number
				if !cold { // the source has used the connection before
					if first -= 2; first < 1 {
						continue
					}
				}
				h := &hook{Connector: connector}
				db := sql.OpenDB(h)
				db.SetMaxOpenConns(1)
				timeout := time.Minute
				if what == "reply lost" || what == "request lost" { // nothing ends the statement but the timeout
					timeout = 150 * time.Millisecond
				}
				var source *sqlstore.Store
				var taken segment.Range
				var before int64
				failed, commit := "", false
				for failed == "" {
					source = sqlstore.New(db, sqlstore.WithAttemptTimeout(timeout))
					h.around = nil
					if !cold {
						all.add(t, w, takeAgain(t, source, 0))
					}
					before = maxID(t, admin, tag)
					h.statements, h.around = 0, func(n int, query string, execute func() error) error {
						if n != first {
							return execute()
						}
						failed, commit = query, query == "COMMIT AND NO CHAIN NO RELEASE"
						return fault(execute)
					}
					taken, err = source.Take(t.Context(), segment.Request{Tag: tag, AtLeast: before})
					if failed == "" && !strings.Contains(fmt.Sprint(err), "no answer within") { // it was so slow that the timeout came first
						t.Fatalf("%s: Take has fewer than %d statements: %v", what, first, err)
					}
					timeout *= 2
				}
				if err == nil {
					all.add(t, w, taken)
				}
				h.around = nil
				after, err2 := other.Take(t.Context(), segment.Request{Tag: tag})
				if err2 != nil {
					t.Fatal(err2)
				}
				all.add(t, w, after)
				all.add(t, w, takeAgain(t, source, before))
				switch raised := after.First - before; {
				case raised != 0 && raised != 10, err == nil && raised != 10, err != nil && raised == 10 && !commit:
					t.Errorf("%s at %q: Take = %+v, %v; the counter was raised by %d", what, failed, taken, err, raised)
				}
				db.Close()
			}
		}
	}
}

// takeAgain takes a range. On a busy machine the server may not answer within the short timeout of the source.
func takeAgain(t *testing.T, source *sqlstore.Store, atLeast int64) segment.Range {
	t.Helper()
	var taken segment.Range
	testkit.Retry(t, "the next Take", func() (err error) {
		taken, err = source.Take(t.Context(), segment.Request{Tag: tag, AtLeast: atLeast})
		return err
	})
	return taken
}

// The replies to each statement that takes the last numbers, and to those of CreateTag, get lost.
func TestTableOtherRepliesLost(t *testing.T) {
	s := mariadbtest.Start(t)
	name, admin := database(t, s)
	cfg, err := mysql.ParseDSN(s.DSN("root", "", name))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h := &hook{Connector: connector}
	source := sqlstore.New(sqlx.NewDb(sql.OpenDB(h), "mysql"))
	insertTag(admin, "last", int64(math.MaxInt64-3), 10)
	lose := func(first int) (failed *string) {
		failed = new(string)
		h.statements, h.around = 0, func(n int, query string, execute func() error) error {
			if n != first {
				return execute()
			}
			*failed = query
			execute()
			return mysql.ErrInvalidConn
		}
		return failed
	}
	for number := 1; ; number++ {
		admin.MustExec("UPDATE leaf_alloc SET max_id = ? WHERE biz_tag = 'last'", int64(math.MaxInt64-3))
		failed := lose(number)
		taken, err := source.Take(t.Context(), segment.Request{Tag: "last"})
		h.around = nil
		next, err2 := source.Take(t.Context(), segment.Request{Tag: "last"})
		if err == nil && (taken != rangeOf(math.MaxInt64-3, 3, 10) || !errors.Is(err2, segment.ErrExhausted)) ||
			err != nil && !errors.Is(err2, segment.ErrExhausted) && next != rangeOf(math.MaxInt64-3, 3, 10) {
			t.Errorf("a lost connection at %q: Take = %+v, %v, and then %+v, %v", *failed, taken, err, next, err2)
		}
		if *failed == "" {
			if number < 8 {
				t.Errorf("Take has %d statements", number)
			}
			break
		}
	}
	for number := 1; ; number++ {
		admin.MustExec("DELETE FROM leaf_alloc WHERE biz_tag = 'new'")
		failed := lose(number)
		err := source.CreateTag(t.Context(), "new", segment.TagConfig{Start: 100, Step: 7})
		h.around = nil
		if err2 := source.CreateTag(t.Context(), "new", segment.TagConfig{Start: 200}); err == nil && !errors.Is(err2, segment.ErrTagExists) || err2 != nil && !errors.Is(err2, segment.ErrTagExists) {
			t.Errorf("a lost connection at %q: CreateTag = %v, and then %v", *failed, err, err2)
		}
		if *failed == "" {
			if number < 4 {
				t.Errorf("CreateTag has %d statements", number)
			}
			break
		}
	}
}
