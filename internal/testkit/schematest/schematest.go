// Package schematest runs the statements in the comments of the scripts schema.sql and schema.postgres.sql in tests, and those of
// doc/fleet.md.
package schematest

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid"
)

// A Script is one of the scripts.
type Script struct {
	Name string
	Text string
	// Sections are the headings of the sections that contain statements. For each section there is a test that runs all of
	// its statements. Check fails if a section is missing here.
	Sections []string
}

// MySQL returns schema.sql. The test of each section is named behind it.
func MySQL() Script {
	return Script{Name: "schema.sql", Text: ringuid.MySQLSchema(), Sections: []string{
		"SERVERS",                                    // TestSchemaServers
		"DURABILITY",                                 // TestSchemaDurability
		"PRIVILEGES",                                 // TestSchemaPrivileges
		"VERIFIED WORKER IDS",                        // TestVerified...
		"WHEN ROWS MAY BE DELETED",                   // TestSchemaDeletion
		"AFTER A FAILOVER OR A RESTORED BACKUP",      // TestSchemaFailover
		"HOW MANY ARE LEFT",                          // TestSchemaHowManyAreLeft
		"WHAT A SLOT MEANS",                          // TestSchemaSlots
		"PRIVILEGES ON SLOTS",                        // TestSchemaSlotPrivileges
		"A SLOT OR THE POOL IS MISSING",              // TestRepairOfSlots
		"SLOTS AFTER A RESTORED BACKUP",              // TestSchemaSlotFloor
		"WHAT A TAG MEANS",                           // TestSchemaTags
		"HOW TO ADD A TAG",                           // TestSchemaTags
		"HOW TO SIZE A STEP",                         // TestSchemaTags
		"PRIVILEGES ON TAGS",                         // TestSchemaTagPrivileges
		"WHICH TAGS MAY BE DELETED",                  // TestSchemaTagDeletion
		"TAGS AFTER A FAILOVER OR A RESTORED BACKUP", // TestSchemaTagFailover
	}}
}

// comments are the statements and the shell commands in the comments of a script.
type comments struct {
	headings   []string
	statements map[string][]string
	commands   []string
}

