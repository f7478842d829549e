package sqlstore

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ringuid/ringuid/segment"
)

// The bounds of the values in a row.
func TestTableRowBounds(t *testing.T) {
	for _, version := range []string{FakeMariaDB, FakePostgres} {
		for name, tt := range map[string]struct {
			maxID, step any
			typeName    string
			first       int64 // of the range; -1: refused
			length      int64
			is          error
			want        string
		}{
			"max_id 0":             {maxID: 0, step: 10, first: 0, length: 10},
			"max_id -1":            {maxID: -1, step: 10, first: -1, is: segment.ErrSource, want: "is -1"},
			"step 0":               {maxID: 7, step: 0, first: -1, is: segment.ErrSource, want: "is 0"},
			"step 1":               {maxID: 7, step: 1, first: 7, length: 1},
			"the greatest step":    {maxID: 7, step: int64(segment.MaxStep), first: 7, length: segment.MaxStep},
			"step too great":       {maxID: 7, step: int64(segment.MaxStep) + 1, first: -1, is: segment.ErrSource, want: "must be 1 to"},
			"max_id NULL":          {maxID: nil, step: 10, first: -1, is: segment.ErrSource, want: "max_id of the tag \"a\" in table leaf_alloc is NULL"},
			"step NULL":            {maxID: 7, step: nil, first: -1, is: segment.ErrSource, want: "step of the tag \"a\" in table leaf_alloc is NULL"},
			"text":                 {maxID: "7", step: 10, typeName: "VARCHAR", first: -1, is: segment.ErrSource, want: "the column max_id of table leaf_alloc is VARCHAR"},
			"text, no type":        {maxID: "7", step: 10, first: -1, is: segment.ErrSource, want: "is another type"},
			"unsigned":             {maxID: uint64(math.MaxInt64), step: 10, first: -1, is: segment.ErrExhausted},
			"unsigned, too great":  {maxID: uint64(math.MaxInt64) + 1, step: 10, first: -1, is: segment.ErrSource, want: "9223372036854775808"},
			"one step left":        {maxID: int64(math.MaxInt64 - 10), step: 10, first: math.MaxInt64 - 10, length: 10},
			"less than a step":     {maxID: int64(math.MaxInt64 - 9), step: 10, first: math.MaxInt64 - 9, length: 9},
			"one number left":      {maxID: int64(math.MaxInt64 - 1), step: 10, first: math.MaxInt64 - 1, length: 1},
			"no number left":       {maxID: int64(math.MaxInt64), step: 10, first: -1, is: segment.ErrExhausted},
			"one step of one left": {maxID: int64(math.MaxInt64 - 1), step: 1, first: math.MaxInt64 - 1, length: 1},
		} {
			for n, size := range []int64{0, 10, 0, 10} {
				synctest.Test(t, func(t *testing.T) {
					table, server, _ := newFakeTable(t, version)
					server.Type, server.HidesID = tt.typeName, n >= 2
					server.Set("a", tt.maxID, tt.step)
					got, err := table.Take(t.Context(), segment.Request{Tag: "a", Size: size})
					length := tt.length
					if size > 0 && (name == "step 1" || name == "the greatest step") {
						length = size
					}
					switch {
					case tt.first >= 0:
						if err != nil || got.First != tt.first || got.Length != length {
							t.Errorf("%s: Take of %d = %+v, %v; want %d numbers from %d on", name, size, got, err, length, tt.first)
						}
					case !errors.Is(err, tt.is), !strings.Contains(err.Error(), tt.want):
						t.Errorf("%s: Take of %d = %+v, %v; want %v with %q", name, size, got, err, tt.is, tt.want)
					}
					if err != nil {
						if r := server.Rows()[0]; r.MaxID != fakeValue(tt.maxID) {
							t.Errorf("%s: a Take that was refused has set max_id to %v", name, r.MaxID)
						}
					}
					wantNoLock(t, server)
				})
			}
		}
	}
}

// wantNoLock fails the test if a connection has changed rows and not ended its transaction.
func wantNoLock(t *testing.T, server *FakeServer) {
	t.Helper()
	if len(server.lock) > 0 {
		t.Error("a transaction is still open")
	}
}

