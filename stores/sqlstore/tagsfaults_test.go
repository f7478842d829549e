package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ringuid/ringuid/segment"
)

// newFakeTable returns a Table on a server that has the tag "a" with the counter 7 and the step 10, and the pool.
func newFakeTable(t *testing.T, version string, opts ...Option) (*Store, *FakeServer, *sql.DB) {
	t.Helper()
	server := NewFakeServer(version)
	server.Set("a", 7, 10)
	db := sql.OpenDB(server)
	t.Cleanup(func() { db.Close() })
	return New(db, opts...), server, db
}

// failAt returns a FakeServer.Before that fails the first times statements with a prefix.
func failAt(prefix string, times int, err error) func(context.Context, string) error {
	return func(_ context.Context, statement string) error {
		if times == 0 || !strings.HasPrefix(statement, prefix) {
			return nil
		}
		times--
		return err
	}
}

// hangAt returns a FakeServer.Before that does not answer statements with a prefix.
func hangAt(prefix string) func(context.Context, string) error {
	return func(ctx context.Context, statement string) error {
		if !strings.HasPrefix(statement, prefix) {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}
}

// countOf returns how many of the statements have a prefix.
func countOf(statements []string, prefix string) (n int) {
	for _, s := range statements {
		if strings.HasPrefix(s, prefix) {
			n++
		}
	}
	return n
}

// wantTaken fails the test unless a Take of the tag "a" returns so many numbers from first on.
func wantTaken(t *testing.T, table *Store, r segment.Request, first, length int64) {
	t.Helper()
	r.Tag = "a"
	if got, err := table.Take(t.Context(), r); err != nil || got.First != first || got.Length != length || got.Stride != 1 {
		t.Fatalf("Take(%+v) = %+v, %v; want %d numbers from %d on", r, got, err, length, first)
	}
}

// An error of the server comes with what to do, and is an ErrSource if the table is wrong. Nothing was written, and the
// connection is used again.
func TestTableErrorsSayWhatToDo(t *testing.T) {
	for _, tt := range []struct {
		version  string
		err      error
		isSource bool
		want     string
	}{
		{FakeMariaDB, &mysql.MySQLError{Number: 1146}, true, "apply schema.sql"},
		{FakeMariaDB, &mysql.MySQLError{Number: 1054}, true, "compare its columns with schema.sql"},
		{FakeMariaDB, &mysql.MySQLError{Number: 1292}, true, "compare its columns with schema.sql"},
		{FakeMariaDB, &mysql.MySQLError{Number: 1264}, true, "max_id must be BIGINT"},
		{FakeMariaDB, &mysql.MySQLError{Number: 1142}, false, "lacks a privilege"},
		{FakeMariaDB, &mysql.MySQLError{Number: 1044}, false, "PRIVILEGES ON TAGS"},
		{FakeMariaDB, &mysql.MySQLError{Number: 9999}, false, "correct the cause"},
		{FakePostgres, FakeState("42P01"), true, "apply schema.postgres.sql"},
		{FakePostgres, FakeState("3F000"), true, "schema does not exist"},
		{FakePostgres, FakeState("42703"), true, "compare its columns with schema.postgres.sql"},
		{FakePostgres, FakeState("42883"), true, "compare its columns with schema.postgres.sql"},
		{FakePostgres, FakeState("22003"), true, "max_id must be BIGINT"},
		{FakePostgres, FakeState("42501"), false, "lacks a privilege"},
		{FakePostgres, FakeState("22021"), false, "encoding UTF8"},
		{FakePostgres, FakeState("XX000"), false, "correct the cause"},
	} {
		synctest.Test(t, func(t *testing.T) {
			table, server, _ := newFakeTable(t, tt.version)
			server.Before = failAt("UPDATE", 1, tt.err)
			begin := time.Now()
			_, err := table.Take(t.Context(), segment.Request{Tag: "a"})
			if !errors.Is(err, tt.err) || errors.Is(err, segment.ErrSource) != tt.isSource || !strings.Contains(err.Error(), tt.want) || time.Since(begin) > 0 {
				t.Errorf("Take with the error %v = %v after %v; want ErrSource: %t, with %q", tt.err, err, time.Since(begin), tt.isSource, tt.want)
			}
			wantTaken(t, table, segment.Request{}, 7, 10)
			if opened, closed := server.Connections(); opened != 1 || closed != 0 {
				t.Errorf("%d connections were opened and %d closed after the error %v, want one that is used again", opened, closed, tt.err)
			}
		})
	}
}

// A server that does not answer is reported after the timeout, with what it did not answer.
func TestTableTimeouts(t *testing.T) {
	for _, tt := range []struct{ version, statement, waiting, want string }{
		{FakeMariaDB, "SELECT VERSION()", "the server's version", "firewall"},
		{FakeMariaDB, "CONNECT", "a connection", "firewall"},
		{FakeMariaDB, "SELECT ENGINE", "the table's storage engine", "firewall"},
		{FakeMariaDB, "START TRANSACTION", "the begin of the transaction", "firewall"},
		{FakeMariaDB, "UPDATE", "the update", "SHOW FULL PROCESSLIST"},
		{FakeMariaDB, "COMMIT", "the commit", "SHOW FULL PROCESSLIST"},
		{FakePostgres, "UPDATE", "the update", "pg_stat_activity"},
		{FakePostgres, "SELECT txid", "the check of the commit", "pg_stat_activity"},
	} {
		synctest.Test(t, func(t *testing.T) {
			table, server, _ := newFakeTable(t, tt.version, WithAttemptTimeout(2*time.Second))
			server.Before = hangAt(tt.statement)
			begin := time.Now()
			_, err := table.Take(t.Context(), segment.Request{Tag: "a"})
			if took := time.Since(begin); err == nil || took < 2*time.Second || took > 20*time.Second {
				t.Fatalf("Take whose %s is not answered = %v after %v", tt.statement, err, took)
			}
			if text := err.Error(); !strings.Contains(text, "within 2s while waiting for "+tt.waiting) || !strings.Contains(text, tt.want) {
				t.Errorf("Take whose %s is not answered = %v; want %q, and %q", tt.statement, err, tt.waiting, tt.want)
			}
			if opened, closed := server.Connections(); opened != closed {
				t.Errorf("%d of %d connections were closed after %s was not answered", closed, opened, tt.statement)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err = New(table.db).Take(ctx, segment.Request{Tag: "a"})
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "while waiting for "+tt.waiting) {
				t.Errorf("Take whose context ends = %v", err)
			}
		})
	}
}

// If all connections of the pool are in use, the error says so.
func TestTablePoolInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, _, db := newFakeTable(t, FakeMariaDB, WithAttemptTimeout(time.Second))
		db.SetMaxOpenConns(2)
		var held []*sql.Conn
		for range 2 {
			c, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, c)
		}
		if _, err := table.Take(t.Context(), segment.Request{Tag: "a"}); err == nil || !strings.Contains(err.Error(), "a connection") || !strings.Contains(err.Error(), "pool") {
			t.Errorf("Take with a pool in use = %v", err)
		}
		held[0].Close()
		wantTaken(t, table, segment.Request{}, 7, 10)
		held[1].Close()
	})
}

