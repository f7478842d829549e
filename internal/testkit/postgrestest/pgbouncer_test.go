package postgrestest_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// Disposable, slot tables and segments work behind a real PgBouncer in its modes session and transaction, where clients share a
// connection. In its mode statement only Takes of segments work, and what the others log or return names the mode.
func TestPgBouncer(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t)
	for _, mode := range []string{"session", "transaction", "statement"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			bouncer := s.StartPgBouncer(t, mode)
			for _, driver := range []struct{ name, parameters string }{{"pgx", "default_query_exec_mode=exec"}, {"postgres", "binary_parameters=yes"}} {
				t.Run(driver.name, func(t *testing.T) {
					name, admin := s.Database()
					testserver.RunScript(t, admin, schemaScript(t))
					open := func() *sql.DB { return openDriver(t, driver.name, bouncer.DSN(name, driver.parameters)) }
					if mode != "statement" {
						testPgBouncerUIDs(t, open)
					} else {
						const advice = "statement mode (pool_mode of PgBouncer)"
						waitForAdvice(t, advice, func(l *slog.Logger) workerassign.Assigner {
							return workerassign.NewDisposable(open(), workerassign.WithLogger(l))
						})
						waitForAdvice(t, advice, func(l *slog.Logger) workerassign.Assigner {
							return recycled.New(sqlstore.New(open()), recycled.WithLogger(l))
						})
					}
					create := open()
					if mode == "statement" { // a tag is created in a transaction
						create = admin.DB
					}
					testPgBouncerNumbers(t, create, open)
				})
			}
		})
	}
	// Without exec, pgx prepares statements, which those of other clients meet on the connection that they share.
	t.Run("transaction, with prepared statements", func(t *testing.T) {
		t.Parallel()
		bouncer := s.StartPgBouncer(t, "transaction")
		name, admin := s.Database()
		testserver.RunScript(t, admin, schemaScript(t))
		mustAssign(t, postgrestest.Open(t, bouncer.DSN(name, "")))
		waitForAdvice(t, "add default_query_exec_mode=exec to the DSN", func(l *slog.Logger) workerassign.Assigner {
			return workerassign.NewDisposable(postgrestest.Open(t, bouncer.DSN(name, "")), workerassign.WithLogger(l))
		})
	})
}

// openDriver opens a database with a driver, and closes it at the end of the test.
func openDriver(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// testPgBouncerUIDs starts generators at the same time, with both kinds of worker IDs, each with connections of its own. All their
// UIDs differ.
func testPgBouncerUIDs(t *testing.T, open func() *sql.DB) {
	t.Helper()
	for kind, newAssigner := range map[string]func() workerassign.Assigner{
		"disposable": func() workerassign.Assigner { return workerassign.NewDisposable(open(), discardLog()) },
		"recycled": func() workerassign.Assigner {
			return slottest.New(t, sqlstore.New(open()), quiet())
		},
	} {
		var seen uniq.Set
		var all sync.WaitGroup
		var closed atomic.Int64 // without an error
		for range 8 {
			a := newAssigner()
			all.Go(func() {
				w := seen.Writer()
				for range 3 {
					g, err := uid.NewDefault(t.Context(), a)
					if err != nil {
						t.Errorf("%s: %v", kind, err)
						return
					}
					for range 100 {
						id, err := g.NextContext(t.Context())
						if err != nil {
							t.Errorf("%s: %v", kind, err)
						}
						if !w.Add(int64(id)) {
							t.Errorf("%s: %d twice", kind, id)
						}
					}
					// Up to eight releases wait for one connection of the server, for five seconds.
					switch err := g.Close(); {
					case err == nil:
						closed.Add(1)
					case kind != "recycled" || !strings.Contains(err.Error(), "no answer within"):
						t.Errorf("%s: Close: %v", kind, err)
					}
				}
			})
		}
		all.Wait()
		if closed.Load() == 0 {
			t.Errorf("%s: no worker ID was released in time", kind)
		}
	}
}

// testPgBouncerNumbers takes ranges of a tag at the same time.
func testPgBouncerNumbers(t *testing.T, create *sql.DB, open func() *sql.DB) {
	t.Helper()
	if err := sqlstore.New(create).CreateTag(t.Context(), "orders", segment.TagConfig{Step: 10}); err != nil {
		t.Fatal(err)
	}
	var seen uniq.Set
	var all sync.WaitGroup
	for range 8 {
		table := sqlstore.New(open(), sqlstore.WithAttemptTimeout(10*time.Minute))
		all.Go(func() {
			w := seen.Writer()
			for range 20 {
				r, err := table.Take(t.Context(), segment.Request{Tag: "orders"})
				if err != nil {
					t.Error(err)
					return
				}
				for n := range r.Length {
					if !w.Add(r.First + n) {
						t.Errorf("%d twice", r.First+n)
					}
				}
			}
		})
	}
	all.Wait()
}

// waitForAdvice calls Assign, which ends with an error that has the advice, or when it has logged the advice.
func waitForAdvice(t *testing.T, advice string, newAssigner func(*slog.Logger) workerassign.Assigner) {
	t.Helper()
	ctx, cancel := context.WithCancel(testkit.Patient(t))
	defer cancel()
	logged := &adviceWriter{advice: advice, found: cancel}
	_, err := newAssigner(slog.New(slog.NewTextHandler(logged, nil))).Assign(ctx, recycledRequest())
	if err == nil || !strings.Contains(err.Error(), advice) && !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("Assign returns %v; the error or the log must have %q", err, advice)
	}
}

// An adviceWriter calls found when a log record has the advice.
type adviceWriter struct {
	advice string
	found  func()
}

// Write implements io.Writer.
func (w *adviceWriter) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.advice) {
		w.found()
	}
	return len(p), nil
}
