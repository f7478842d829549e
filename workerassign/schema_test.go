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
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// The sections of schema.sql's comments that have statements, each with the test that runs
// all of them. TestSchemaComments finds a section that is not here, and section.next a
// statement that its test does not run.
func testedSections() []string {
	return []string{
		"SERVERS",                               // TestSchemaServers
		"DURABILITY",                            // TestSchemaDurability
		"PRIVILEGES",                            // TestSchemaPrivileges
		"WHEN ROWS MAY BE DELETED",              // TestSchemaDeletion
		"AFTER A FAILOVER OR A RESTORED BACKUP", // TestSchemaFailover
		"HOW MANY ARE LEFT",                     // TestSchemaHowManyAreLeft
	}
}

// comments are the statements in schema.sql's comments, by the headings of their sections in
// the file's order, and the commands of the shell.
type schemaComments struct {
	headings   []string
	statements map[string][]string
	commands   []string
}

// parseComments reads comments of a regular form: a heading in capitals begins a section;
// lines indented by seven spaces or more are statements, each of which ends with a
// semicolon, or commands, which begin with a dollar sign; all else is prose, in which there
// is no semicolon.
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
				return nil, fmt.Errorf("no semicolon ends the statement %q", statement)
			}
			if ok && strings.Contains(text, ";") {
				return nil, fmt.Errorf("there is a semicolon in prose, or a statement that is not indented by seven spaces: %q", line)
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

// The comments of schema.sql have the form from which the tests take the statements, and
// every section with statements has a test.
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
			t.Errorf("from %q come %q, want an error", wrong, c.statements)
		}
	}
}

// section gives a test the statements of a section of schema.sql's comments, in order.
type section struct {
	t     *testing.T
	left  []string
	names *strings.Replacer
}

// newSection returns a section. The test fails if it leaves a statement of it. The pairs are
// what is replaced, and by what; a placeholder that remains is an error.
func newSection(t *testing.T, heading string, pairs ...string) *section {
	t.Helper()
	c, err := parseComments(schemaScript(t))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(testedSections(), heading) || len(c.statements[heading]) == 0 {
		t.Fatalf("schema.sql has no section %q with statements, or testedSections does not", heading)
	}
	s := &section{t: t, left: c.statements[heading], names: strings.NewReplacer(pairs...)}
	t.Cleanup(func() {
		if len(s.left) > 0 && !t.Failed() {
			t.Errorf("statements of the section %s that were not run: %q", heading, s.left)
		}
	})
	return s
}

// next returns the next statement, which must begin as given, with its placeholders replaced
// by what else is given, in pairs.
func (s *section) next(begin string, pairs ...string) string {
	s.t.Helper()
	if len(s.left) == 0 || !strings.HasPrefix(s.left[0], begin) {
		s.t.Fatalf("the statements that are left are %q, want one that begins with %q", s.left, begin)
	}
	statement := strings.NewReplacer(pairs...).Replace(s.names.Replace(s.left[0]))
	s.left = s.left[1:]
	if placeholder := regexp.MustCompile(`<[A-Za-z][A-Za-z ]*>`).FindString(statement); placeholder != "" {
		s.t.Fatalf("nothing replaces %s in %s", placeholder, statement)
	}
	return statement
}

// begin starts a server.
type startFunc func(testing.TB, ...string) *mariadbtest.Server

// onEachServer runs a test on MariaDB, and on MySQL 5.6 where that is found, each with a
// strict mode.
func onEachServer(t *testing.T, test func(t *testing.T, start startFunc)) {
	const strict = "--sql-mode=STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION,ONLY_FULL_GROUP_BY"
	for _, server := range []struct {
		name  string
		start startFunc
	}{{"MariaDB", mariadbtest.Start}, {"MySQL 5.6", mariadbtest.StartMySQL56}} {
		t.Run(server.name, func(t *testing.T) {
			test(t, func(tb testing.TB, flags ...string) *mariadbtest.Server {
				tb.Helper()
				return server.start(tb, append([]string{strict}, flags...)...)
			})
		})
	}
}

// ids makes the database that schema.sql's comments name, without a table, and returns a
// connection to it as root. Its character set is what a server without a configuration has.
func createIDsDatabase(t *testing.T, s *mariadbtest.Server) *sqlx.DB {
	t.Helper()
	s.Admin().MustExec("CREATE DATABASE ids DEFAULT CHARACTER SET latin1")
	return mariadbtest.Open(t, s.DSN("root", "", "ids"))
}

// grant starts a generator with a worker ID of the table, and returns a UID of it and the
// worker ID.
func grant(ctx context.Context, db *sqlx.DB, opts ...workerassign.DisposableOption) (uid.ID, int64, error) {
	g, err := uid.NewDefault(ctx, workerassign.NewDisposable(db, opts...))
	if err != nil {
		return 0, 0, err
	}
	defer g.Close()
	id, err := g.Next()
	return id, g.Parse(id).WorkerID, err
}

// mustGrant returns the worker ID of a grant that must succeed.
func mustGrant(t *testing.T, db *sqlx.DB, opts ...workerassign.DisposableOption) int64 {
	t.Helper()
	_, id, err := grant(t.Context(), db, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// wantNumber checks that an error is the server's with one of the numbers.
func wantErrorNumber(t *testing.T, err error, what string, numbers ...uint16) {
	t.Helper()
	var server *mysql.MySQLError
	if !errors.As(err, &server) || !slices.Contains(numbers, server.Number) {
		t.Errorf("%s: %v, want one of the errors %d", what, err, numbers)
	}
}

// created is a row by its ID, and how many seconds ago it was created.
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

// D12: the original's script drops the table, so that a second run hands out worker IDs that
// are in use. Ours may run again and again: rows and counter stay; in every strict mode,
// with either kind of TIMESTAMP defaults.
func TestD12SchemaMayRunAgain(t *testing.T) {
	for _, flags := range [][]string{
		nil,
		{"--explicit-defaults-for-timestamp=OFF"},
		{"--explicit-defaults-for-timestamp=ON", "--sql-mode=STRICT_ALL_TABLES,STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION,ONLY_FULL_GROUP_BY"},
		{"--explicit-defaults-for-timestamp=OFF", "--sql-mode=TRADITIONAL"},
		{"--lower-case-table-names=1", "--sql-mode=ANSI"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
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
			// What the comments advise runs in each mode; what comes of it, other tests check.
			db.MustExec(newSection(t, "HOW MANY ARE LEFT").next("SELECT used"))
			deletion := newSection(t, "WHEN ROWS MAY BE DELETED")
			db.MustExec(deletion.next("SET SESSION TRANSACTION ISOLATION LEVEL"))
			db.MustExec(deletion.next("DELETE FROM WORKER_NODE"))
			db.MustExec("DELETE FROM WORKER_NODE") // what they advise against: here the counter survives
			s.Kill()
			s.Restart()
			if l, err := a.Assign(context.Background(), workerassign.Request{}); err != nil || l.WorkerID() != 4 {
				t.Errorf("after a crash Assign() = %v, %v; want 4", l, err)
			}
		})
	}
	for _, statement := range mariadbtest.SplitStatements(schemaScript(t)) {
		if !strings.HasPrefix(statement, "CREATE TABLE IF NOT EXISTS WORKER_NODE (") {
			t.Errorf("schema.sql has a statement that is not the one: %s", statement)
		}
	}
}