// A counter that is exactly AtLeast is taken from, and one below it is refused, whether the size is the row's or not.
func TestTableAtLeast(t *testing.T) {
	for _, version := range []string{FakeMariaDB, FakeTiDB, FakePostgres} {
		for _, hidesID := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				table, server, _ := newFakeTable(t, version)
				server.HidesID = hidesID
				wantTaken(t, table, segment.Request{AtLeast: 7}, 7, 10)
				wantTaken(t, table, segment.Request{AtLeast: 17, Size: 3}, 17, 3)
				for _, size := range []int64{0, 3, 10} {
					var back *segment.SetBackError
					_, err := table.Take(t.Context(), segment.Request{Tag: "a", AtLeast: 21, Size: size})
					if !errors.As(err, &back) || back.Counter != 20 || back.AtLeast != 21 || back.Tag != "a" {
						t.Errorf("Take beyond the counter = %v, want a SetBackError", err)
					}
					if _, err := table.Take(t.Context(), segment.Request{Tag: "b", Size: size}); !errors.Is(err, segment.ErrNoTag) {
						t.Errorf("Take of an unknown tag = %v", err)
					}
				}
				wantTaken(t, table, segment.Request{AtLeast: 20}, 20, 10)
				wantNoLock(t, server)
			})
		}
	}
}

// A node of a Galera cluster waits for what other nodes have acknowledged, before it refuses a tag.
func TestTableSynchronizesNode(t *testing.T) {
	for _, tt := range []struct{ version, wait string }{
		{FakeMariaDB, "SET STATEMENT wsrep_sync_wait = 1 FOR SELECT"}, {FakeMySQL, "SELECT /*+ SET_VAR(wsrep_sync_wait = 1) */ CAST"}, {FakeTiDB, ""}, {FakePostgres, ""},
	} {
		for _, cluster := range []bool{false, true} {
			for _, missing := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					table, server, _ := newFakeTable(t, tt.version)
					server.Cluster = cluster
					r := segment.Request{Tag: "a", AtLeast: 100, Size: 5}
					if missing {
						r.Tag = "b"
					}
					waits := 0
					server.After = func(_ context.Context, s string) error {
						if tt.wait != "" && strings.HasPrefix(s, tt.wait) {
							if len(server.lock) > 0 {
								t.Error("the node waits in a transaction that has changed rows")
							}
							if waits++; waits == 1 {
								server.Set(r.Tag, 100, 10)
							}
						}
						return nil
					}
					got, err := table.Take(t.Context(), r)
					if cluster && tt.wait != "" {
						if err != nil || got.First != 100 || got.Length != 5 || waits != 1 {
							t.Errorf("Take from a node of %s that was behind = %+v, %v, after %d waits", tt.version, got, err, waits)
						}
						if _, err := table.Take(t.Context(), segment.Request{Tag: "c"}); !errors.Is(err, segment.ErrNoTag) || waits != 2 {
							t.Errorf("Take of an unknown tag = %v after %d waits, want ErrNoTag after another one", err, waits-1)
						}
					} else if !errors.Is(err, segment.ErrSetBack) && !errors.Is(err, segment.ErrNoTag) || waits > 0 {
						t.Errorf("Take = %+v, %v, want it to be refused", got, err)
					}
					wantNoLock(t, server)
				})
			}
		}
	}
}

// The last error of a node that cannot wait is that of the driver.
func TestTableSynchronizationFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, statement := range []string{"SHOW GLOBAL VARIABLES", "SET STATEMENT"} {
			table, server, _ := newFakeTable(t, FakeMariaDB)
			server.Cluster = true
			server.Before = failAt(statement, 1, errors.New("no answer"))
			if _, err := table.Take(t.Context(), segment.Request{Tag: "a", AtLeast: 100}); err == nil || !strings.Contains(err.Error(), "no answer") || errors.Is(err, segment.ErrSetBack) {
				t.Errorf("Take whose %s fails = %v", statement, err)
			}
		}
	})
}

