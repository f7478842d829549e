//go:build unix

package postgrestest_test

import (
	"context"
	"errors"
	"math"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
	"github.com/ringuid/ringuid/internal/testkit/takertest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
	"github.com/ringuid/ringuid/stores/sqlstore"
)

// The suite of segment sources, through a proxy that loses replies.
func TestSegmentTableConformance(t *testing.T) {
	s := postgrestest.Start(t)
	proxy := testserver.NewProxy(t, s.Address())
	var last, database string
	var admin *sqlx.DB
	s.Admin().MustExec("CREATE ROLE service LOGIN PASSWORD 'very-secret'")
	segmenttest.Run(t, takertest.WithoutKills(segmenttest.Harness{
		New: func(tb testing.TB, name string) segment.Creator {
			if name != last {
				last = name
				database, admin = segmentDatabase(t, s)
				admin.MustExec("GRANT SELECT (biz_tag, max_id, step), UPDATE (max_id, update_time), INSERT (biz_tag, max_id, step, description) ON leaf_alloc TO service")
			}
			dsn := strings.Replace(s.DSN("service", "very-secret", database), s.Address(), proxy.Address(), 1)
			return sqlstore.New(postgrestest.Open(tb, dsn), sqlstore.WithAttemptTimeout(testserver.CaseTimeout(tb, 3*time.Second)))
		},
		Secrets: []string{"very-secret"},
		Faults: segmenttest.Faults{
			Kill:        func(testing.TB) { s.Kill() },
			Start:       func(testing.TB) { s.Restart() },
			Pause:       func(testing.TB) { s.Pause() },
			Resume:      func(testing.TB) { s.Resume() },
			LoseReplies: proxy.LoseReplies,
			SetCounter: func(tb testing.TB, tag string, next int64) {
				admin.MustExec("UPDATE leaf_alloc SET max_id = $1 WHERE biz_tag = $2", next, tag)
			},
			LoseWritesUnnoticed: func(tb testing.TB, write func()) {
				admin.MustExec("DROP TABLE IF EXISTS backup")
				admin.MustExec("CREATE TABLE backup AS SELECT * FROM leaf_alloc")
				write()
				admin.MustExec("DELETE FROM leaf_alloc")
				admin.MustExec("INSERT INTO leaf_alloc SELECT * FROM backup")
			},
			Without: map[string]string{"LoseWrites": "Leaf's table has no record of the server, so that a Table cannot notice it"},
		},
	}))
}

// segmentDatabase creates a database with the table.
func segmentDatabase(t *testing.T, s *postgrestest.Server) (name string, db *sqlx.DB) {
	t.Helper()
	name, db = s.Database()
	testserver.RunScript(t, db, ringuid.PostgreSQLSchema())
	return name, db
}

// wantTaken takes a range and checks it.
func wantTaken(t *testing.T, source segment.Source, r segment.Request, first, length, step int64) {
	t.Helper()
	if got, err := source.Take(t.Context(), r); err != nil || got != (segment.Range{First: first, Length: length, Stride: 1, Step: step}) {
		t.Errorf("Take(%+v) = %+v, %v; want %d numbers from %d, step %d", r, got, err, length, first, step)
	}
}

