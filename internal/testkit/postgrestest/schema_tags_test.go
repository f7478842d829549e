//go:build unix

package postgrestest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/sqlstore"
)

// The statements of schema.postgres.sql add a tag and change its step, and the query shows the state.
func TestSchemaTags(t *testing.T) {
	db := idsDatabase(t, postgrestest.Start(t))
	source := sqlstore.New(db)
	db.MustExec(newSection(t, "HOW TO ADD A TAG", "<tag>", "orders", "<first number>", "1000", "<step>", "50", "<description>", "of a shop").Next("INSERT INTO leaf_alloc"))
	wantTaken(t, source, segment.Request{Tag: "orders"}, 1000, 50, 50)
	db.MustExec(newSection(t, "HOW TO SIZE A STEP", "<tag>", "orders", "<step>", "20").Next("UPDATE leaf_alloc SET step"))
	query := newSection(t, "WHAT A TAG MEANS").Next("SELECT biz_tag")
	type state struct {
		Tag         string  `db:"biz_tag"`
		MaxID       int64   `db:"max_id"`
		Step        int64   `db:"step"`
		Left        int64   `db:"numbers_left"`
		UpdateTime  string  `db:"update_time"`
		Ago         float64 `db:"seconds_ago"`
		Description string  `db:"description"`
	}
	db.MustExec("UPDATE leaf_alloc SET update_time = now() - INTERVAL '1 day'")
	var got state
	if err := db.Get(&got, query); err != nil || got.Ago < 86400 || got.Ago > 86460 {
		t.Fatalf("the state is %+v, %v", got, err)
	}
	wantTaken(t, source, segment.Request{Tag: "orders"}, 1050, 20, 20)
	if err := db.Get(&got, query); err != nil || got.Tag != "orders" || got.MaxID != 1070 || got.Step != 20 || got.Left != 1<<63-1-1070 || got.Ago > 60 || got.Description != "of a shop" {
		t.Errorf("the state is %+v, %v", got, err)
	}
}