// A row that does not change although it allows that is tried again ten times, and then refused. That is so for the last
// numbers too.
func TestTableRowDoesNotChange(t *testing.T) {
	for _, version := range []string{FakeMariaDB, FakePostgres} {
		for _, counter := range []int64{7, math.MaxInt64 - 3} {
			synctest.Test(t, func(t *testing.T) {
				table, server, _ := newFakeTable(t, version)
				server.Set("a", counter, 10)
				server.Ignore = func(string) bool { return true }
				for _, size := range []int64{0, 10} {
					begin := time.Now()
					_, err := table.Take(t.Context(), segment.Request{Tag: "a", Size: size})
					if !errors.Is(err, segment.ErrSource) || !strings.Contains(err.Error(), "not changed") || time.Since(begin) > 0 {
						t.Errorf("Take = %v, want ErrSource", err)
					}
					n, want := countOf(server.Statements(), "UPDATE"), 11
					if counter > 7 {
						want = 22 // the last numbers are another UPDATE
					}
					if n != want {
						t.Errorf("%d UPDATEs were sent, want %d", n, want)
					}
				}
				times := 0
				server.Ignore = func(string) bool { times++; return times <= 10 }
				if got, err := table.Take(t.Context(), segment.Request{Tag: "a"}); err != nil || got.First != counter {
					t.Errorf("Take of a row that changes at the end = %+v, %v", got, err)
				}
				wantNoLock(t, server)
			})
		}
	}
}

// A trigger that changes what was set is noticed. Nothing is committed, except by the single statement of PostgreSQL.
func TestTableTrigger(t *testing.T) {
	for _, version := range []string{FakeMariaDB, FakePostgres} {
		for _, hidesID := range []bool{false, true} {
			for name, trigger := range map[string]func(*FakeRow){
				"less":      func(r *FakeRow) { r.MaxID = r.MaxID.(int64) - 1 },
				"more":      func(r *FakeRow) { r.MaxID = r.MaxID.(int64) + 1 },
				"step":      func(r *FakeRow) { r.Step = r.Step.(int64) * 2 },
				"no number": func(r *FakeRow) { r.MaxID = nil },
			} {
				for _, counter := range []int64{7, math.MaxInt64 - 3} {
					synctest.Test(t, func(t *testing.T) {
						table, server, _ := newFakeTable(t, version)
						server.Set("a", counter, 10)
						server.HidesID = hidesID
						server.Trigger = trigger
						if name == "more" && counter > 7 {
							return // there is no greater number
						}
						got, err := table.Take(t.Context(), segment.Request{Tag: "a"})
						if name == "step" && counter > 7 {
							return // the last numbers do not depend on the step
						}
						if !errors.Is(err, segment.ErrSource) {
							t.Errorf("%s, counter %d, on %s: Take = %+v, %v; want ErrSource", name, counter, version, got, err)
						}
						if r := server.Rows()[0]; r.MaxID != counter && version != FakePostgres {
							t.Errorf("%s, counter %d, on %s: the trigger's max_id was committed: %+v", name, counter, version, r)
						}
						wantNoLock(t, server)
					})
				}
			}
		}
	}
}

// CreateTag checks the row that it has inserted, and says which row is in its way.
func TestTableCreateTag(t *testing.T) {
	for _, version := range []string{FakeMariaDB, FakePostgres} {
		synctest.Test(t, func(t *testing.T) {
			table, server, _ := newFakeTable(t, version)
			if err := table.CreateTag(t.Context(), "b", segment.TagConfig{Start: 100, Step: 5, Description: "tickets of “Ü”"}); err != nil {
				t.Fatal(err)
			}
			if r := server.Rows()[1]; r != (FakeRow{"b", int64(100), int64(5), "tickets of “Ü”"}) {
				t.Errorf("the row is %+v", r)
			}
			if err := table.CreateTag(t.Context(), "c", segment.TagConfig{}); err != nil {
				t.Fatal(err)
			}
			if r := server.Rows()[2]; r != (FakeRow{"c", int64(1), int64(segment.DefaultStep), nil}) {
				t.Errorf("the row is %+v", r)
			}
			if err := table.CreateTag(t.Context(), "b", segment.TagConfig{}); !errors.Is(err, segment.ErrTagExists) || !strings.Contains(err.Error(), `"b"`) {
				t.Errorf("CreateTag of a tag that exists = %v", err)
			}
			server.Folds = true
			if err := table.CreateTag(t.Context(), "B", segment.TagConfig{}); !errors.Is(err, segment.ErrTag) || errors.Is(err, segment.ErrTagExists) || !strings.Contains(err.Error(), `"b"`) {
				t.Errorf("CreateTag of a tag that the collation does not distinguish = %v", err)
			}
			if _, err := table.Take(t.Context(), segment.Request{Tag: "B"}); !errors.Is(err, segment.ErrNoTag) || !strings.Contains(err.Error(), `"b"`) {
				t.Errorf("Take of a tag that the collation does not distinguish = %v", err)
			}
			for name, trigger := range map[string]func(*FakeRow){
				"max_id": func(r *FakeRow) { r.MaxID = int64(1) }, "step": func(r *FakeRow) { r.Step = int64(1) }, "NULL": func(r *FakeRow) { r.Step = nil },
			} {
				server.Trigger = trigger
				if err := table.CreateTag(t.Context(), "d", segment.TagConfig{Start: 50, Step: 20}); !errors.Is(err, segment.ErrSource) {
					t.Errorf("CreateTag with a trigger that changes %s = %v, want ErrSource", name, err)
				}
			}
			if n := len(server.Rows()); n != 3 {
				t.Errorf("the table has %d rows, want 3", n)
			}
			wantNoLock(t, server)
		})
	}
}

