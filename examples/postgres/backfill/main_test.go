package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/uid"
)

var rowCount = testkit.Size[int64](10_000, 30_000)

// Each row of the table gets a UID of its own that has the row's time, also if the program is stopped and started again, and a row that has one
// keeps it. A row without a time, or with one before the epoch, stops nothing. No time changes.
func TestExampleRuns(t *testing.T) {
	t.Run("mysql", func(t *testing.T) {
		db, dsn := mariadbtest.Connect(t)
		testserver.RunScript(t, db, ringuid.MySQLSchema())
		db.MustExec("CREATE TABLE orders (id BIGINT PRIMARY KEY, created_at TIMESTAMP(6) NULL ON UPDATE CURRENT_TIMESTAMP(6), uid BIGINT NULL UNIQUE)")
		check(t, db, "mysql", dsn, "FROM_UNIXTIME(%.1f)", "0")
	})
	t.Run("pgx", func(t *testing.T) {
		db, dsn := postgrestest.Connect(t)
		testserver.RunScript(t, db, ringuid.PostgreSQLSchema())
		db.MustExec("CREATE TABLE orders (id BIGINT PRIMARY KEY, created_at TIMESTAMPTZ NULL, uid BIGINT NULL UNIQUE)")
		check(t, db, "pgx", dsn, "to_timestamp(%.1f)", "'infinity'")
	})
}

// toTime is the form of a time by its seconds, and never one that no UID can have.
func check(t *testing.T, db *sqlx.DB, driver, dsn, toTime, never string) {
	begin := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	created := func(key int64) time.Time { return begin.Add(time.Duration(key*7919%rowCount) * 100 * time.Millisecond) }
	var values []string
	for key := range rowCount {
		values = append(values, fmt.Sprintf("(%d, "+toTime+", NULL)", key+1, float64(created(key+1).UnixMilli())/1000))
	}
	db.MustExec("INSERT INTO orders VALUES " + strings.Join(values, ","))
	db.MustExec("INSERT INTO orders VALUES (-7, NULL, NULL), (-5, " + fmt.Sprintf(toTime, 1.0) + ", NULL), (-3, " + never + ", NULL)")
	format, err := uid.ParseFormat("1-29-21-13 2025-01-01T00:00:00Z 1s")
	if err != nil {
		t.Fatal(err)
	}
	var first struct{ ID, UID int64 } // by the names in lower case
	other := db.MustBegin()           // the program waits for the row that it locks, and is stopped there
	defer other.Rollback()
	other.MustExec(fmt.Sprintf("UPDATE orders SET uid = NULL WHERE id = %d", rowCount/2))
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- run(ctx, io.Discard, driver, dsn, 100, format) }()
	testkit.Eventually(t, "a row has a UID", func() bool {
		return db.Get(&first, "SELECT id, uid FROM orders WHERE uid IS NOT NULL LIMIT 1") == nil
	})
	cancel()
	if err := <-stopped; !errors.Is(err, context.Canceled) {
		t.Fatalf("the program that was stopped returned %v", err)
	}
	if err := other.Rollback(); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := run(t.Context(), &out, driver, dsn, 1000, format); err != nil || !strings.Contains(out.String(), " rows have a UID now") {
		t.Fatalf("%q, %v", &out, err)
	}
	if got := out.String(); !strings.HasPrefix(got, "row -7: created_at is NULL or not a time of the format 1-29-21-13") || strings.Count(got, "\n") != 4 {
		t.Errorf("printed %q; want rows -7, -5 and -3", got)
	}
	var changed int
	if err := db.Get(&changed, "SELECT count(*) FROM orders WHERE id > 0 AND created_at > "+fmt.Sprintf(toTime, float64(begin.AddDate(0, 0, 1).Unix()))); err != nil || changed != 0 {
		t.Errorf("the times of %d rows have changed, %v", changed, err)
	}
	rows, err := db.Queryx("SELECT id, uid FROM orders WHERE id > 0")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	seen := map[uid.ID]bool{}
	workers := map[int64]bool{}
	for rows.Next() {
		var key int64
		var id uid.ID
		if err := rows.Scan(&key, &id); err != nil {
			t.Fatal(err)
		}
		p := format.Parse(id)
		if want := created(key).Truncate(time.Second); !p.Time.Equal(want) || seen[id] || key == first.ID && int64(id) != first.UID {
			t.Fatalf("row %d has the UID %v, seen before: %v; want the time %v, and the first one: %v", key, p, seen[id], want, first)
		}
		seen[id], workers[p.WorkerID] = true, true
	}
	if err := rows.Err(); err != nil || int64(len(seen)) != rowCount || len(workers) < 2 {
		t.Errorf("%d rows with UIDs of %d worker IDs, %v; want %d of both starts", len(seen), len(workers), err, rowCount)
	}
}
