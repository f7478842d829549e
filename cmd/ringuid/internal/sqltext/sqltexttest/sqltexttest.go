// Package sqltexttest compares the SQL of package sqltext, run by a database, with package uid.
package sqltexttest

import (
	"database/sql"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/sqltext"
	"github.com/ringuid/ringuid/uid"
)

// Database is a database to test.
type Database struct {
	Dialect    string
	UIDs       int                        // how many are compared, of each format
	Types      []string                   // of the column; each format has another one
	Sessions   []string                   // statements that set a time zone; each format has another one
	Bounds     []func(t time.Time) string // expressions of a time in UTC; "" if there is none for the time
	Parameters [2]string                  // :from and :to, if they are parameters
	Extreme    [2]string                  // other expressions: of a time before all UIDs, and after them
	Text       string                     // of an expression of a time, as a format for fmt: as Layout
	Plan       []string                   // what the plan of the condition contains
	Explain    string                     // what is before a query to get its plan
}

// Layout is that of times in SQL.
const Layout = "2006-01-02 15:04:05.000000"

// formats are those of the test: other widths, units, and epochs before and after 1970. Most UIDs of the last one have times that no database has.
var formats = []string{
	"1-28-22-13 2026-01-01T00:00:00Z 1s",
	"1-41-10-12 2010-11-04T01:42:54Z 1ms",
	"1-40-5-3 2026-01-01T00:00:00Z 100ms",
	"1-34-16-13 1900-03-01T00:00:00Z 1s",
	"1-30-1-1 1970-01-01T00:00:00Z 8ms",
	"1-43-6-3 1969-12-31T23:00:00Z 3.125ms",
	"1-61-1-1 2026-01-01T00:00:00Z 1s",
}

// Run compares UIDs of each format, and what is found between two times.
func Run(t *testing.T, db *sql.DB, d Database) {
	for i, name := range formats {
		t.Run(name, func(t *testing.T) {
			f, err := uid.ParseFormat(name)
			if err != nil {
				t.Fatal(err)
			}
			text, err := sqltext.New(d.Dialect, "id", f)
			if err != nil {
				t.Fatal(err)
			}
			exec := func(statement string) {
				if _, err := db.Exec(statement); err != nil {
					t.Fatalf("%v: %.2000s", err, statement)
				}
			}
			if i > 0 {
				exec("DROP TABLE ids")
			}
			exec(d.Sessions[i%len(d.Sessions)])
			exec("CREATE TABLE ids (id " + d.Types[i%len(d.Types)] + " PRIMARY KEY)")
			starts := unitStarts(f)
			ids := newIDs(f, d.UIDs, starts)
			var values []string
			for id := range ids {
				values = append(values, "("+id.String()+")")
			}
			exec("INSERT INTO ids VALUES " + strings.Join(values, ","))
			test := func(where string, expressions ...string) {
				t.Helper()
				if f.Layout().TimeBits() < 61 {
					compare(t, db, d, f, len(ids), expressions[0], expressions[1], expressions[2], expressions[3])
				}
				ranges(t, db, d, f, ids, times(f, starts), where)
				var n int
				if err := db.QueryRow("SELECT count(DISTINCT " + expressions[3] + ") FROM ids").Scan(&n); err != nil || n != len(ids) {
					t.Errorf("%d different base 62, %v; want %d", n, err, len(ids))
				}
			}

			test(text.Where, text.Expressions[0].SQL, text.Expressions[1].SQL, text.Expressions[2].SQL, text.Expressions[3].SQL)
			if text.Functions == nil {
				return
			}
			for _, name := range []string{"time", "worker_id", "sequence", "base62", "before"} {
				if i > 0 {
					exec("DROP FUNCTION ringuid_" + name)
				}
			}
			for _, f := range text.Functions {
				exec(f)
			}
			test("id > ringuid_before(:from) AND id <= ringuid_before(:to)",
				"ringuid_time(id)", "ringuid_worker_id(id)", "ringuid_sequence(id)", "ringuid_base62(id)")
		})
	}
}

