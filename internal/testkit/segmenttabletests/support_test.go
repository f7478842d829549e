//go:build unix

// Package segmenttabletests tests the table of package segment against real servers of the MySQL family, also ones that
// fail. The tests for PostgreSQL are in internal/testkit/postgrestest.
package segmenttabletests

import (
	"context"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/segment"
)

// database creates a database with the table, and returns its name and a connection.
func database(t *testing.T, s *mariadbtest.Server) (string, *sqlx.DB) {
	t.Helper()
	name, db := s.Database()
	testserver.RunScript(t, db, ringuid.MySQLSchema())
	return name, db
}

// startFunc starts a server, like mariadbtest.Start.
type startFunc func(testing.TB, ...string) *mariadbtest.Server

// onEachServer runs a test on MariaDB, and in full size on MySQL 5.6.
func onEachServer(t *testing.T, test func(t *testing.T, start startFunc)) {
	for _, server := range []struct {
		name  string
		start startFunc
	}{{"MariaDB", mariadbtest.Start}, {"MySQL 5.6", mariadbtest.StartMySQL56}} {
		t.Run(server.name, func(t *testing.T) {
			if server.name != "MariaDB" {
				testkit.Full(t, "the test runs on MariaDB")
			}
			test(t, server.start)
		})
	}
}

// insertTag inserts a row, as an operator does.
func insertTag(db *sqlx.DB, tag string, maxID, step any) {
	db.MustExec(insertStatement, tag, maxID, step)
}

const insertStatement = "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES (?, ?, ?)"

// maxID returns a tag's max_id.
func maxID(t *testing.T, db *sqlx.DB, tag string) int64 {
	t.Helper()
	var n int64
	if err := db.Get(&n, "SELECT max_id FROM leaf_alloc WHERE biz_tag = ?", tag); err != nil {
		t.Fatal(err)
	}
	return n
}

// mustTake takes a range, and checks it.
func mustTake(t *testing.T, s segment.Source, r segment.Request, want segment.Range) {
	t.Helper()
	got, err := s.Take(t.Context(), r)
	if err != nil {
		t.Fatalf("Take(%+v) = %v", r, err)
	}
	if got != want {
		t.Errorf("Take(%+v) = %+v, want %+v", r, got, want)
	}
}

// rangeOf returns a range as a table returns it.
func rangeOf(first, length, step int64) segment.Range {
	return segment.Range{First: first, Length: length, Stride: 1, Step: step}
}

// numbers checks that no number is handed out twice.
type numbers struct{ set uniq.Set }

// add adds the numbers of a range.
func (n *numbers) add(tb testing.TB, w *uniq.Writer, r segment.Range) {
	for i := range r.Length {
		if number := r.First + i*r.Stride; !w.Add(number) {
			tb.Errorf("the number %d of the range %+v was handed out before", number, r)
			return
		}
	}
}

// takeLikeLeaf takes a range with Leaf's statements: by the row's step, or by another one.
func takeLikeLeaf(ctx context.Context, db *sqlx.DB, tag string, step int64) (segment.Range, error) {
	tx, err := db.BeginTxx(ctx, nil)
	if err != nil {
		return segment.Range{}, err
	}
	defer tx.Rollback()
	if step > 0 {
		_, err = tx.ExecContext(ctx, "UPDATE leaf_alloc SET max_id = max_id + ? WHERE biz_tag = ?", step, tag)
	} else {
		_, err = tx.ExecContext(ctx, "UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = ?", tag)
	}
	if err != nil {
		return segment.Range{}, err
	}
	var row struct {
		MaxID int64 `db:"max_id"`
		Step  int64 `db:"step"`
	}
	if err := tx.GetContext(ctx, &row, "SELECT max_id, step FROM leaf_alloc WHERE biz_tag = ?", tag); err != nil {
		return segment.Range{}, err
	}
	if step == 0 {
		step = row.Step
	}
	return segment.Range{First: row.MaxID - step, Length: step, Stride: 1}, tx.Commit()
}