// The table works with pgx and lib/pq, in every mode, and with any settings of the session. The end of 63 bits is no
// overflow, and a refused Take changes nothing.
func TestSegmentTableSettings(t *testing.T) {
	s := postgrestest.Start(t)
	for _, tt := range []struct{ driver, parameters string }{
		{"pgx", ""}, {"pgx", "default_query_exec_mode=exec"}, {"pgx", "default_query_exec_mode=simple_protocol"},
		{"pgx", "default_query_exec_mode=cache_describe"}, {"pgx", "default_transaction_isolation=serializable"},
		{"pgx", "default_transaction_isolation=repeatable read"}, {"pgx", "synchronous_commit=off"}, {"pgx", "bytea_output=escape"},
		{"postgres", ""}, {"postgres", "default_transaction_isolation=serializable"}, {"postgres", "binary_parameters=yes"},
	} {
		t.Run(tt.driver+" "+tt.parameters, func(t *testing.T) {
			name, admin := segmentDatabase(t, s)
			dsn := s.DSN("postgres", "", name)
			if key, value, ok := strings.Cut(tt.parameters, "="); ok {
				separator := "?"
				if strings.Contains(dsn, "?") {
					separator = "&"
				}
				dsn += separator + key + "=" + url.PathEscape(value)
			}
			db, err := sqlx.Open(tt.driver, dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			source := sqlstore.New(db)
			const tag = "naïve 'tag' \\ $1 主"
			if err := source.CreateTag(t.Context(), tag, segment.TagConfig{Start: 7, Step: 20, Description: "“quoted” \\ 主机"}); err != nil {
				t.Fatal(err)
			}
			if err := source.CreateTag(t.Context(), tag, segment.TagConfig{}); !errors.Is(err, segment.ErrTagExists) {
				t.Errorf("CreateTag() = %v, want ErrTagExists", err)
			}
			wantTaken(t, source, segment.Request{Tag: tag}, 7, 20, 20)
			wantTaken(t, source, segment.Request{Tag: tag, Size: 3, AtLeast: 27}, 27, 3, 20)
			admin.MustExec("UPDATE leaf_alloc SET max_id = 20, step = 5")
			for range 10 {
				if _, err := source.Take(t.Context(), segment.Request{Tag: tag, AtLeast: 30}); !errors.Is(err, segment.ErrSetBack) {
					t.Fatalf("Take() = %v, want ErrSetBack", err)
				}
			}
			wantTaken(t, source, segment.Request{Tag: tag}, 20, 5, 5)
			admin.MustExec("UPDATE leaf_alloc SET max_id = $1, step = 10", int64(math.MaxInt64-7))
			wantTaken(t, source, segment.Request{Tag: tag}, math.MaxInt64-7, 7, 10)
			if _, err := source.Take(t.Context(), segment.Request{Tag: tag, Size: 1, AtLeast: math.MaxInt64}); !errors.Is(err, segment.ErrExhausted) {
				t.Errorf("Take() = %v, want ErrExhausted", err)
			}
			if _, err := source.Take(t.Context(), segment.Request{Tag: "other"}); !errors.Is(err, segment.ErrNoTag) {
				t.Errorf("Take() = %v, want ErrNoTag", err)
			}
			each := testkit.Size[int64](5, 20)
			// Concurrent Takes conflict at isolation levels above READ COMMITTED, and are tried again.
			admin.MustExec("UPDATE leaf_alloc SET max_id = 1")
			var all sync.WaitGroup
			var seen uniq.Set
			for range 8 {
				all.Go(func() {
					w := seen.Writer()
					for range each {
						got, err := source.Take(context.Background(), segment.Request{Tag: tag, Size: 2})
						if err != nil || !w.Add(got.First) || !w.Add(got.First+1) {
							t.Errorf("Take() = %+v, %v; want other numbers", got, err)
						}
					}
				})
			}
			all.Wait()
			wantTaken(t, source, segment.Request{Tag: tag}, 1+8*each*2, 10, 10)
			var open int
			if err := admin.Get(&open, "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'"); err != nil || open != 0 {
				t.Errorf("%d transactions are open, %v", open, err)
			}
		})
	}
}

// Wrong rows and tables are errors that say what is wrong and what to do.
func TestSegmentTableWrong(t *testing.T) {
	s := postgrestest.Start(t)
	const columns = "biz_tag VARCHAR(128), max_id BIGINT, step BIGINT, description VARCHAR(256), update_time TIMESTAMPTZ"
	replace := func(old, by string) string { return strings.Replace(columns, old, by, 1) }
	insert := func(maxID, step string) string {
		return "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', " + maxID + ", " + step + ")"
	}
	for name, tt := range map[string]struct {
		columns string
		extra   []string
		is      error
		want    string
	}{
		"no table":         {"", nil, segment.ErrSource, "apply schema.postgres.sql"},
		"no max_id":        {"biz_tag VARCHAR(128), step BIGINT, update_time TIMESTAMPTZ", nil, segment.ErrSource, "compare its columns with schema.postgres.sql"},
		"no update_time":   {"biz_tag VARCHAR(128), max_id BIGINT, step BIGINT", nil, segment.ErrSource, "compare its columns with schema.postgres.sql"},
		"no rows":          {columns, nil, segment.ErrNoTag, "no row"},
		"step 0":           {columns, []string{insert("1", "0")}, segment.ErrSource, "is 0; must be 1 to"},
		"the least step":   {columns, []string{insert("1", "-9223372036854775808")}, segment.ErrSource, "must be 1 to"},
		"max_id -1":        {columns, []string{insert("-1", "10")}, segment.ErrSource, "is -1; must be at least 1"},
		"max_id NULL":      {columns, []string{insert("NULL", "10")}, segment.ErrSource, "max_id of the tag \"a\""},
		"step NULL":        {columns, []string{insert("1", "NULL")}, segment.ErrSource, "is NULL"},
		"max_id double":    {replace("max_id BIGINT", "max_id DOUBLE PRECISION"), []string{insert("9007199254740992", "1")}, segment.ErrSource, "must be BIGINT"},
		"max_id numeric":   {replace("max_id BIGINT", "max_id NUMERIC"), []string{insert("1", "10")}, segment.ErrSource, "must be BIGINT"},
		"max_id text":      {replace("max_id BIGINT", "max_id TEXT"), []string{insert("'1'", "10")}, segment.ErrSource, "compare its columns with schema.postgres.sql"},
		"max_id integer":   {replace("max_id BIGINT", "max_id INTEGER"), []string{insert("2147483640", "10")}, segment.ErrSource, "max_id must be BIGINT"},
		"no key, two rows": {columns, []string{insert("1", "10"), insert("5", "10")}, segment.ErrSource, "2 rows for the tag"},
		"a rule":           {columns, []string{insert("1", "10"), "CREATE RULE r AS ON UPDATE TO leaf_alloc DO INSTEAD NOTHING"}, nil, "sqlstore: "},
		"a trigger": {columns, []string{insert("1", "10"), "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
			"CREATE TRIGGER t BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION f()"}, segment.ErrSource, "a trigger or a rule prevents it"},
	} {
		t.Run(name, func(t *testing.T) {
			_, db := s.Database()
			if tt.columns != "" {
				db.MustExec("CREATE TABLE leaf_alloc (" + tt.columns + ")")
			}
			for _, statement := range tt.extra {
				db.MustExec(statement)
			}
			source := sqlstore.New(db)
			for _, size := range []int64{0, 10} {
				taken, err := source.Take(t.Context(), segment.Request{Tag: "a", Size: size})
				if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("Take of %d = %+v, %v; want %v with %q", size, taken, err, tt.is, tt.want)
				}
			}
		})
	}
}

