//go:build unix

package segmenttabletests

import (
	"errors"
	"math"
	"net/url"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/sqlstore"
)

// The intervals are Leaf's, [max_id - added, max_id), whatever the settings of the server, of the session and of the
// driver are.
func TestTableSettings(t *testing.T) {
	onEachServer(t, func(t *testing.T, start startFunc) {
		s := start(t)
		for _, parameters := range []string{
			"", "autocommit=0", "clientFoundRows=true", "interpolateParams=true", "multiStatements=true", "charset=latin1", "parseTime=true&loc=Asia%2FTokyo",
			"sql_mode=''", "sql_mode='ANSI'", "sql_mode='TRADITIONAL'", "sql_mode='ORACLE'", "sql_mode='NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH'",
			"sql_mode='NO_UNSIGNED_SUBTRACTION'", "sql_safe_updates=1", "completion_type=1", "completion_type=2", "innodb_lock_wait_timeout=1", "rejectReadOnly=true",
			"tx_isolation='READ-UNCOMMITTED'", "tx_isolation='READ-COMMITTED'", "tx_isolation='REPEATABLE-READ'", "tx_isolation='SERIALIZABLE'",
			"autocommit=0&tx_isolation='REPEATABLE-READ'&completion_type=1&clientFoundRows=true",
		} {
			name, admin := database(t, s)
			if strings.Contains(parameters, "ORACLE") && strings.Contains(t.Name(), "MySQL") {
				continue
			}
			dsn := s.DSN("root", "", name)
			for pair := range strings.SplitSeq(parameters, "&") {
				key, value, _ := strings.Cut(pair, "=")
				if strings.HasPrefix(value, "'") {
					value = url.QueryEscape(value)
				}
				separator := "?"
				if strings.Contains(dsn, "?") {
					separator = "&"
				}
				if key != "" {
					dsn += separator + key + "=" + value
				}
			}
			t.Run(parameters, func(t *testing.T) {
				db := mariadbtest.Open(t, dsn)
				db.SetMaxOpenConns(2)
				source := sqlstore.New(db)
				if err := source.CreateTag(t.Context(), "naïve 'tag' \\ 主", segment.TagConfig{Start: 7, Step: 20, Description: "“quoted” \\ 主机"}); err != nil {
					t.Fatal(err)
				}
				mustTake(t, source, segment.Request{Tag: "naïve 'tag' \\ 主"}, rangeOf(7, 20, 20))
				mustTake(t, source, segment.Request{Tag: "naïve 'tag' \\ 主", Size: 3, AtLeast: 27}, rangeOf(27, 3, 20))
				admin.MustExec("UPDATE leaf_alloc SET step = 5, max_id = 1000")
				mustTake(t, source, segment.Request{Tag: "naïve 'tag' \\ 主", AtLeast: 30}, rangeOf(1000, 5, 5))
				if _, err := source.Take(t.Context(), segment.Request{Tag: "other"}); !errors.Is(err, segment.ErrNoTag) {
					t.Errorf("Take of a tag that does not exist = %v, want ErrNoTag", err)
				}
				var back *segment.SetBackError
				if _, err := source.Take(t.Context(), segment.Request{Tag: "naïve 'tag' \\ 主", AtLeast: 1006}); !errors.As(err, &back) || back.Counter != 1005 || back.AtLeast != 1006 {
					t.Errorf("Take below AtLeast = %v, want a SetBackError", err)
				}
				if err := source.CreateTag(t.Context(), "naïve 'tag' \\ 主", segment.TagConfig{}); !errors.Is(err, segment.ErrTagExists) {
					t.Errorf("CreateTag of a tag that exists = %v, want ErrTagExists", err)
				}
				// No connection has an open transaction: otherwise this change waits for a lock, or is not seen.
				admin.MustExec("ALTER TABLE leaf_alloc COMMENT = 'changed'")
				if got := maxID(t, admin, "naïve 'tag' \\ 主"); got != 1005 {
					t.Errorf("max_id is %d, want 1005", got)
				}
				mustTake(t, source, segment.Request{Tag: "naïve 'tag' \\ 主", Size: 1}, rangeOf(1005, 1, 5))
				createAudit(admin) // from now on, the Table compares counters
				mustTake(t, source, segment.Request{Tag: "naïve 'tag' \\ 主"}, rangeOf(1006, 5, 5))
				mustTake(t, source, segment.Request{Tag: "naïve 'tag' \\ 主", Size: 7, AtLeast: 1011}, rangeOf(1011, 7, 5))
				if _, err := source.Take(t.Context(), segment.Request{Tag: "naïve 'tag' \\ 主", AtLeast: 1019}); !errors.As(err, &back) || back.Counter != 1018 || back.AtLeast != 1019 {
					t.Errorf("Take below AtLeast = %v, want a SetBackError", err)
				}
				admin.MustExec("ALTER TABLE leaf_alloc COMMENT = 'changed again'")
				if got := maxID(t, admin, "naïve 'tag' \\ 主"); got != 1018 {
					t.Errorf("max_id is %d, want 1018", got)
				}
			})
		}
	})
}

