package workerassign_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// testedSections returns the headings of the sections in schema.sql that contain statements. For each
// section there is a test that runs all of its statements. TestSchemaComments fails if a section is
// missing here. A test fails if it does not run all statements of its section.
func testedSections() []string {
	return []string{
		"SERVERS",                                    // TestSchemaServers
		"DURABILITY",                                 // TestSchemaDurability
		"PRIVILEGES",                                 // TestSchemaPrivileges
		"VERIFIED WORKER IDS",                        // TestVerified...
		"WHEN ROWS MAY BE DELETED",                   // TestSchemaDeletion
		"AFTER A FAILOVER OR A RESTORED BACKUP",      // TestSchemaFailover
		"HOW MANY ARE LEFT",                          // TestSchemaHowManyAreLeft
		"WHAT A SLOT MEANS",                          // TestSchemaSlots
		"PRIVILEGES ON SLOTS",                        // TestSchemaSlotPrivileges
		"SLOTS AFTER A RESTORED BACKUP",              // TestSchemaSlotFloor
		"WHAT A TAG MEANS",                           // TestSchemaTags
		"HOW TO ADD A TAG",                           // TestSchemaTags
		"HOW TO SIZE A STEP",                         // TestSchemaTags
		"PRIVILEGES ON TAGS",                         // TestSchemaTagPrivileges
		"WHICH TAGS MAY BE DELETED",                  // TestSchemaTagDeletion
		"TAGS AFTER A FAILOVER OR A RESTORED BACKUP", // TestSchemaTagFailover
	}
}

// schemaComments are the statements and the shell commands in the comments of schema.sql.
type schemaComments struct {
	headings   []string
	statements map[string][]string
	commands   []string
}

// parseComments parses the comments of schema.sql, which have a regular form. A line in capitals is the
// heading of a section. Lines that are indented by seven spaces or more are statements or commands. A
// statement ends with a semicolon. A command begins with a dollar sign. All other lines are prose, which
// contains no semicolon.
func parseComments(script string) (*schemaComments, error) {
	var (
		c         = &schemaComments{statements: map[string][]string{}}
		heading   string
		statement []string
		isHeading = regexp.MustCompile(`^[A-Z][A-Z ]+$`)
	)
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		text, ok := strings.CutPrefix(line, "--")
		code, isCode := strings.CutPrefix(text, "       ")
		code = strings.TrimSpace(code)
		switch {
		case !ok || !isCode:
			if len(statement) > 0 {
				return nil, fmt.Errorf("the statement %q does not end with a semicolon", statement)
			}
			if ok && strings.Contains(text, ";") {
				return nil, fmt.Errorf("prose contains a semicolon, or a statement is not indented by seven spaces: %q", line)
			}
			if h := strings.TrimSpace(text); ok && isHeading.MatchString(h) {
				heading = h
			}
		case strings.HasPrefix(code, "$ "):
			c.commands = append(c.commands, code)
		default:
			statement = append(statement, code)
			if body, ends := strings.CutSuffix(strings.Join(statement, "\n"), ";"); ends {
				if len(c.statements[heading]) == 0 {
					c.headings = append(c.headings, heading)
				}
				c.statements[heading] = append(c.statements[heading], body)
				statement = nil
			}
		}
	}
	return c, nil
}

// The comments of schema.sql have the form that parseComments requires, and every section with
// statements has a test.
func TestSchemaComments(t *testing.T) {
	c, err := parseComments(schemaScript(t))
	if err != nil {
		t.Fatal(err)
	}
	if want := testedSections(); !slices.Equal(c.headings, want) {
		t.Errorf("the sections with statements are %q, want %q", c.headings, want)
	}
	if want := []string{"$ mysql ids < schema.sql"}; !slices.Equal(c.commands, want) {
		t.Errorf("the commands are %q, want %q", c.commands, want)
	}
	for _, wrong := range []string{"--   SELECT 1;\n", "--       SELECT 1\n-- prose\n", "--       SELECT\nCREATE TABLE"} {
		if c, err := parseComments(wrong); err == nil {
			t.Errorf("parseComments(%q) returns the statements %q, want an error", wrong, c.statements)
		}
	}
}

