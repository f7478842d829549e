//go:build unix

package segmenttabletests

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/sqlstore"
)

// leafScript is the table of Leaf, as its authors' script creates it.
const leafScript = "CREATE TABLE leaf_alloc (biz_tag varchar(128) NOT NULL DEFAULT '', max_id bigint(20) NOT NULL DEFAULT '1', step int(11) NOT NULL," +
	" description varchar(256) DEFAULT NULL, update_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, PRIMARY KEY (biz_tag)) ENGINE=InnoDB"

// A table of Leaf's own script may have a collation that does not distinguish tags. The row of another tag is never
// used, and the error names it.
func TestLeafTableCollation(t *testing.T) {
	onEachServer(t, func(t *testing.T, start startFunc) {
		s := start(t)
		for _, charset := range []string{"latin1", "utf8", "utf8mb4", "utf8mb4 COLLATE utf8mb4_bin"} {
			_, db := s.Database()
			db.MustExec(leafScript + " DEFAULT CHARSET=" + charset)
			source := sqlstore.New(db)
			insertTag(db, "Orders", 1, 10)
			insertTag(db, "é", 1, 10)
			db.MustExec("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('space ', 1, 10)")
			mustTake(t, source, segment.Request{Tag: "Orders"}, rangeOf(1, 10, 10))
			mustTake(t, source, segment.Request{Tag: "é"}, rangeOf(1, 10, 10))
			for tag, found := range map[string]string{"orders": `"Orders"`, "e": `"é"`, "space": `"space "`} {
				_, err := source.Take(t.Context(), segment.Request{Tag: tag})
				isSame := !strings.Contains(charset, "bin") || tag == "space"
				if !errors.Is(err, segment.ErrNoTag) || isSame != strings.Contains(err.Error(), found) && charset != "latin1" {
					t.Errorf("%s: Take(%q) = %v, want ErrNoTag that names %s", charset, tag, err, found)
				}
				err = source.CreateTag(t.Context(), tag, segment.TagConfig{})
				switch {
				case strings.Contains(charset, "bin") && tag != "space":
					if err != nil {
						t.Errorf("%s: CreateTag(%q) = %v", charset, tag, err)
					}
				case charset == "latin1" && err == nil: // latin1_swedish_ci distinguishes é from e
				case !errors.Is(err, segment.ErrTag) || errors.Is(err, segment.ErrTagExists) || !strings.Contains(err.Error(), found):
					t.Errorf("%s: CreateTag(%q) = %v, want an error that names %s", charset, tag, err, found)
				}
			}
			if got := maxID(t, db, "Orders"); got != 11 {
				t.Errorf("%s: max_id of Orders is %d, want 11", charset, got)
			}
			if err := source.CreateTag(t.Context(), "wide", segment.TagConfig{Step: 1 << 40}); !strings.Contains(err.Error(), "step") && !strings.Contains(err.Error(), "1264") {
				t.Errorf("CreateTag with a step beyond the column = %v", err)
			}
		}
	})
}