// RunColumn tests a column whose name is a keyword, in a table with a name of two words.
func RunColumn(t *testing.T, db *sql.DB, dialect, quote string) {
	f, err := uid.NewFormat()
	if err != nil {
		t.Fatal(err)
	}
	table, column := quote+"two words"+quote, quote+"Order"+quote
	text, err := sqltext.New(dialect, table+"."+column, f)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE " + table + " (" + column + " BIGINT)"); err != nil {
		t.Fatal(err)
	}
	query := "SELECT 1"
	for _, e := range text.Expressions {
		query += ", " + e.SQL
	}
	query += " FROM " + table + " WHERE " + strings.NewReplacer(":from", "NULL", ":to", "NULL").Replace(text.Where)
	if _, err := db.Exec(query); err != nil {
		t.Errorf("%v: %s", err, query)
	}
}

// unitStarts returns starts of time units of a format.
func unitStarts(f uid.Format) []time.Time {
	rnd := rand.New(rand.NewPCG(3, 4))
	starts := []time.Time{f.Epoch(), f.Epoch().Add(f.Unit()), f.Epoch().Add(time.Hour), f.Epoch().Add(time.Hour + 7*f.Unit())}
	for range 2 {
		starts = append(starts, f.Epoch().Add(time.Duration(rnd.IntN(10_000_000))*f.Unit()))
	}
	if f.End().Year() < 9999 {
		starts = append(starts, f.End().Add(-f.Unit()), f.End())
	}
	return starts
}

// newIDs returns UIDs of a format: the least, the greatest, the first ones of units and those before them, and others.
func newIDs(f uid.Format, count int, starts []time.Time) map[uid.ID]bool {
	l, rnd := f.Layout(), rand.New(rand.NewPCG(1, 2))
	greatest := int64(1)<<(l.TimeBits()+l.WorkerBits()+l.SequenceBits()-1)*2 - 1
	if greatest < 0 {
		greatest = math.MaxInt64
	}
	ids := map[uid.ID]bool{0: true, 1: true, 10: true, 36: true, uid.ID(greatest): true, uid.ID(greatest - 1): true} // 10 is A, and 36 a
	for _, start := range starts {
		if id, err := f.Compose(start, 0, 0); err == nil && id > 0 {
			ids[id], ids[id-1] = true, true
		}
	}
	near, _, err := f.Range(f.Epoch().Add(time.Hour), f.End())
	if err != nil {
		panic(err)
	}
	for len(ids) < count/2 {
		ids[near+uid.ID(rnd.Int64N(1<<30))] = true
	}
	for len(ids) < count {
		ids[uid.ID(rnd.Int64N(greatest))] = true
	}
	return ids
}

// times returns the starts of units, times a microsecond and less than a millisecond around them, and times beyond the format.
func times(f uid.Format, starts []time.Time) []time.Time {
	times := []time.Time{
		time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC), f.Epoch().Add(-time.Hour), time.Unix(-1, 1000), time.Unix(0, 0),
		f.End().Add(-24 * time.Hour), time.Date(9998, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
	}
	for _, start := range starts {
		for _, micros := range []int64{-1000, -499, -1, 0, 1, 600, f.Unit().Microseconds() - 1} {
			times = append(times, start.Add(time.Duration(micros)*time.Microsecond))
		}
	}
	return times
}