// section is the statements of a section of schema.sql, in order, for the test that runs them.
type section struct {
	t            *testing.T
	remaining    []string
	placeholders *strings.Replacer
}

// newSection returns a section. The test fails if it does not use all of its statements. pairs are the
// arguments of strings.NewReplacer, which replaces the placeholders. A placeholder without a replacement
// is an error.
func newSection(t *testing.T, heading string, pairs ...string) *section {
	t.Helper()
	c, err := parseComments(schemaScript(t))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(testedSections(), heading) || len(c.statements[heading]) == 0 {
		t.Fatalf("schema.sql has no section %q with statements, or the section is missing in testedSections", heading)
	}
	s := &section{t: t, remaining: c.statements[heading], placeholders: strings.NewReplacer(pairs...)}
	t.Cleanup(func() {
		if len(s.remaining) > 0 && !t.Failed() {
			t.Errorf("the test did not run these statements of the section %s: %q", heading, s.remaining)
		}
	})
	return s
}

// nextStatement returns the next statement, which must begin with the given text. It replaces the placeholders
// by the pairs of newSection, then by further pairs.
func (s *section) nextStatement(begin string, pairs ...string) string {
	s.t.Helper()
	if len(s.remaining) == 0 || !strings.HasPrefix(s.remaining[0], begin) {
		s.t.Fatalf("the next statements are %q, want one that begins with %q", s.remaining, begin)
	}
	statement := strings.NewReplacer(pairs...).Replace(s.placeholders.Replace(s.remaining[0]))
	s.remaining = s.remaining[1:]
	if placeholder := regexp.MustCompile(`<[A-Za-z][A-Za-z ]*>`).FindString(statement); placeholder != "" {
		s.t.Fatalf("nothing replaces %s in %s", placeholder, statement)
	}
	return statement
}

// startFunc starts a server, like mariadbtest.Start.
type startFunc func(testing.TB, ...string) *mariadbtest.Server

// onEachServer runs a test on MariaDB and, in full size, on MySQL 5.6, each in strict mode.
func onEachServer(t *testing.T, test func(t *testing.T, start startFunc)) {
	const strict = "--sql-mode=STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION,ONLY_FULL_GROUP_BY"
	for _, server := range []struct {
		name  string
		start startFunc
	}{{"MariaDB", mariadbtest.Start}, {"MySQL 5.6", mariadbtest.StartMySQL56}} {
		t.Run(server.name, func(t *testing.T) {
			if server.name != "MariaDB" {
				testkit.Full(t, "it repeats the test on MariaDB")
			}
			test(t, func(tb testing.TB, flags ...string) *mariadbtest.Server {
				tb.Helper()
				return server.start(tb, append([]string{strict}, flags...)...)
			})
		})
	}
}

// createIDsDatabase creates the database ids, which the comments of schema.sql use, without a table. It
// returns a connection to it as root. The character set is the default of a server without a
// configuration.
func createIDsDatabase(t *testing.T, s *mariadbtest.Server) *sqlx.DB {
	t.Helper()
	s.Admin().MustExec("CREATE DATABASE ids DEFAULT CHARACTER SET latin1")
	return mariadbtest.Open(t, s.DSN("root", "", "ids"))
}

// grant starts a generator with a worker ID from the table, and returns one of its UIDs and the worker
// ID.
func grant(ctx context.Context, db *sqlx.DB, opts ...workerassign.DisposableOption) (uid.ID, int64, error) {
	g, err := uid.NewDefault(ctx, workerassign.NewDisposable(db, opts...))
	if err != nil {
		return 0, 0, err
	}
	defer g.Close()
	id, err := g.Next()
	return id, g.Parse(id).WorkerID, err
}