// Wrong rows and tables are errors that say what is wrong and what to do. Nothing is changed.
func TestWrongTables(t *testing.T) {
	const columns = "biz_tag VARCHAR(128) NOT NULL, max_id BIGINT NOT NULL, step INT NOT NULL, description VARCHAR(256), update_time TIMESTAMP"
	const key = ", PRIMARY KEY (biz_tag)"
	replace := func(old, by string) string { return strings.Replace(columns, old, by, 1) + key }
	const one = "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 1, 10)"
	onEachServer(t, func(t *testing.T, start startFunc) {
		s := start(t, "--sql-mode=NO_ENGINE_SUBSTITUTION")
		for name, tt := range map[string]struct {
			columns string
			extra   []string
			is      error
			want    string
		}{
			"no table":           {"", nil, segment.ErrSource, "apply schema.sql"},
			"no max_id":          {"biz_tag VARCHAR(128) PRIMARY KEY, step INT", nil, segment.ErrSource, "compare its columns with schema.sql"},
			"no step":            {"biz_tag VARCHAR(128) PRIMARY KEY, max_id BIGINT", nil, segment.ErrSource, "compare its columns with schema.sql"},
			"no rows":            {columns + key, nil, segment.ErrNoTag, `no row with the biz_tag "a"`},
			"step 0":             {columns + key, []string{one, "UPDATE leaf_alloc SET step = 0"}, segment.ErrSource, "step of the tag \"a\" in table leaf_alloc at 127.0.0.1"},
			"step -1":            {columns + key, []string{one, "UPDATE leaf_alloc SET step = -1"}, segment.ErrSource, "is -1; must be 1 to"},
			"step too great":     {replace("step INT", "step BIGINT"), []string{one, "UPDATE leaf_alloc SET step = 1099511627777"}, segment.ErrSource, "is 1099511627777; must be 1 to 1099511627776"},
			"max_id -1":          {columns + key, []string{one, "UPDATE leaf_alloc SET max_id = -1"}, segment.ErrSource, "max_id of the tag \"a\""},
			"the least max_id":   {columns + key, []string{one, "UPDATE leaf_alloc SET max_id = -9223372036854775808"}, segment.ErrSource, "max_id of the tag \"a\""},
			"max_id NULL":        {replace("max_id BIGINT NOT NULL", "max_id BIGINT"), []string{one, "UPDATE leaf_alloc SET max_id = NULL"}, segment.ErrSource, "max_id of the tag \"a\" in table leaf_alloc at 127.0.0.1"},
			"step NULL":          {replace("step INT NOT NULL", "step INT"), []string{one, "UPDATE leaf_alloc SET step = NULL"}, segment.ErrSource, "is NULL; must be an integer"},
			"max_id DOUBLE":      {replace("max_id BIGINT", "max_id DOUBLE"), []string{one}, segment.ErrSource, "the column max_id of table leaf_alloc"},
			"max_id FLOAT, 2^53": {replace("max_id BIGINT", "max_id FLOAT"), []string{one, "UPDATE leaf_alloc SET max_id = 9007199254740992"}, segment.ErrSource, "is FLOAT; must be BIGINT"},
			"max_id DECIMAL":     {replace("max_id BIGINT", "max_id DECIMAL(30)"), []string{one}, segment.ErrSource, "is DECIMAL; must be BIGINT"},
			"max_id VARCHAR":     {replace("max_id BIGINT", "max_id VARCHAR(30)"), []string{one}, segment.ErrSource, "is VARCHAR; must be BIGINT"},
			"max_id is a word":   {replace("max_id BIGINT", "max_id VARCHAR(30)"), []string{one, "UPDATE leaf_alloc SET max_id = 'many'"}, segment.ErrSource, "is VARCHAR; must be BIGINT"},
			"max_id too great":   {replace("max_id BIGINT", "max_id BIGINT UNSIGNED"), []string{one, "UPDATE leaf_alloc SET max_id = 18446744073709551610"}, segment.ErrSource, "max_id"},
			"max_id INT":         {replace("max_id BIGINT", "max_id INT"), []string{one, "UPDATE leaf_alloc SET max_id = 2147483640"}, segment.ErrSource, "column is too small"},
			"max_id at the end":  {replace("max_id BIGINT", "max_id INT"), []string{one, "UPDATE leaf_alloc SET max_id = 2147483647"}, segment.ErrSource, "is too small"},
			"no key, two rows":   {columns, []string{one, one}, segment.ErrSource, "2 rows for the tag"},
			"no key, one fits":   {columns, []string{one, one, "UPDATE leaf_alloc SET step = 0 LIMIT 1"}, segment.ErrSource, "2 rows for the tag"},
			"MyISAM":             {columns + key, []string{one, "ALTER TABLE leaf_alloc ENGINE = MyISAM"}, segment.ErrSource, "is MyISAM; must be InnoDB"},
			"MEMORY":             {columns + key, []string{one, "ALTER TABLE leaf_alloc ENGINE = MEMORY"}, segment.ErrSource, "is MEMORY; must be InnoDB"},
			"a trigger": {columns + key, []string{one, "CREATE TRIGGER half BEFORE UPDATE ON leaf_alloc FOR EACH ROW SET NEW.max_id = OLD.max_id + 5"},
				segment.ErrSource, "a trigger changes it"},
		} {
			t.Run(name, func(t *testing.T) {
				_, db := s.Database()
				if tt.columns != "" {
					db.MustExec("CREATE TABLE leaf_alloc (" + tt.columns + "\n)")
				}
				for _, statement := range tt.extra {
					db.MustExec(statement)
				}
				before := content(db)
				source := sqlstore.New(db, sqlstore.WithServerName(s.Address()))
				for _, size := range []int64{0, 10} {
					if taken, err := source.Take(t.Context(), segment.Request{Tag: "a", Size: size}); !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) {
						t.Errorf("Take of %d = %+v, %v; want %v with %q", size, taken, err, tt.is, tt.want)
					}
				}
				if after := content(db); after != before {
					t.Errorf("the table was changed from %s to %s", before, after)
				}
			})
		}
		t.Run("strict mode", func(t *testing.T) { // errors of the server, instead of values that were changed
			name, db := s.Database()
			db.MustExec("CREATE TABLE leaf_alloc (" + replace("max_id BIGINT", "max_id INT") + ")")
			db.MustExec(one)
			db.MustExec("UPDATE leaf_alloc SET max_id = 2147483640")
			source := sqlstore.New(mariadbtest.Open(t, s.DSN("root", "", name)+"?sql_mode=%27STRICT_ALL_TABLES%27"))
			if _, err := source.Take(t.Context(), segment.Request{Tag: "a"}); !errors.Is(err, segment.ErrSource) || !strings.Contains(err.Error(), "max_id must be BIGINT") {
				t.Errorf("Take() = %v, want ErrSource with an advice", err)
			}
			db.MustExec("ALTER TABLE leaf_alloc MODIFY max_id VARCHAR(30)")
			db.MustExec("UPDATE leaf_alloc SET max_id = 'many'")
			if _, err := source.Take(t.Context(), segment.Request{Tag: "a"}); !errors.Is(err, segment.ErrSource) || !strings.Contains(err.Error(), "schema.sql") {
				t.Errorf("Take() = %v, want ErrSource with an advice", err)
			}
		})
	})
}