// compare compares the four parts.
func compare(t *testing.T, db *sql.DB, d Database, f uid.Format, want int, at, worker, sequence, base62 string) {
	query := fmt.Sprintf("SELECT id, "+d.Text+", %s, %s, %s FROM ids", at, worker, sequence, base62)
	rows, err := db.Query(query)
	if err != nil {
		t.Fatalf("%v: %s", err, query)
	}
	defer rows.Close()
	n, failed := 0, 0
	for ; rows.Next() && failed < 5; n++ {
		var id uid.ID
		var at, base62 sql.NullString
		var got uid.Parts
		if err := rows.Scan(&id, &at, &got.WorkerID, &got.Sequence, &base62); err != nil {
			t.Fatal(err)
		}
		p := f.Parse(id)
		if at.String != p.Time.Format(Layout) || got.WorkerID != p.WorkerID || got.Sequence != p.Sequence || base62.String != id.Base62() {
			t.Errorf("UID %d has %v, worker ID %d, sequence %d, %q; want %v %q", id, at, got.WorkerID, got.Sequence, base62.String, p, id.Base62())
			failed++
		}
	}
	if err := rows.Err(); err != nil || failed == 0 && n != want {
		t.Errorf("%d of %d rows: %v", n, want, err)
	}
}

// ranges compares what the condition finds with Format.Range.
func ranges(t *testing.T, db *sql.DB, d Database, f uid.Format, ids map[uid.ID]bool, times []time.Time, where string) {
	t.Helper()
	sorted := slices.Sorted(maps.Keys(ids))
	found := func(from, to time.Time) int {
		least, greatest, err := f.Range(from, to)
		if err != nil {
			return 0 // to is before from
		}
		first, _ := slices.BinarySearch(sorted, least)
		last, _ := slices.BinarySearch(sorted, greatest+1)
		if greatest == math.MaxInt64 {
			last = len(sorted)
		}
		return max(last-first, 0)
	}
	failed := 0
	check := func(want int, from, to string, args ...any) {
		t.Helper()
		query := "SELECT count(*) FROM ids WHERE " + strings.NewReplacer(":from", from, ":to", to).Replace(where)
		var got int
		if err := db.QueryRow(query, args...).Scan(&got); err != nil || got != want {
			if t.Errorf("%d UIDs, %v; want %d: %s %v", got, err, want, query, args); failed > 10 {
				t.FailNow()
			}
			failed++
		}
	}
	early, late := times[0], f.End()
	rnd := rand.New(rand.NewPCG(5, 6))
	for _, bound := range d.Bounds {
		for _, at := range times {
			if bound(at) == "" {
				continue
			}
			check(found(at, late), bound(at), d.Extreme[1])
			check(found(early, at), d.Extreme[0], bound(at))
			if other := times[rnd.IntN(len(times))]; bound(other) != "" {
				check(found(at, other), bound(at), bound(other))
			}
		}
	}
	check(0, "NULL", d.Extreme[1])
	check(0, d.Extreme[0], "NULL")

	text := func(t time.Time) string {
		return t.UTC().Format(Layout) + map[bool]string{true: "+00"}[d.Dialect == "postgres"]
	}
	at, other := times[len(times)-1], times[len(times)/2]
	check(found(other, at), d.Parameters[0], d.Parameters[1], text(other), text(at))
	check(0, d.Parameters[0], d.Parameters[1], nil, text(at))
	check(0, d.Parameters[0], d.Parameters[1], text(other), nil)

	bounds := strings.NewReplacer(":from", d.Bounds[0](f.Epoch()), ":to", d.Bounds[0](f.Epoch().Add(time.Hour)))
	plan := output(t, db, d.Explain+" SELECT id FROM ids WHERE "+bounds.Replace(where))
	for _, part := range d.Plan {
		if !strings.Contains(plan, part) {
			t.Errorf("the plan is %s; must contain %s", plan, part)
		}
	}
}

// output returns what a statement prints.
func output(t *testing.T, db *sql.DB, query string) string {
	rows, err := db.Query(query)
	if err != nil {
		t.Fatalf("%v: %s", err, query)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	values := make([]sql.NullString, len(columns))
	pointers := make([]any, len(columns))
	for i := range values {
		pointers[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(pointers...); err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			b.WriteString(v.String + " ")
		}
	}
	return b.String()
}