// The statements find and delete only tags of past days of one name, which nobody has used lately.
func TestSchemaTagDeletion(t *testing.T) {
	db := idsDatabase(t, postgrestest.Start(t))
	old, recent := time.Now().AddDate(0, 0, -40).Format("20060102"), time.Now().AddDate(0, 0, -20).Format("20060102")
	keep := map[string]int{
		"a_b": 100, "a_b.": 100, "a_b." + recent: 31, "a_b." + old + "1": 31, "a_b." + old[1:]: 31, "a_b." + old + ".stripe": 31, "a_b.x" + old: 31,
		"axb." + old: 31, "a_bc." + old: 31, "a_b-" + old: 31, "a_b." + old + ".day": 31, "xa_b." + old: 31, "A_B." + old: 31, "a_b.stripe0of3": 31,
		".stripe0of3": 31, "a_b.20260229": 5, "a%." + old: 31,
	}
	remove := map[string]int{"a_b." + old: 31, "a_b." + old + ".stripe2of10": 40, "a_b.20240101": 500}
	for _, tags := range []map[string]int{keep, remove} {
		for tag, days := range tags {
			db.MustExec("INSERT INTO leaf_alloc (biz_tag, step, update_time) VALUES ($1, 1, now() - make_interval(days => $2))", tag, days)
		}
	}
	statements := newSection(t, "WHICH TAGS MAY BE DELETED", "<tag>", "a_b")
	rows, err := db.Query(statements.Next("SELECT biz_tag"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for ; rows.Next(); found++ {
		var tag, maxID, updated string
		if err := rows.Scan(&tag, &maxID, &updated); err != nil {
			t.Fatal(err)
		}
		if _, ok := remove[tag]; !ok {
			t.Errorf("the query finds %q", tag)
		}
	}
	if n, _ := db.MustExec(statements.Next("DELETE FROM leaf_alloc")).RowsAffected(); rows.Err() != nil || int(n) != len(remove) || found != len(remove) {
		t.Errorf("%d tags were found and %d deleted, want %d; %v", found, n, len(remove), rows.Err())
	}
	var left []string
	if err := db.Select(&left, "SELECT biz_tag FROM leaf_alloc"); err != nil || len(left) != len(keep) {
		t.Errorf("the remaining tags are %q, %v", left, err)
	}
	for _, tag := range left {
		if _, ok := keep[tag]; !ok {
			t.Errorf("%q remains", tag)
		}
	}
}

// An account with the privileges of schema.postgres.sql can do all that a Table does, and nothing else.
func TestSchemaTagPrivileges(t *testing.T) {
	s := postgrestest.Start(t)
	db := idsDatabase(t, s)
	db.MustExec("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('orders', 1, 10)")
	statements := newSection(t, "PRIVILEGES ON TAGS", "<password>", "secret")
	db.MustExec(statements.Next("CREATE ROLE"))
	service := openAsService(t, s)
	source := sqlstore.New(service)
	_, err := source.Take(t.Context(), segment.Request{Tag: "orders"})
	wantState(t, err, "without privileges", "42501")
	db.MustExec(statements.Next("GRANT SELECT ("))
	wantTaken(t, source, segment.Request{Tag: "orders"}, 1, 10, 10)
	if _, err := source.Take(t.Context(), segment.Request{Tag: "orders", AtLeast: 12}); !errors.Is(err, segment.ErrSetBack) {
		t.Errorf("Take() = %v, want ErrSetBack", err)
	}
	wantState(t, source.CreateTag(t.Context(), "new", segment.TagConfig{}), "CreateTag without its privilege", "42501")
	db.MustExec(statements.Next("GRANT INSERT ("))
	if err := source.CreateTag(t.Context(), "new", segment.TagConfig{Start: 5}); err != nil {
		t.Error(err)
	}
	if err := source.CreateTag(t.Context(), "new", segment.TagConfig{Start: 5}); !errors.Is(err, segment.ErrTagExists) {
		t.Errorf("CreateTag() = %v, want ErrTagExists", err)
	}
	wantTaken(t, source, segment.Request{Tag: "new", Size: 3}, 5, 3, 1000)
	for _, forbidden := range []string{
		"DELETE FROM leaf_alloc", "UPDATE leaf_alloc SET step = 1", "UPDATE leaf_alloc SET biz_tag = 'x'", "TRUNCATE leaf_alloc",
		"DROP TABLE leaf_alloc", "ALTER TABLE leaf_alloc ADD n INT", "SELECT * FROM worker_node",
	} {
		_, err := service.Exec(forbidden)
		wantState(t, err, "as the service: "+forbidden, "42501")
	}
}

// A standby that lacks the last changes is promoted as schema.postgres.sql says. The numbers of the old primary, also
// those that were not stored, are not handed out again.
func TestSchemaTagFailover(t *testing.T) {
	primary := postgrestest.Start(t)
	db := idsDatabase(t, primary)
	db.MustExec("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('orders', 1, 100), ('others', 1, 10), ('retired', 9223372036854775807, 10)")
	db.MustExec("CREATE TABLE shop (number BIGINT)")
	db.MustExec("INSERT INTO shop VALUES (100), (150)")
	standby := primary.Standby()
	wantTaken(t, sqlstore.New(db), segment.Request{Tag: "orders"}, 1, 100, 100)
	standby.WaitReceived(primary)
	standby.Disconnect()
	wantTaken(t, sqlstore.New(db), segment.Request{Tag: "orders"}, 101, 100, 100)
	wantTaken(t, sqlstore.New(db), segment.Request{Tag: "others"}, 1, 10, 10)
	primary.Kill()
	promoted := postgrestest.Open(t, standby.DSN("postgres", "", "ids"))
	source := sqlstore.New(promoted)
	_, err := source.Take(t.Context(), segment.Request{Tag: "orders"})
	wantState(t, err, "a standby", "25006")
	standby.Promote()
	if _, err := source.Take(t.Context(), segment.Request{Tag: "orders", AtLeast: 201}); !errors.Is(err, segment.ErrSetBack) {
		t.Errorf("Take() = %v, want ErrSetBack", err)
	}
	statements := newSection(t, "TAGS AFTER A FAILOVER OR A RESTORED BACKUP", "<column>", "number", "<table>", "shop", "<tag>", "orders",
		"<margin>", "1000", "<greatest number>", "150")
	var greatest int64
	if err := promoted.Get(&greatest, statements.Next("SELECT max")); err != nil || greatest != 150 {
		t.Fatal(greatest, err)
	}
	promoted.MustExec(statements.Next("UPDATE leaf_alloc SET max_id = greatest"))
	promoted.MustExec(statements.Next("UPDATE leaf_alloc SET max_id = least"))
	wantTaken(t, source, segment.Request{Tag: "orders", AtLeast: 201}, 1151, 100, 100)
	wantTaken(t, source, segment.Request{Tag: "others"}, 1001, 10, 10)
}