// Conflicts are tried again for as long as an attempt may take, and no longer.
func TestTableConflicts(t *testing.T) {
	for version, conflict := range map[string]error{FakeMariaDB: &mysql.MySQLError{Number: 1213}, FakePostgres: FakeState("40001")} {
		synctest.Test(t, func(t *testing.T) {
			table, server, _ := newFakeTable(t, version, WithAttemptTimeout(time.Second))
			server.Before = failAt("UPDATE", 5, conflict)
			wantTaken(t, table, segment.Request{}, 7, 10)
			if n := countOf(server.Statements(), "UPDATE"); n != 6 {
				t.Errorf("a Take with 5 conflicts has sent %d UPDATEs, want 6", n)
			}
			server.Before = failAt("UPDATE", 1000, conflict)
			begin := time.Now()
			_, err := table.Take(t.Context(), segment.Request{Tag: "a"})
			if took := time.Since(begin); !errors.Is(err, conflict) || took < time.Second || took > 1200*time.Millisecond {
				t.Errorf("Take with conflicts = %v after %v, want the conflict after a second", err, took)
			}
			if n := countOf(server.Statements(), "UPDATE"); n < 8 || n > 40 {
				t.Errorf("a Take has sent %d UPDATEs in a second of conflicts", n)
			}
			server.Before = nil
			wantTaken(t, table, segment.Request{}, 17, 10)
		})
	}
}

