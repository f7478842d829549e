package postgrestest_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/postgrestest"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/workerassign"
)

func TestMain(m *testing.M) { testkit.RunParallel(m, 4) }

// schemaScript returns schema.postgres.sql.
func schemaScript(testing.TB) string { return ringuid.PostgreSQLSchema() }

// testedSections returns the headings of the sections in schema.postgres.sql that contain statements. For
// each section there is a test that runs all of its statements. TestSchemaComments fails if a section is
// missing here. A test fails if it does not run all statements of its section.
func testedSections() []string {
	return []string{
		"DURABILITY",                                 // TestSchemaDurability
		"PRIVILEGES",                                 // TestSchemaPrivileges
		"WHEN ROWS MAY BE DELETED",                   // TestSchemaDeletion
		"AFTER A FAILOVER OR A RESTORED BACKUP",      // TestSchemaFailover
		"HOW MANY ARE LEFT",                          // TestSchemaHowManyAreLeft
		"WHAT A SLOT MEANS",                          // TestSchemaSlots
		"PRIVILEGES ON SLOTS",                        // TestSchemaSlots
		"SLOTS AFTER A RESTORED BACKUP",              // TestSchemaRaiseFloor
		"WHAT A TAG MEANS",                           // TestSchemaTags
		"HOW TO ADD A TAG",                           // TestSchemaTags
		"HOW TO SIZE A STEP",                         // TestSchemaTags
		"PRIVILEGES ON TAGS",                         // TestSchemaTagPrivileges
		"WHICH TAGS MAY BE DELETED",                  // TestSchemaTagDeletion
		"TAGS AFTER A FAILOVER OR A RESTORED BACKUP", // TestSchemaTagFailover
	}
}

// schemaComments are the statements and the shell commands in the comments of schema.postgres.sql.
type schemaComments struct {
	headings   []string
	statements map[string][]string
	commands   []string
}

// parseComments parses the comments, which have the same form as those of schema.sql. A line in capitals is
// the heading of a section. Lines that are indented by seven spaces or more are statements or commands. A
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

// section is the statements of a section, in order, for the test that runs them.
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
		t.Fatalf("schema.postgres.sql has no section %q with statements, or the section is missing in testedSections", heading)
	}
	s := &section{t: t, remaining: c.statements[heading], placeholders: strings.NewReplacer(pairs...)}
	t.Cleanup(func() {
		if len(s.remaining) > 0 && !t.Failed() {
			t.Errorf("the test did not run these statements of the section %s: %q", heading, s.remaining)
		}
	})
	return s
}

// nextStatement returns the next statement, which must begin with the given text. It replaces the
// placeholders by the pairs of newSection.
func (s *section) nextStatement(begin string) string {
	s.t.Helper()
	if len(s.remaining) == 0 || !strings.HasPrefix(s.remaining[0], begin) {
		s.t.Fatalf("the next statements are %q, want one that begins with %q", s.remaining, begin)
	}
	statement := s.placeholders.Replace(s.remaining[0])
	s.remaining = s.remaining[1:]
	if placeholder := regexp.MustCompile(`<[A-Za-z][A-Za-z ]*>`).FindString(statement); placeholder != "" {
		s.t.Fatalf("nothing replaces %s in %s", placeholder, statement)
	}
	return statement
}

// idsDatabase creates the database ids, which the comments use, with the tables of the script. It returns a
// connection to it as a superuser.
func idsDatabase(t *testing.T, s *postgrestest.Server) *sqlx.DB {
	t.Helper()
	s.Admin().MustExec("CREATE DATABASE ids")
	db := postgrestest.Open(t, s.DSN("postgres", "", "ids"))
	postgrestest.RunScript(t, db, schemaScript(t))
	return db
}

// createService creates the account of the comments, with exactly the privileges that they recommend.
func createService(t *testing.T, db *sqlx.DB) {
	t.Helper()
	statements := newSection(t, "PRIVILEGES", "<password>", "secret")
	db.MustExec(statements.nextStatement("CREATE ROLE"))
	db.MustExec(statements.nextStatement("GRANT INSERT ("))
	statements.remaining = nil // the statements for other tables and accounts
}

// openAsService returns a connection to the database ids with the service's account.
func openAsService(t *testing.T, s *postgrestest.Server) *sqlx.DB {
	t.Helper()
	return postgrestest.Open(t, s.DSN("service", "secret", "ids"))
}

// assign assigns a worker ID.
func assign(t *testing.T, db workerassign.DB, opts ...workerassign.DisposableOption) (int64, error) {
	t.Helper()
	l, err := workerassign.NewDisposable(db, append([]workerassign.DisposableOption{discardLog()}, opts...)...).Assign(t.Context(), workerassign.Request{})
	if err != nil {
		return 0, err
	}
	return l.WorkerID(), nil
}

// mustAssign is assign, but fails the test if there is an error.
func mustAssign(t *testing.T, db workerassign.DB, opts ...workerassign.DisposableOption) int64 {
	t.Helper()
	id, err := assign(t, db, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