// A trigger that changes max_id or step is noticed, even if it leaves a number that looks right.
func TestSegmentTableTriggers(t *testing.T) {
	s := postgrestest.Start(t)
	for _, body := range []string{"NEW.max_id = OLD.max_id;", "NEW.max_id = OLD.max_id + 5;", "NEW.step = NEW.step * 2;"} {
		_, db := segmentDatabase(t, s)
		db.MustExec("CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN " + body + " RETURN NEW; END'")
		db.MustExec("CREATE TRIGGER t BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION f()")
		db.MustExec("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 1001, 10), ('last', $1, 10)", int64(math.MaxInt64-3))
		taken, err := sqlstore.New(db).Take(t.Context(), segment.Request{Tag: "a"})
		if !errors.Is(err, segment.ErrSource) || !strings.Contains(err.Error(), "a trigger changes it") {
			t.Errorf("%s: Take() = %+v, %v; want ErrSource", body, taken, err)
		}
		taken, err = sqlstore.New(db).Take(t.Context(), segment.Request{Tag: "last"})
		if changesCounter := strings.Contains(body, "max_id"); errors.Is(err, segment.ErrSource) != changesCounter {
			t.Errorf("%s: Take of the last numbers = %+v, %v", body, taken, err)
		}
	}
}

// A collation that does not distinguish tags: the row of another tag is never used.
func TestSegmentTableCollation(t *testing.T) {
	_, db := segmentDatabase(t, postgrestest.Start(t))
	if _, err := db.Exec("CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"); err != nil {
		testkit.Missing(t, "PostgreSQL has no ICU collations: ", err)
	}
	db.MustExec("ALTER TABLE leaf_alloc ALTER biz_tag TYPE VARCHAR(128) COLLATE folded")
	source := sqlstore.New(db)
	if err := source.CreateTag(t.Context(), "Orders", segment.TagConfig{}); err != nil {
		t.Fatal(err)
	}
	if _, err := source.Take(t.Context(), segment.Request{Tag: "orders"}); !errors.Is(err, segment.ErrNoTag) || !strings.Contains(err.Error(), `"Orders"`) {
		t.Errorf("Take() = %v, want ErrNoTag that names Orders", err)
	}
	if err := source.CreateTag(t.Context(), "ORDERS", segment.TagConfig{}); !errors.Is(err, segment.ErrTag) {
		t.Errorf("CreateTag() = %v, want ErrTag", err)
	}
	wantTaken(t, source, segment.Request{Tag: "Orders", Size: 5}, 1, 5, 1000)
}