// After a conflict, PostgreSQL executes the Take in a transaction at READ COMMITTED, and the numbers are committed once.
func TestTablePostgresConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, server, _ := newFakeTable(t, FakePostgres)
		wantTaken(t, table, segment.Request{}, 7, 10)
		if s := server.Statements(); len(s) != 3 || countOf(s, "UPDATE") != 1 || countOf(s, "SELECT txid") != 1 {
			t.Errorf("a Take has sent %q, want an UPDATE that commits, and the check of that", s)
		}
		server.Before = failAt("UPDATE", 1, FakeState("40001"))
		wantTaken(t, table, segment.Request{Size: 3}, 17, 3)
		s := server.Statements()
		if len(s) != 4 || s[1] != "START TRANSACTION ISOLATION LEVEL READ COMMITTED" || s[3] != "COMMIT" {
			t.Errorf("a Take with a conflict has sent %q, want a second UPDATE in a transaction", s)
		}
		first := true
		server.Before = func(_ context.Context, s string) error { // a conflict, and another one at the commit
			switch {
			case strings.HasPrefix(s, "UPDATE") && first:
				first = false
				return FakeState("40001")
			case s == "COMMIT":
				server.Before = nil
				return FakeState("40P01")
			}
			return nil
		}
		wantTaken(t, table, segment.Request{}, 20, 10)
		server.Before = func(_ context.Context, s string) error { // a conflict, and then the reply to the commit is lost
			switch {
			case strings.HasPrefix(s, "UPDATE") && !first:
				first = true
				return FakeState("40001")
			case s == "COMMIT":
				return io.ErrUnexpectedEOF
			}
			return nil
		}
		server.Statements()
		if _, err := table.Take(t.Context(), segment.Request{Tag: "a"}); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("Take whose COMMIT was lost = %v", err)
		}
		if n := countOf(server.Statements(), "COMMIT"); n != 1 {
			t.Errorf("a COMMIT whose reply was lost was sent %d times", n)
		}
	})
}

// Connections that were lost before anything was written are not noticed: each idle one may be lost, and one more. A
// statement that may have been written is not sent again, unless the driver of MySQL has not sent it.
func TestTableLostConnections(t *testing.T) {
	for _, tt := range []struct {
		version, statement string
		err                error
		again              bool
	}{
		{FakeMariaDB, "START TRANSACTION", mysql.ErrInvalidConn, true},
		{FakeMariaDB, "UPDATE", mysql.ErrInvalidConn, true},
		{FakeMariaDB, "UPDATE", &mysql.MySQLError{Number: 1290}, true},
		{FakeMariaDB, "COMMIT", driver.ErrBadConn, true},
		{FakeMariaDB, "COMMIT", &mysql.MySQLError{Number: 1047}, true},
		{FakeMariaDB, "COMMIT", mysql.ErrInvalidConn, false},
		{FakeMariaDB, "COMMIT", &mysql.MySQLError{Number: 1053}, false},
		{FakePostgres, "SELECT VERSION()", driver.ErrBadConn, true},
		{FakePostgres, "UPDATE", driver.ErrBadConn, false},
		{FakePostgres, "UPDATE", io.ErrUnexpectedEOF, false},
		{FakePostgres, "UPDATE", FakeState("25006"), true},
		{FakePostgres, "UPDATE", FakeState("57P01"), false},
	} {
		synctest.Test(t, func(t *testing.T) {
			table, server, _ := newFakeTable(t, tt.version)
			server.Before = failAt(tt.statement, 1, tt.err)
			got, err := table.Take(t.Context(), segment.Request{Tag: "a"})
			if tt.again && (err != nil || got.First != 7 || got.Length != 10) || !tt.again && err == nil {
				t.Errorf("Take on %s with %v at %s = %+v, %v; want another try: %t", tt.version, tt.err, tt.statement, got, err, tt.again)
			}
			if n := countOf(server.Statements(), tt.statement); tt.again && n != 2 || !tt.again && n != 1 {
				t.Errorf("%s was sent %d times to %s after %v", tt.statement, n, tt.version, tt.err)
			}
		})
	}
	for _, idle := range []int{0, 1, 3} {
		synctest.Test(t, func(t *testing.T) {
			table, server, db := newFakeTable(t, FakeMariaDB)
			db.SetMaxIdleConns(10)
			var held []*sql.Conn
			for range idle {
				c, err := db.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				held = append(held, c)
			}
			for _, c := range held {
				c.Close()
			}
			server.Before = failAt("SELECT VERSION()", idle+1, mysql.ErrInvalidConn)
			wantTaken(t, table, segment.Request{}, 7, 10)
			table, server, _ = newFakeTable(t, FakeMariaDB)
			server.Before = failAt("SELECT VERSION()", 1000, mysql.ErrInvalidConn)
			if _, err := table.Take(t.Context(), segment.Request{Tag: "a"}); !errors.Is(err, mysql.ErrInvalidConn) {
				t.Errorf("Take without a connection that works = %v", err)
			}
			if n := countOf(server.Statements(), "SELECT VERSION()"); n != 2 {
				t.Errorf("a Take has tried %d connections, want 2", n)
			}
		})
	}
}

