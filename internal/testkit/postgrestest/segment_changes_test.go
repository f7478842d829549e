//go:build unix

package postgrestest_test

import (
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/postgrestest"
	"github.com/ringuid/ringuid/internal/testkit/takertest"
	"github.com/ringuid/ringuid/stores/sqlstore"
)

// An operator changes the table, the privileges and the settings in all ways while processes take ranges. Takes fail meanwhile, and no number
// is handed out twice.
func TestSegmentTableChangedWhileRunning(t *testing.T) {
	s := postgrestest.Start(t)
	name, db := segmentDatabase(t, s)
	db.MustExec("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('orders', 1, 10)")
	db.MustExec("CREATE ROLE u LOGIN PASSWORD 'p'")
	grant := "SELECT (biz_tag, max_id, step), UPDATE (max_id, update_time) ON leaf_alloc "
	db.MustExec("GRANT " + grant + "TO u")
	k := takertest.New(t)
	for n := range 6 {
		db := postgrestest.Open(t, s.DSN("u", "p", name))
		k.Run(sqlstore.New(db, sqlstore.WithAttemptTimeout(2*time.Second)), n > 0, 5*time.Second)
	}
	db.SetMaxOpenConns(1)
	db.MustExec("CREATE FUNCTION less() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.max_id := NEW.max_id - 1; RETURN NEW; END'")
	db.MustExec("CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
	const trigger = "CREATE TRIGGER tr BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION "
	k.Disturb(map[string][]string{
		"a new privilege":       {"REVOKE " + grant + "FROM u", "GRANT " + grant + "TO u"},
		"another name":          {"ALTER TABLE leaf_alloc RENAME TO away", "ALTER TABLE away RENAME TO leaf_alloc"},
		"another type":          {"ALTER TABLE leaf_alloc ALTER max_id TYPE numeric", "ALTER TABLE leaf_alloc ALTER max_id TYPE bigint"},
		"a text":                {"ALTER TABLE leaf_alloc ALTER max_id DROP DEFAULT, ALTER max_id TYPE text", "ALTER TABLE leaf_alloc ALTER max_id TYPE bigint USING max_id::bigint"},
		"a fraction":            {"ALTER TABLE leaf_alloc ALTER max_id TYPE double precision", "ALTER TABLE leaf_alloc ALTER max_id TYPE bigint"},
		"a small step":          {"ALTER TABLE leaf_alloc ALTER step TYPE smallint", "ALTER TABLE leaf_alloc ALTER step TYPE bigint"},
		"a column":              {"ALTER TABLE leaf_alloc ADD more int", "ALTER TABLE leaf_alloc DROP more"},
		"no key":                {"ALTER TABLE leaf_alloc DROP CONSTRAINT leaf_alloc_pkey", "ALTER TABLE leaf_alloc ADD PRIMARY KEY (biz_tag)"},
		"steps":                 {"UPDATE leaf_alloc SET step = 0", "UPDATE leaf_alloc SET step = 25", "UPDATE leaf_alloc SET step = -1", "UPDATE leaf_alloc SET step = 10"},
		"another tag":           {"UPDATE leaf_alloc SET biz_tag = 'x'", "UPDATE leaf_alloc SET biz_tag = 'orders'"},
		"a raised counter":      {"UPDATE leaf_alloc SET max_id = max_id + 1000"},
		"read-only":             {"ALTER DATABASE " + name + " SET default_transaction_read_only = on", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'u'", "SET default_transaction_read_only = off", "ALTER DATABASE " + name + " SET default_transaction_read_only = off", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'u'"},
		"terminations":          {"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'u'", "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE usename = 'u'", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'u'"},
		"SERIALIZABLE":          {"ALTER ROLE u SET default_transaction_isolation = 'serializable'", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'u'"},
		"lock timeouts":         {"ALTER ROLE u SET lock_timeout = '3ms'", "ALTER ROLE u SET statement_timeout = '20ms'", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'u'", "ALTER ROLE u RESET ALL", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'u'"},
		"row security":          {"ALTER TABLE leaf_alloc ENABLE ROW LEVEL SECURITY", "ALTER TABLE leaf_alloc DISABLE ROW LEVEL SECURITY"},
		"a rule":                {"CREATE RULE r AS ON UPDATE TO leaf_alloc DO INSTEAD NOTHING", "DROP RULE r ON leaf_alloc"},
		"a trigger":             {trigger + "less()", "DROP TRIGGER tr ON leaf_alloc"},
		"a refusal":             {trigger + "nothing()", "DROP TRIGGER tr ON leaf_alloc"},
		"a table below":         {"CREATE TABLE child () INHERITS (leaf_alloc)", "INSERT INTO child (biz_tag, max_id, step) VALUES ('orders', 5, 10)", "DROP TABLE child"},
		"vacuum and locks":      {"VACUUM FULL leaf_alloc", "CLUSTER leaf_alloc USING leaf_alloc_pkey", "REINDEX TABLE leaf_alloc"},
		"unlogged":              {"ALTER TABLE leaf_alloc SET UNLOGGED", "ALTER TABLE leaf_alloc SET LOGGED"},
		"no synchronous_commit": {"ALTER ROLE u SET synchronous_commit = off", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'u'"},
	}, func(statement string) error {
		_, err := db.Exec(statement)
		return err
	})
	k.Check()
}
