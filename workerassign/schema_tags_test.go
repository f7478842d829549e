package workerassign_test

import (
	"errors"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/mariadbtest"
	"github.com/ringuid/ringuid/segment"
)

// wantRange takes a range of a tag, and checks it.
func wantRange(t *testing.T, db *sqlx.DB, r segment.Request, first, length int64) {
	t.Helper()
	got, err := segment.NewTable(db).Take(t.Context(), r)
	if err != nil || got.First != first || got.Length != length {
		t.Errorf("Take(%+v) = %+v, %v; want %d numbers from %d", r, got, err, length, first)
	}
}

// The statements of schema.sql add a tag and change its step, and the query shows the state.
func TestSchemaTags(t *testing.T) {
	onEachServer(t, func(t *testing.T, start startFunc) {
		db := createIDsDatabase(t, start(t))
		mariadbtest.RunScript(t, db, schemaScript(t))
		db.MustExec(newSection(t, "HOW TO ADD A TAG", "<tag>", "orders", "<first number>", "1000", "<step>", "50", "<description>", "of a shop").nextStatement("INSERT INTO leaf_alloc"))
		wantRange(t, db, segment.Request{Tag: "orders"}, 1000, 50)
		db.MustExec(newSection(t, "HOW TO SIZE A STEP", "<tag>", "orders", "<step>", "20").nextStatement("UPDATE leaf_alloc SET step"))
		db.MustExec("UPDATE leaf_alloc SET update_time = NOW() - INTERVAL 1 DAY")
		query := newSection(t, "WHAT A TAG MEANS").nextStatement("SELECT biz_tag")
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
		mariadbtest.RunScript(t, db, schemaScript(t)) // the script may run again
		wantRange(t, db, segment.Request{Tag: "orders"}, 1070, 20)
	})
}

// An account with the privileges of schema.sql can do all that a Table does, and nothing else.
func TestSchemaTagPrivileges(t *testing.T) {
	onEachServer(t, func(t *testing.T, start startFunc) {
		s := start(t)
		db := createIDsDatabase(t, s)
		mariadbtest.RunScript(t, db, schemaScript(t))
		db.MustExec("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('orders', 1, 10)")
		statements := newSection(t, "PRIVILEGES ON TAGS", "<password>", "secret")
		db.MustExec(statements.nextStatement("CREATE USER"))
		db.MustExec(statements.nextStatement("GRANT SELECT ("))
		service := mariadbtest.Open(t, s.DSN("service", "secret", "ids"))
		source := segment.NewTable(service)
		wantRange(t, service, segment.Request{Tag: "orders"}, 1, 10)
		if _, err := source.Take(t.Context(), segment.Request{Tag: "orders", AtLeast: 12}); !errors.Is(err, segment.ErrSetBack) {
			t.Errorf("Take() = %v, want ErrSetBack", err)
		}
		wantErrorNumber(t, source.CreateTag(t.Context(), "new", segment.TagConfig{}), "CreateTag without its privilege", 1142, 1143)
		forbidden := func() {
			t.Helper()
			for _, statement := range []string{
				"DELETE FROM leaf_alloc", "UPDATE leaf_alloc SET step = 1", "UPDATE leaf_alloc SET biz_tag = 'x'", "TRUNCATE TABLE leaf_alloc",
				"DROP TABLE leaf_alloc", "ALTER TABLE leaf_alloc ADD n INT", "SELECT * FROM WORKER_NODE",
			} {
				_, err := service.Exec(statement)
				wantErrorNumber(t, err, "as the service: "+statement, 1142, 1143)
			}
		}
		forbidden()
		db.MustExec(statements.nextStatement("GRANT INSERT ("))
		service = mariadbtest.Open(t, s.DSN("service", "secret", "ids"))
		source = segment.NewTable(service)
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

// The statement deletes only tags of the prefix that nobody has used lately.
func TestSchemaTagDeletion(t *testing.T) {
	onEachServer(t, func(t *testing.T, start startFunc) {
		db := createIDsDatabase(t, start(t))
		mariadbtest.RunScript(t, db, schemaScript(t))
		for tag, days := range map[string]int{"orders-20260101": 31, "orders-20260102": 29, "orders": 100, "invoices-20260101": 31} {
			db.MustExec("INSERT INTO leaf_alloc (biz_tag, step, update_time) VALUES (?, 1, NOW() - INTERVAL ? DAY)", tag, days)
		}
		db.MustExec("SET GLOBAL sql_safe_updates = 1")
		db.MustExec(newSection(t, "WHICH TAGS MAY BE DELETED", "<prefix>", "orders-").nextStatement("DELETE FROM leaf_alloc"))
		var left string
		if err := db.Get(&left, "SELECT GROUP_CONCAT(biz_tag ORDER BY biz_tag) FROM leaf_alloc"); err != nil || left != "invoices-20260101,orders,orders-20260102" {
			t.Errorf("the remaining tags are %s, %v", left, err)
		}
	})
}

// A replica that lacks the last changes is promoted as schema.sql says. The numbers of the old primary, also those that
// were not stored, are not handed out again.
func TestSchemaTagFailover(t *testing.T) {
	primary := mariadbtest.Start(t, mariadbtest.PrimaryFlags()...)
	db := createIDsDatabase(t, primary)
	mariadbtest.RunScript(t, db, schemaScript(t))
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
	if _, err := segment.NewTable(admin).Take(t.Context(), segment.Request{Tag: "orders", AtLeast: 201}); !errors.Is(err, segment.ErrSetBack) {
		t.Errorf("Take() = %v, want ErrSetBack", err)
	}
	statements := newSection(t, "TAGS AFTER A FAILOVER OR A RESTORED BACKUP", "<column>", "number", "<table>", "shop", "<tag>", "orders", "<margin>", "1000")
	var greatest string
	if err := admin.Get(&greatest, statements.nextStatement("SELECT MAX")); err != nil || greatest != "150" {
		t.Fatal(greatest, err)
	}
	admin.MustExec("SET GLOBAL sql_safe_updates = 1")
	admin.MustExec(statements.nextStatement("UPDATE leaf_alloc SET max_id = GREATEST", "<greatest number>", greatest))
	admin.MustExec(statements.nextStatement("UPDATE leaf_alloc SET max_id = LEAST"))
	admin.MustExec("SET GLOBAL read_only = 0")
	wantRange(t, admin, segment.Request{Tag: "orders", AtLeast: 201}, 1151, 100)
	wantRange(t, admin, segment.Request{Tag: "others"}, 1001, 10)
}