// A connection whose state is not known is closed: after an error that is not the server's, and if the transaction
// cannot be rolled back. After a conflict at the rollback, the rollback is sent again.
func TestTableClosesConnections(t *testing.T) {
	refused := &mysql.MySQLError{Number: 1142}
	for name, tt := range map[string]struct {
		statement string
		err       error
		rollback  []error
		closed    int
	}{
		"refused":                    {"UPDATE", refused, nil, 0},
		"unknown error":              {"UPDATE", errors.New("unknown"), nil, 1},
		"lost":                       {"UPDATE", io.EOF, nil, 1},
		"rollback fails":             {"UPDATE", refused, []error{refused}, 1},
		"conflict at the rollback":   {"UPDATE", refused, []error{&mysql.MySQLError{Number: 1213}}, 0},
		"second rollback fails":      {"UPDATE", refused, []error{&mysql.MySQLError{Number: 1213}, refused}, 1},
		"shutdown":                   {"UPDATE", &mysql.MySQLError{Number: 1053}, nil, 1},
		"refused before the dialect": {"SELECT VERSION()", refused, nil, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			table, server, _ := newFakeTable(t, FakeMariaDB)
			rollbacks := 0
			server.Before = func(_ context.Context, s string) error {
				switch {
				case strings.HasPrefix(s, tt.statement):
					return tt.err
				case strings.HasPrefix(s, "ROLLBACK"):
					rollbacks++
					if rollbacks <= len(tt.rollback) {
						return tt.rollback[rollbacks-1]
					}
				}
				return nil
			}
			if _, err := table.Take(t.Context(), segment.Request{Tag: "a"}); !errors.Is(err, tt.err) {
				t.Errorf("%s: Take = %v", name, err)
			}
			if opened, closed := server.Connections(); closed != tt.closed*opened {
				t.Errorf("%s: %d of %d connections were closed", name, closed, opened)
			}
			server.Before = nil
			wantTaken(t, table, segment.Request{}, 7, 10)
		})
	}
}

// The server is asked for its version once, and for the storage engine once a minute, until it has transactions.
func TestTableInspectsServer(t *testing.T) {
	for _, version := range []string{FakeMariaDB, FakeMySQL, FakeTiDB, FakePostgres} {
		synctest.Test(t, func(t *testing.T) {
			table, server, _ := newFakeTable(t, version)
			server.Engine = "MyISAM"
			hasEngines := version == FakeMariaDB || version == FakeMySQL
			if _, err := table.Take(t.Context(), segment.Request{Tag: "a"}); errors.Is(err, segment.ErrSource) != hasEngines || hasEngines && !strings.Contains(err.Error(), "MyISAM") {
				t.Fatalf("Take of a table of another storage engine on %s = %v", version, err)
			}
			server.Set("a", 7, 10)
			server.Engine = ""
			for range 3 {
				if err := table.CreateTag(t.Context(), "a", segment.TagConfig{}); !errors.Is(err, segment.ErrTagExists) {
					t.Fatal(err)
				}
				time.Sleep(20 * time.Second)
			}
			wantTaken(t, table, segment.Request{}, 7, 10)
			s := server.Statements()
			if v, e := countOf(s, "SELECT VERSION()"), countOf(s, "SELECT ENGINE"); v != 1 || hasEngines && e != 3 || !hasEngines && e != 0 {
				t.Errorf("%s was asked %d times for its version and %d times for the storage engine", version, v, e)
			}
			begin := countOf(s, "START TRANSACTION")
			if pessimistic := countOf(s, "BEGIN PESSIMISTIC"); version == FakeTiDB && (pessimistic == 0 || begin > 0) || version != FakeTiDB && pessimistic > 0 {
				t.Errorf("%s has begun %d transactions, and %d pessimistic ones", version, begin, pessimistic)
			}
		})
	}
}

// A name that is too long for PostgreSQL, but not for MySQL, is found when the server is known.
func TestTableNameOfServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := strings.Repeat("x", 64)
		table, server, _ := newFakeTable(t, FakePostgres, WithTagTable(name))
		if _, err := table.Take(t.Context(), segment.Request{Tag: "a"}); !errors.Is(err, segment.ErrOption) || !strings.Contains(err.Error(), "63") {
			t.Errorf("Take = %v, want ErrOption", err)
		}
		if s := server.Statements(); len(s) != 1 {
			t.Errorf("the statements were %q", s)
		}
		table, server, _ = newFakeTable(t, FakeMariaDB, WithTagTable("leaf."+name))
		wantTaken(t, table, segment.Request{}, 7, 10)
		if s := fmt.Sprint(server.Statements()); strings.Contains(s, "leaf_alloc") || !strings.Contains(s, "`leaf`.`"+name+"`") {
			t.Errorf("the statements were %s", s)
		}
	})
}
