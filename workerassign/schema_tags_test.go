package workerassign_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/schematest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/sqlstore"
)

// wantRange takes a range of a tag, and checks it.
func wantRange(t *testing.T, db *sqlx.DB, r segment.Request, first, length int64) {
	t.Helper()
	got, err := sqlstore.New(db).Take(t.Context(), r)
	if err != nil || got.First != first || got.Length != length {
		t.Errorf("Take(%+v) = %+v, %v; want %d numbers from %d", r, got, err, length, first)
	}
}

// The statements of schema.sql add a tag and change its step, and the query shows the state.
func TestSchemaTags(t *testing.T) {
	mariadbtest.OnEach(t, func(t *testing.T, start mariadbtest.StartFunc) {
		db := mariadbtest.CreateIDs(t, start(t))
		testserver.RunScript(t, db, ringuid.MySQLSchema())
		db.MustExec(schematest.MySQL().Section(t, "HOW TO ADD A TAG", "<tag>", "orders", "<first number>", "1000", "<step>", "50", "<description>", "of a shop").Next("INSERT INTO leaf_alloc"))
		wantRange(t, db, segment.Request{Tag: "orders"}, 1000, 50)
		db.MustExec(schematest.MySQL().Section(t, "HOW TO SIZE A STEP", "<tag>", "orders", "<step>", "20").Next("UPDATE leaf_alloc SET step"))
		db.MustExec("UPDATE leaf_alloc SET update_time = NOW() - INTERVAL 1 DAY")
		query := schematest.MySQL().Section(t, "WHAT A TAG MEANS").Next("SELECT biz_tag")
		type state struct {
			Tag         string `db:"biz_tag"`
			MaxID       int64  `db:"max_id"`
			Step        int64  `db:"step"`
			Left        int64  `db:"numbers_left"`
			UpdateTime  string `db:"update_time"`
			Ago         int64  `db:"seconds_ago"`
			Description string `db:"description"`
		}
		var rows []state
		if err := db.Select(&rows, query); err != nil || len(rows) != 1 || rows[0].Ago < 86400 || rows[0].Ago > 86460 {
			t.Fatalf("the state is %+v, %v", rows, err)
		}
		wantRange(t, db, segment.Request{Tag: "orders"}, 1050, 20)
		rows = nil
		if err := db.Select(&rows, query); err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		if got := rows[0]; got.Tag != "orders" || got.MaxID != 1070 || got.Step != 20 || got.Left != 1<<63-1-1070 || got.Ago > 60 || got.Description != "of a shop" {
			t.Errorf("the state is %+v", got)
		}
		testserver.RunScript(t, db, ringuid.MySQLSchema()) // the script may run again
		wantRange(t, db, segment.Request{Tag: "orders"}, 1070, 20)
	})
}

// An account with the privileges of schema.sql can do all that a Table does, and nothing else.
func TestSchemaTagPrivileges(t *testing.T) {
	mariadbtest.OnEach(t, func(t *testing.T, start mariadbtest.StartFunc) {
		s := start(t)
		db := mariadbtest.CreateIDs(t, s)
		testserver.RunScript(t, db, ringuid.MySQLSchema())
		db.MustExec("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('orders', 1, 10)")
		statements := schematest.MySQL().Section(t, "PRIVILEGES ON TAGS", "<password>", "secret")
		db.MustExec(statements.Next("CREATE USER"))
		db.MustExec(statements.Next("GRANT SELECT ("))
		service := mariadbtest.Open(t, s.DSN("service", "secret", "ids"))
		source := sqlstore.New(service)
		wantRange(t, service, segment.Request{Tag: "orders"}, 1, 10)
		if _, err := source.Take(t.Context(), segment.Request{Tag: "orders", AtLeast: 12}); !errors.Is(err, segment.ErrSetBack) {
			t.Errorf("Take() = %v, want ErrSetBack", err)
		}
		mariadbtest.WantErrorNumber(t, source.CreateTag(t.Context(), "new", segment.TagConfig{}), "CreateTag without its privilege", 1142, 1143)
		forbidden := func() {
			t.Helper()
			for _, statement := range []string{
				"DELETE FROM leaf_alloc", "UPDATE leaf_alloc SET step = 1", "UPDATE leaf_alloc SET biz_tag = 'x'", "TRUNCATE TABLE leaf_alloc",
				"DROP TABLE leaf_alloc", "ALTER TABLE leaf_alloc ADD n INT", "SELECT * FROM WORKER_NODE",
			} {
				_, err := service.Exec(statement)
				mariadbtest.WantErrorNumber(t, err, "as the service: "+statement, 1142, 1143)
			}
		}
		forbidden()
		db.MustExec(statements.Next("GRANT INSERT ("))
		service = mariadbtest.Open(t, s.DSN("service", "secret", "ids"))
		source = sqlstore.New(service)
		if err := source.CreateTag(t.Context(), "new", segment.TagConfig{Start: 5}); err != nil {
			t.Error(err)
		}
		if err := source.CreateTag(t.Context(), "new", segment.TagConfig{Start: 5}); !errors.Is(err, segment.ErrTagExists) {
			t.Errorf("CreateTag() = %v, want ErrTagExists", err)
		}
		wantRange(t, service, segment.Request{Tag: "new", Size: 3}, 5, 3)
		forbidden()
	})
}

