// Package sqltexttest compares the SQL of package sqltext, run by a database, with package uid.
package sqltexttest

import (
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/sqltext"
	"github.com/ringuid/ringuid/uid"
)

// Database is a database to test.
type Database struct {
	Dialect string
	Literal string // of a time in UTC, as a format for fmt
	Text    string // of an expression of a time, as a format for fmt: as Layout
	Layout  string // of such a text
}

// formats are those of the test: other widths, units, and epochs before and after 1970.
var formats = []string{
	"1-28-22-13 2026-01-01T00:00:00Z 1s",
	"1-41-10-12 2010-11-04T01:42:54Z 1ms",
	"1-40-5-3 2026-01-01T00:00:00Z 100ms",
	"1-34-16-13 1900-03-01T00:00:00Z 1s",
	"1-30-1-1 1970-01-01T00:00:00Z 8ms",
}

const count = 10_000

// Run compares 10,000 UIDs of five formats, and what is found between two times.
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
			exec("CREATE TABLE ids (id BIGINT PRIMARY KEY)")
			ids := newIDs(f)
			var values []string
			for id := range ids {
				values = append(values, "("+id.String()+")")
			}
			exec("INSERT INTO ids VALUES " + strings.Join(values, ","))

			compare(t, db, d, f, len(ids), text.Expressions[0].SQL, text.Expressions[1].SQL, text.Expressions[2].SQL, text.Expressions[3].SQL)
			ranges(t, db, d, f, ids, text.Where)
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
			compare(t, db, d, f, len(ids), "ringuid_time(id)", "ringuid_worker_id(id)", "ringuid_sequence(id)", "ringuid_base62(id)")
			ranges(t, db, d, f, ids, "id > ringuid_before(:from) AND id <= ringuid_before(:to)")
		})
	}
}

// newIDs returns UIDs of a format: the least, the greatest, and others.
func newIDs(f uid.Format) map[uid.ID]bool {
	l, rnd := f.Layout(), rand.New(rand.NewPCG(1, 2))
	greatest := int64(1)<<(l.TimeBits()+l.WorkerBits()+l.SequenceBits()-1)*2 - 1
	if greatest < 0 {
		greatest = math.MaxInt64
	}
	ids := map[uid.ID]bool{0: true, 1: true, uid.ID(greatest): true, uid.ID(greatest - 1): true}
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
		if at.String != p.Time.Format(d.Layout) || got.WorkerID != p.WorkerID || got.Sequence != p.Sequence || base62.String != id.Base62() {
			t.Errorf("UID %d has %v, worker ID %d, sequence %d, %q; want %v %q", id, at, got.WorkerID, got.Sequence, base62.String, p, id.Base62())
			failed++
		}
	}
	if err := rows.Err(); err != nil || failed == 0 && n != want {
		t.Errorf("%d of %d rows: %v", n, want, err)
	}
}

// ranges compares what the condition finds with Format.Range.
func ranges(t *testing.T, db *sql.DB, d Database, f uid.Format, ids map[uid.ID]bool, where string) {
	literal := func(t time.Time) string { return fmt.Sprintf(d.Literal, t.UTC().Format("2006-01-02 15:04:05.000")) }
	rnd := rand.New(rand.NewPCG(3, 4))
	first := f.Epoch().Add(time.Hour)
	times := []time.Time{f.Epoch().Add(-time.Hour), f.Epoch(), f.Epoch().Add(time.Millisecond), f.Epoch().Add(time.Second)}
	for range 6 {
		times = append(times, first.Add(time.Duration(rnd.IntN(3_600_000))*time.Millisecond), first.Add(time.Duration(rnd.IntN(60_000))*time.Millisecond))
	}
	if end := f.End(); end.Year() < 9999 {
		times = append(times, end.Add(-time.Second), end.Add(-time.Millisecond))
	}
	for _, from := range times {
		for _, to := range times {
			if to.Before(from) {
				continue
			}
			least, greatest, err := f.Range(from, to)
			if err != nil {
				t.Fatal(err)
			}
			want := 0
			for id := range ids {
				if id >= least && id <= greatest {
					want++
				}
			}
			query := "SELECT count(*) FROM ids WHERE " + strings.NewReplacer(":from", literal(from), ":to", literal(to)).Replace(where)
			var got int
			if err := db.QueryRow(query).Scan(&got); err != nil || got != want {
				t.Fatalf("from %v to %v: %d UIDs, %v; want %d: %s", from, to, got, err, want, query)
			}
		}
	}
}