// If the step changes with the UPDATE, by a trigger or because it is a generated column, the step that is read
// afterwards is not what was added: numbers below the old max_id were handed out to others.
func TestStepChangesWithUpdate(t *testing.T) {
	onEachServer(t, func(t *testing.T, start startFunc) {
		_, db := start(t).Database()
		db.MustExec(leafScript)
		db.MustExec("CREATE TRIGGER grow BEFORE UPDATE ON leaf_alloc FOR EACH ROW SET NEW.step = NEW.step * 2")
		insertTag(db, "a", 1001, 10)
		insertTag(db, "zero", 0, 10)
		for _, tag := range []string{"a", "zero"} {
			before := maxID(t, db, tag)
			taken, err := sqlstore.New(db).Take(t.Context(), segment.Request{Tag: tag})
			if !errors.Is(err, segment.ErrSource) || !strings.Contains(err.Error(), "a trigger changes it") {
				t.Errorf("Take of %s = %+v, %v; want ErrSource", tag, taken, err)
			}
			if after := maxID(t, db, tag); after != before {
				t.Errorf("max_id of %s was changed from %d to %d", tag, before, after)
			}
			// The step does not matter for a size of its own.
			mustTake(t, sqlstore.New(db), segment.Request{Tag: tag, Size: 5}, rangeOf(before, 5, 20))
		}
	})
}

// A trigger that changes max_id is noticed, even if it leaves a number that looks right.
func TestTriggerChangesCounter(t *testing.T) {
	onEachServer(t, func(t *testing.T, start startFunc) {
		_, db := start(t).Database()
		db.MustExec(leafScript)
		db.MustExec("CREATE TRIGGER half BEFORE UPDATE ON leaf_alloc FOR EACH ROW SET NEW.max_id = OLD.max_id + 5")
		insertTag(db, "a", 1001, 10)
		insertTag(db, "last", int64(math.MaxInt64-7), 10)
		if taken, err := sqlstore.New(db).Take(t.Context(), segment.Request{Tag: "last"}); !errors.Is(err, segment.ErrSource) {
			t.Errorf("Take of the last numbers = %+v, %v; want ErrSource", taken, err)
		}
		for _, size := range []int64{0, 10} {
			taken, err := sqlstore.New(db).Take(t.Context(), segment.Request{Tag: "a", Size: size})
			if !errors.Is(err, segment.ErrSource) || !strings.Contains(err.Error(), "a trigger changes it") {
				t.Errorf("Take of %d = %+v, %v; want ErrSource", size, taken, err)
			}
		}
	})
}

