//go:build unix

package postgrestest_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/postgrestest"
	"github.com/ringuid/ringuid/internal/uniq"
	"github.com/ringuid/ringuid/segment"
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
	var (
		all         uniq.Set
		taken, ends atomic.Int64
		running     sync.WaitGroup
		mu          sync.Mutex
	)
	seen := map[string]int{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for g := range 6 {
		running.Go(func() {
			db := postgrestest.Open(t, s.DSN("u", "p", name))
			w := all.Writer()
			source := segment.NewTable(db, segment.WithAttemptTimeout(2*time.Second))
			for ctx.Err() == nil {
				// All remember the same, as one Sequence does: the counter must not go below it.
				got, err := source.Take(ctx, segment.Request{Tag: "orders", Size: int64(g % 2 * 7), AtLeast: ends.Load()})
				if err != nil {
					if text := err.Error(); ctx.Err() == nil {
						if !strings.HasPrefix(text, "segment: ") {
							t.Errorf("Take() = %v", err)
						}
						mu.Lock()
						seen[strings.Split(text, "127.0.0.1")[0]]++
						mu.Unlock()
					}
					time.Sleep(time.Millisecond)
					continue
				}
				for n := got.First; n < got.First+got.Length; n++ {
					if !w.Add(n) {
						t.Errorf("the number %d of %+v was handed out twice", n, got)
						return
					}
				}
				for end := got.First + got.Length; ; {
					if old := ends.Load(); old >= end || ends.CompareAndSwap(old, end) {
						break
					}
				}
				taken.Add(1)
			}
		})
	}
	more := func(what string) {
		t.Helper()
		want := taken.Load() + 30
		for deadline := time.Now().Add(time.Minute); taken.Load() < want && !t.Failed(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				mu.Lock()
				defer mu.Unlock()
				t.Fatalf("after %s no ranges are taken: %v", what, seen)
			}
		}
	}
	more("the start")
	db.MustExec("CREATE FUNCTION less() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.max_id := NEW.max_id - 1; RETURN NEW; END'")
	db.MustExec("CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
	const trigger = "CREATE TRIGGER tr BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION "
	for what, statements := range map[string][]string{
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
	} {
		db.SetMaxOpenConns(1)
		for _, statement := range statements {
			if _, err := db.Exec(statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
			time.Sleep(5 * time.Millisecond) // so that some Takes see it; the test does not depend on it
		}
		more(what)
	}
	cancel()
	running.Wait()
	t.Logf("%d ranges", taken.Load())
	for text, n := range seen {
		t.Logf("%6d %s", n, text)
	}
}