// parse parses the comments of a script, which have a regular form. A line in capitals is the heading of a section. Lines that are
// indented by seven spaces or more are statements or commands. A statement ends with a semicolon. A command begins with a dollar
// sign. All other lines are prose, which contains no semicolon.
func parse(script string) (*comments, error) {
	var (
		c         = &comments{statements: map[string][]string{}}
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

// Check checks the form of the comments, the headings of the sections, and the only shell command.
func (s Script) Check(t *testing.T, command string) {
	t.Helper()
	c, err := parse(s.Text)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.headings, s.Sections) {
		t.Errorf("the sections with statements are %q, want %q", c.headings, s.Sections)
	}
	if want := []string{command}; !slices.Equal(c.commands, want) {
		t.Errorf("the commands are %q, want %q", c.commands, want)
	}
}

// A Section is the statements of a section, in order, for the test that runs them.
type Section struct {
	Remaining    []string // which Next has not returned
	t            *testing.T
	placeholders *strings.Replacer
}

// Section returns a section. The test fails if it does not use all of its statements. pairs are the arguments of
// strings.NewReplacer, which replaces the placeholders. A placeholder without a replacement is an error.
func (s Script) Section(t *testing.T, heading string, pairs ...string) *Section {
	t.Helper()
	c, err := parse(s.Text)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(s.Sections, heading) || len(c.statements[heading]) == 0 {
		t.Fatalf("%s has no section %q with statements, or the section is missing in Sections", s.Name, heading)
	}
	section := &Section{t: t, Remaining: c.statements[heading], placeholders: strings.NewReplacer(pairs...)}
	t.Cleanup(func() {
		if len(section.Remaining) > 0 && !t.Failed() {
			t.Errorf("the test did not run these statements of the section %s: %q", heading, section.Remaining)
		}
	})
	return section
}

// Next returns the next statement, which must begin with the given text. It replaces the placeholders by the pairs of
// Script.Section, then by further pairs.
func (s *Section) Next(begin string, pairs ...string) string {
	s.t.Helper()
	if len(s.Remaining) == 0 || !strings.HasPrefix(s.Remaining[0], begin) {
		s.t.Fatalf("the next statements are %q, want one that begins with %q", s.Remaining, begin)
	}
	statement := strings.NewReplacer(pairs...).Replace(s.placeholders.Replace(s.Remaining[0]))
	s.Remaining = s.Remaining[1:]
	if placeholder := regexp.MustCompile(`<[A-Za-z][A-Za-z ]*>`).FindString(statement); placeholder != "" {
		s.t.Fatalf("nothing replaces %s in %s", placeholder, statement)
	}
	return statement
}

// An AgedRow is a row of WORKER_NODE with its ID and its age in seconds.
type AgedRow struct{ ID, Ago int64 }

// TestHowManyAreLeft checks the query of the section HOW MANY ARE LEFT on tables that are empty, new or old, or whose counter was
// raised. It never returns 0 days if there are many left. addRows inserts rows.
func TestHowManyAreLeft(t *testing.T, s Script, db *sqlx.DB, addRows func(*testing.T, *sqlx.DB, ...AgedRow)) {
	query := s.Section(t, "HOW MANY ARE LEFT").Next("SELECT used, supply")
	const day, supply = 86_400, 1<<22 - 1
	daily := []AgedRow{{1000, 10 * day}, {1030, 9 * day}, {1060, 8 * day}, {1090, 7 * day}, {1120, 6 * day}, {1150, 5 * day},
		{1180, 4 * day}, {1210, 3 * day}, {1240, 2 * day}, {1270, day}, {1300, 0}}
	var dense []AgedRow // 100 a day
	for i := range int64(2001) {
		dense = append(dense, AgedRow{500 + i, 20*day - i*864})
	}
	for _, tt := range []struct {
		name   string
		rows   []AgedRow
		used   int64   // 0 means that used is NULL
		perDay float64 // 0 means that per_day and days_left are NULL
	}{
		{"an empty table", nil, 0, 0},
		{"one row", []AgedRow{{7, 5 * day}}, 7, 0},
		{"rows of one second", []AgedRow{{1, 0}, {2, 0}, {3, 0}}, 3, 0},
		{"rows of one second, two days ago", []AgedRow{{1, 2 * day}, {2, 2 * day}, {3, 2 * day}}, 3, 1},
		{"rows of minutes", []AgedRow{{1, 600}, {2, 300}, {3, 0}}, 3, 0},
		{"no young rows", []AgedRow{{1, 40 * day}, {2, 35 * day}}, 2, 0},
		{"keys without rows", daily, 1300, 30},
		{"old rows, which do not count", append([]AgedRow{{1, 300 * day}, {900, 31 * day}}, daily...), 1300, 30},
		{"thousands", dense, 2500, 100},
		{"a raised counter", append([]AgedRow{{1_000_000, 0}}, daily...), 1_000_000, 30.1},
		{"a raised counter, and rows beyond", append([]AgedRow{{1_000_000, 3600}, {1_000_001, 60}, {1_000_002, 0}}, dense...), 1_000_002, 100.15},
		{"nothing left", append([]AgedRow{{supply, 60}, {supply + 1, 0}}, daily...), supply + 1, 30.2},
	} {
		db.MustExec("DELETE FROM WORKER_NODE")
		addRows(t, db, tt.rows...)
		var got struct {
			Used    *int64   `db:"used"`
			Supply  int64    `db:"supply"`
			Percent *float64 `db:"percent"`
			PerDay  *float64 `db:"per_day"`
			Days    *float64 `db:"days_left"`
		}
		if err := db.Get(&got, query); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%s: used %s, percent %s, per day %s, days left %s", tt.name,
			orNull(got.Used), orNull(got.Percent), orNull(got.PerDay), orNull(got.Days))
		if got.Supply != supply || (got.Used == nil) != (tt.used == 0) || (got.PerDay == nil) != (tt.perDay == 0) || (got.Days == nil) != (tt.perDay == 0) {
			t.Errorf("%s; want %d used, %v per day", text, tt.used, tt.perDay)
			continue
		}
		if got.Used != nil && (*got.Used != tt.used || math.Abs(*got.Percent-100*float64(tt.used)/supply) > 0.01) {
			t.Errorf("%s; want %d used", text, tt.used)
		}
		if got.PerDay == nil {
			continue
		}
		days := max(0, float64(supply-tt.used)) / tt.perDay
		// The rows are inserted one after the other, so a slow machine changes the rate slightly.
		if math.Abs(*got.PerDay-tt.perDay) > 0.005*tt.perDay || math.Abs(*got.Days-days) > 0.005*days {
			t.Errorf("%s; want %v per day, %v days left", text, tt.perDay, days)
		}
	}
}

// orNull returns a value as text, or "NULL".
func orNull[T any](v *T) string {
	if v == nil {
		return "NULL"
	}
	return fmt.Sprint(*v)
}