// A refused Take changes nothing, so that tries of refusing processes do not raise a counter that was set back into
// numbers that others have received.
func TestTableSetBackChangesNothing(t *testing.T) {
	onEachServer(t, func(t *testing.T, start startFunc) {
		_, db := database(t, start(t))
		source := sqlstore.New(db)
		insertTag(db, "a", 100, 10)
		mustTake(t, source, segment.Request{Tag: "a"}, rangeOf(100, 10, 10))
		db.MustExec("UPDATE leaf_alloc SET max_id = 50")
		for range 20 {
			_, err := source.Take(t.Context(), segment.Request{Tag: "a", AtLeast: 110})
			var back *segment.SetBackError
			if !errors.As(err, &back) || *back != (segment.SetBackError{Tag: "a", Counter: 50, AtLeast: 110}) {
				t.Fatalf("Take() = %v, want a SetBackError", err)
			}
		}
		if got := maxID(t, db, "a"); got != 50 {
			t.Errorf("max_id is %d after refused Takes, want 50", got)
		}
		db.MustExec("UPDATE leaf_alloc SET max_id = 111")
		mustTake(t, source, segment.Request{Tag: "a", AtLeast: 110}, rangeOf(111, 10, 10))
	})
}

// At the end of 63 bits the last range is shorter, and then there are no numbers left. Nothing overflows.
func TestTableLastNumbers(t *testing.T) {
	onEachServer(t, func(t *testing.T, start startFunc) {
		_, db := database(t, start(t))
		source := sqlstore.New(db)
		for _, size := range []int64{0, 10, segment.MaxStep} {
			db.MustExec("DELETE FROM leaf_alloc")
			insertTag(db, "a", int64(math.MaxInt64-7), 10)
			mustTake(t, source, segment.Request{Tag: "a", Size: size, AtLeast: math.MaxInt64 - 7}, rangeOf(math.MaxInt64-7, 7, 10))
			for range 2 {
				if _, err := source.Take(t.Context(), segment.Request{Tag: "a", Size: size, AtLeast: math.MaxInt64}); !errors.Is(err, segment.ErrExhausted) {
					t.Errorf("Take() = %v, want ErrExhausted", err)
				}
			}
			if got := maxID(t, db, "a"); got != math.MaxInt64 {
				t.Errorf("max_id is %d, want %d", got, int64(math.MaxInt64))
			}
		}
		db.MustExec("UPDATE leaf_alloc SET max_id = ?", int64(math.MaxInt64-10)) // exactly a step is left
		mustTake(t, source, segment.Request{Tag: "a"}, rangeOf(math.MaxInt64-10, 10, 10))
		db.MustExec("UPDATE leaf_alloc SET max_id = 0") // the row says so
		mustTake(t, source, segment.Request{Tag: "a"}, rangeOf(0, 10, 10))
		insertTag(db, "b", 1, int64(segment.MaxStep))
		mustTake(t, source, segment.Request{Tag: "b"}, rangeOf(1, segment.MaxStep, segment.MaxStep))
	})
}