// A connection of the pool whose user has left a transaction open does not lead to a range that was never committed: another
// session rolls it back, or the connection ends, and the numbers would be handed out a second time.
func TestSegmentTableOpenTransaction(t *testing.T) {
	s := postgrestest.Start(t)
	for _, driver := range testkit.Size([]string{"pgx"}, []string{"pgx", "postgres"}) {
		for name, statements := range map[string][]string{
			"begin": {"BEGIN"}, "read": {"BEGIN", "SELECT 1"}, "write": {"BEGIN", "INSERT INTO other VALUES (1)"}, "failed": {"BEGIN", "SELECT 1/0"},
			"repeatable read": {"BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT max_id FROM leaf_alloc"}, "read only": {"BEGIN READ ONLY"},
		} {
			t.Run(driver+" "+name, func(t *testing.T) {
				database, admin := segmentDatabase(t, s)
				admin.MustExec("CREATE TABLE other (n INT)")
				admin.MustExec("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('orders', 1, 10)")
				db, err := sqlx.Open(driver, s.DSN("postgres", "", database))
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				db.SetMaxOpenConns(1)
				leave := func() {
					for _, statement := range statements {
						db.Exec(statement)
					}
				}
				source := sqlstore.New(db)
				leave()
				for _, r := range []segment.Request{{Tag: "orders"}, {Tag: "orders", Size: 5}} {
					leave()
					got, err := source.Take(t.Context(), r)
					if err != nil {
						t.Fatal(err)
					}
					var counter int64
					if err := admin.Get(&counter, "SELECT max_id FROM leaf_alloc"); err != nil || counter != got.First+got.Length {
						t.Errorf("Take(%+v) = %+v, but max_id is %d, %v", r, got, counter, err)
					}
				}
				admin.MustExec("UPDATE leaf_alloc SET max_id = $1", int64(math.MaxInt64-3))
				leave()
				wantTaken(t, source, segment.Request{Tag: "orders"}, math.MaxInt64-3, 3, 10)
				var counter int64
				if err := admin.Get(&counter, "SELECT max_id FROM leaf_alloc"); err != nil || counter != math.MaxInt64 {
					t.Errorf("max_id is %d after the last Take, %v", counter, err)
				}
				leave()
				if err := source.CreateTag(t.Context(), "new", segment.TagConfig{}); err != nil {
					t.Error(err)
				}
				if err := admin.Get(&counter, "SELECT max_id FROM leaf_alloc WHERE biz_tag = 'new'"); err != nil || counter != 1 {
					t.Errorf("max_id of the new tag is %d, %v", counter, err)
				}
			})
		}
	}
}