// mustGrant is grant, but returns only the worker ID, and fails the test if there is an error.
func mustGrant(t *testing.T, db *sqlx.DB, opts ...workerassign.DisposableOption) int64 {
	t.Helper()
	_, id, err := grant(t.Context(), db, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// wantErrorNumber checks that err is an error of the server with one of the numbers.
func wantErrorNumber(t *testing.T, err error, what string, numbers ...uint16) {
	t.Helper()
	var server *mysql.MySQLError
	if !errors.As(err, &server) || !slices.Contains(numbers, server.Number) {
		t.Errorf("%s: %v, want one of the errors %d", what, err, numbers)
	}
}

// agedRow is a row with its ID and its age in seconds.
type agedRow struct{ id, ago int64 }

// addRows inserts rows.
func addRows(t *testing.T, db *sqlx.DB, rows ...agedRow) {
	t.Helper()
	for some := range slices.Chunk(rows, 1000) {
		var values strings.Builder
		for _, r := range some {
			fmt.Fprintf(&values, ", (%d, 'h', 'p', 3, CURRENT_DATE, NOW(), NOW() - INTERVAL %d SECOND)", r.id, r.ago)
		}
		if _, err := db.Exec("INSERT INTO WORKER_NODE (ID, HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED) VALUES " + values.String()[2:]); err != nil {
			t.Fatal(err)
		}
	}
}

// D12: the original's script drops the table, so that worker IDs are assigned a second time after it
// runs again. schema.sql may run repeatedly: it does not change rows and counter. The test uses several
// strict modes and both kinds of TIMESTAMP defaults.
func TestD12SchemaMayRunAgain(t *testing.T) {
	for n, flags := range [][]string{
		nil,
		{"--explicit-defaults-for-timestamp=OFF"},
		{"--explicit-defaults-for-timestamp=ON", "--sql-mode=STRICT_ALL_TABLES,STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION,ONLY_FULL_GROUP_BY"},
		{"--explicit-defaults-for-timestamp=OFF", "--sql-mode=TRADITIONAL"},
		{"--lower-case-table-names=1", "--sql-mode=ANSI"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			if n >= 3 {
				testkit.Full(t, "the modes before it are the most usual ones")
			}
			s := mariadbtest.Start(t, flags...)
			_, db := s.Database()
			script := schemaScript(t)
			a := workerassign.NewDisposable(db)
			for run := range int64(3) {
				mariadbtest.RunScript(t, db, script)
				if l, err := a.Assign(context.Background(), workerassign.Request{}); err != nil || l.WorkerID() != run+1 {
					t.Fatalf("after run %d Assign() = %v, %v; want %d", run+1, l, err, run+1)
				}
			}
			// The statements of the comments run in each mode. Other tests check their results.
			db.MustExec(newSection(t, "HOW MANY ARE LEFT").nextStatement("SELECT used"))
			deletion := newSection(t, "WHEN ROWS MAY BE DELETED")
			db.MustExec(deletion.nextStatement("SET SESSION TRANSACTION ISOLATION LEVEL"))
			db.MustExec(deletion.nextStatement("DELETE FROM WORKER_NODE"))
			db.MustExec("DELETE FROM WORKER_NODE") // the comments forbid this, but this server keeps its counter
			s.Kill()
			s.Restart()
			if l, err := a.Assign(context.Background(), workerassign.Request{}); err != nil || l.WorkerID() != 4 {
				t.Errorf("after a crash Assign() = %v, %v; want 4", l, err)
			}
		})
	}
	for _, statement := range mariadbtest.SplitStatements(schemaScript(t)) {
		if !regexp.MustCompile(`^CREATE TABLE IF NOT EXISTS (WORKER_(NODE|POOL|SLOT)|leaf_alloc) \(`).MatchString(statement) {
			t.Errorf("schema.sql contains another statement than CREATE TABLE: %s", statement)
		}
	}
}