// A trigger that inserts into a table with AUTO_INCREMENT, and one that uses LAST_INSERT_ID, do not matter.
func TestTriggerWithInsertID(t *testing.T) {
	onEachServer(t, func(t *testing.T, start startFunc) {
		_, db := start(t).Database()
		db.MustExec(leafScript)
		db.MustExec("CREATE TABLE audit (id BIGINT AUTO_INCREMENT PRIMARY KEY, n BIGINT)")
		db.MustExec("CREATE TRIGGER audits AFTER UPDATE ON leaf_alloc FOR EACH ROW INSERT INTO audit (n) VALUES (LAST_INSERT_ID(77))")
		insertTag(db, "a", 1001, 10)
		mustTake(t, sqlstore.New(db), segment.Request{Tag: "a"}, rangeOf(1001, 10, 10))
		mustTake(t, sqlstore.New(db), segment.Request{Tag: "a", Size: 5}, rangeOf(1011, 5, 10))
	})
}

// content returns all rows, or "" if there is no table.
func content(db *sqlx.DB) string {
	rows, err := db.Query("SELECT * FROM leaf_alloc ORDER BY 1")
	if err != nil {
		return ""
	}
	defer rows.Close()
	var all strings.Builder
	columns, _ := rows.Columns()
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new([]byte)
		}
		if err := rows.Scan(values...); err != nil {
			return err.Error()
		}
		for i, v := range values {
			if columns[i] != "update_time" {
				all.Write(*v.(*[]byte))
				all.WriteByte(' ')
			}
		}
		all.WriteByte(';')
	}
	return all.String()
}

// Accounts, servers and databases that are wrong are errors that say what to do, and which server it was.
func TestWrongAccounts(t *testing.T) {
	s := mariadbtest.Start(t)
	name, db := database(t, s)
	insertTag(db, "a", 1, 10)
	db.MustExec("CREATE USER 'u'@'%' IDENTIFIED BY 'p'")
	db.MustExec("GRANT SELECT ON " + name + ".leaf_alloc TO 'u'@'%'")
	for what, tt := range map[string]struct{ dsn, want string }{
		"no privilege": {s.DSN("u", "p", name), "PRIVILEGES ON TAGS"},
		"no password":  {s.DSN("u", "wrong", name), "check user, password and host"},
		"no database":  {s.DSN("root", "", "missing"), "name an existing one in the DSN"},
	} {
		source := sqlstore.New(mariadbtest.Open(t, tt.dsn), sqlstore.WithServerName(s.Address()))
		_, err := source.Take(t.Context(), segment.Request{Tag: "a"})
		if err == nil || !strings.HasPrefix(err.Error(), "sqlstore: ") || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), s.Address()) {
			t.Errorf("%s: Take() = %v, want an error with %q", what, err, tt.want)
		}
		if err := source.CreateTag(t.Context(), "b", segment.TagConfig{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: CreateTag() = %v, want an error with %q", what, err, tt.want)
		}
	}
	s.Admin().MustExec("SET GLOBAL read_only = 1")
	db.MustExec("GRANT UPDATE ON " + name + ".leaf_alloc TO 'u'@'%'")
	_, err := sqlstore.New(mariadbtest.Open(t, s.DSN("u", "p", name))).Take(t.Context(), segment.Request{Tag: "a"})
	if err == nil || !strings.Contains(err.Error(), "point the DSN at the primary") {
		t.Errorf("Take on a server that is read-only = %v", err)
	}
	if got := maxID(t, db, "a"); got != 1 {
		t.Errorf("max_id is %d, want 1", got)
	}
}