// If a row is in the way of CreateTag and is deleted before it can be read, CreateTag tries again.
func TestTableCreateTagOfDeletedRow(t *testing.T) {
	for version, duplicate := range map[string]error{FakeMariaDB: &mysql.MySQLError{Number: 1062}, FakePostgres: FakeState("23505")} {
		synctest.Test(t, func(t *testing.T) {
			table, server, _ := newFakeTable(t, version)
			server.Before = failAt("INSERT", 10, duplicate)
			if err := table.CreateTag(t.Context(), "b", segment.TagConfig{}); err != nil {
				t.Errorf("CreateTag = %v", err)
			}
			server.Before = failAt("INSERT", 1000, duplicate)
			server.Statements()
			if err := table.CreateTag(t.Context(), "c", segment.TagConfig{}); !errors.Is(err, segment.ErrSource) {
				t.Errorf("CreateTag = %v, want ErrSource", err)
			}
			if n := countOf(server.Statements(), "INSERT"); n != 11 {
				t.Errorf("%d INSERTs were sent, want 11", n)
			}
			wantNoLock(t, server)
		})
	}
}

// PostgreSQL acknowledges a commit that the driver has canceled: the Take fails then, because the numbers may be lost.
func TestTablePostgresCanceledCommit(t *testing.T) {
	for _, conflict := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			table, server, _ := newFakeTable(t, FakePostgres)
			if conflict {
				server.Before = failAt("UPDATE", 1, FakeState("40001"))
			}
			ctx, cancel := context.WithCancel(t.Context())
			server.After = func(_ context.Context, s string) error {
				if s == "COMMIT" || strings.HasPrefix(s, "SELECT txid") {
					cancel()
				}
				return nil
			}
			if got, err := table.Take(ctx, segment.Request{Tag: "a"}); !errors.Is(err, context.Canceled) {
				t.Errorf("Take whose context ended during the commit = %+v, %v; want the error of the context", got, err)
			}
			server.After = nil
			wantTaken(t, table, segment.Request{}, 17, 10)
		})
	}
}

// A connection on which its last user has left a transaction open is closed, and another one is used: its numbers would
// be rolled back.
func TestTableOpenTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, server, db := newFakeTable(t, FakePostgres)
		if _, err := db.ExecContext(t.Context(), "START TRANSACTION ISOLATION LEVEL READ COMMITTED"); err != nil {
			t.Fatal(err)
		}
		wantTaken(t, table, segment.Request{}, 7, 10)
		if opened, closed := server.Connections(); opened != 2 || closed != 1 {
			t.Errorf("%d connections were opened and %d closed", opened, closed)
		}
		wantTaken(t, table, segment.Request{}, 17, 10)
		// If each connection is such, the error says why.
		server.LeftOpen = true
		if _, err := table.Take(t.Context(), segment.Request{Tag: "a"}); err == nil || !strings.Contains(err.Error(), "commit or roll back whatever begins a transaction") {
			t.Errorf("Take on connections with open transactions = %v", err)
		}
	})
}