// The statements find and delete only tags of past days of one name, which nobody has used lately. Names are compared as they are,
// also in a table of Leaf, whose collation ignores case.
func TestSchemaTagDeletion(t *testing.T) {
	mariadbtest.OnEach(t, func(t *testing.T, start mariadbtest.StartFunc) {
		db := mariadbtest.CreateIDs(t, start(t))
		for _, collation := range []string{"utf8mb4_bin", "utf8mb4_general_ci", "latin1_swedish_ci"} {
			db.MustExec("DROP TABLE IF EXISTS leaf_alloc")
			testserver.RunScript(t, db, ringuid.MySQLSchema())
			db.MustExec("ALTER TABLE leaf_alloc CONVERT TO CHARACTER SET " + strings.Split(collation, "_")[0] + " COLLATE " + collation)
			old, recent := time.Now().AddDate(0, 0, -40).Format("20060102"), time.Now().AddDate(0, 0, -20).Format("20060102")
			earlier := time.Now().AddDate(0, 0, -60).Format("20060102")
			keep := map[string]int{
				"a_b": 100, "a_b.": 100, "a_b." + recent: 31, "a_b." + old + "1": 31, "a_b." + old[1:]: 31, "a_b." + old + ".stripe": 31, "a_b.x" + old: 31,
				"axb." + old: 31, "a_bc." + old: 31, "a_b-" + old: 31, "a_b." + old + ".day": 31, "xa_b." + old: 31, "A_B." + earlier: 31, "a_b.stripe0of3": 31,
				".stripe0of3": 31, "a_b.20260229": 5, "a%." + old: 31,
			}
			remove := map[string]int{"a_b." + old: 31, "a_b." + old + ".stripe2of10": 40, "a_b.20240101": 500}
			for _, tags := range []map[string]int{keep, remove} {
				for tag, days := range tags {
					db.MustExec("INSERT INTO leaf_alloc (biz_tag, step, update_time) VALUES (?, 1, NOW() - INTERVAL ? DAY)", tag, days)
				}
			}
			db.MustExec("SET GLOBAL sql_safe_updates = 1")
			statements := schematest.MySQL().Section(t, "WHICH TAGS MAY BE DELETED", "<tag>", "a_b")
			var found []struct {
				Tag  string `db:"biz_tag"`
				Max  int64  `db:"max_id"`
				Time string `db:"update_time"`
			}
			if err := db.Select(&found, statements.Next("SELECT biz_tag")); err != nil {
				t.Fatal(err)
			}
			for _, f := range found {
				if _, ok := remove[f.Tag]; !ok {
					t.Errorf("%s: the query finds %q", collation, f.Tag)
				}
			}
			if n, _ := db.MustExec(statements.Next("DELETE FROM leaf_alloc")).RowsAffected(); int(n) != len(remove) || len(found) != len(remove) {
				t.Errorf("%s: %d tags were found and %d deleted, want %d", collation, len(found), n, len(remove))
			}
			var left []string
			if err := db.Select(&left, "SELECT biz_tag FROM leaf_alloc"); err != nil || len(left) != len(keep) {
				t.Errorf("%s: the remaining tags are %q, %v", collation, left, err)
			}
			for _, tag := range left {
				if _, ok := keep[tag]; !ok {
					t.Errorf("%s: %q remains", collation, tag)
				}
			}
		}
	})
}

// A replica that lacks the last changes is promoted as schema.sql says. The numbers of the old primary, also those that
// were not stored, are not handed out again.
func TestSchemaTagFailover(t *testing.T) {
	primary := mariadbtest.Start(t, mariadbtest.PrimaryFlags()...)
	db := mariadbtest.CreateIDs(t, primary)
	testserver.RunScript(t, db, ringuid.MySQLSchema())
	db.MustExec("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('orders', 1, 100), ('others', 1, 10), ('retired', 9223372036854775807, 10)")
	db.MustExec("CREATE TABLE shop (number BIGINT)")
	replica := primary.Replica()
	wantRange(t, db, segment.Request{Tag: "orders"}, 1, 100)
	replica.WaitApplied(primary)
	replica.Admin().MustExec("STOP SLAVE")
	wantRange(t, db, segment.Request{Tag: "orders"}, 101, 100)
	wantRange(t, db, segment.Request{Tag: "others"}, 1, 10)
	primary.Kill()

	admin := mariadbtest.Open(t, replica.DSN("root", "", "ids"))
	admin.MustExec("INSERT INTO shop VALUES (100), (150)") // the numbers that were stored, here or elsewhere
	// Before the procedure, who remembers refuses, and others would receive numbers again.
	if _, err := sqlstore.New(admin).Take(t.Context(), segment.Request{Tag: "orders", AtLeast: 201}); !errors.Is(err, segment.ErrSetBack) {
		t.Errorf("Take() = %v, want ErrSetBack", err)
	}
	statements := schematest.MySQL().Section(t, "TAGS AFTER A FAILOVER OR A RESTORED BACKUP", "<column>", "number", "<table>", "shop", "<tag>", "orders", "<margin>", "1000")
	var greatest string
	if err := admin.Get(&greatest, statements.Next("SELECT MAX")); err != nil || greatest != "150" {
		t.Fatal(greatest, err)
	}
	admin.MustExec("SET GLOBAL sql_safe_updates = 1")
	admin.MustExec(statements.Next("UPDATE leaf_alloc SET max_id = GREATEST", "<greatest number>", greatest))
	admin.MustExec(statements.Next("UPDATE leaf_alloc SET max_id = LEAST"))
	admin.MustExec("SET GLOBAL read_only = 0")
	wantRange(t, admin, segment.Request{Tag: "orders", AtLeast: 201}, 1151, 100)
	wantRange(t, admin, segment.Request{Tag: "others"}, 1001, 10)
}
