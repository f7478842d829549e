package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/go-sql-driver/mysql"

	"github.com/ringuid/ringuid/internal/testkit/fakedb"
	"github.com/ringuid/ringuid/segment"
)

// newMockTags returns a Store on a mock of a MariaDB server, for use in a synctest bubble.
func newMockTags(t *testing.T, opts ...Option) (*Store, sqlmock.Sqlmock) {
	t.Helper()
	db, m, _ := fakedb.Mock(t, sqlmock.QueryMatcherEqual)
	m.ExpectQuery("SELECT VERSION()").WillReturnRows(sqlmock.NewRows([]string{"v"}).AddRow("10.11.6-MariaDB"))
	m.ExpectQuery("SELECT ENGINE FROM information_schema.TABLES WHERE ENGINE <> 'InnoDB' AND TABLE_SCHEMA = DATABASE()" +
		" AND TABLE_NAME = _utf8mb4 X'6c6561665f616c6c6f63'").WillReturnRows(sqlmock.NewRows([]string{"ENGINE"}))
	return New(db, opts...), m
}

// The statements of a Take of the tag "a", whose numbers are literals, after the row was found with max_id 7 and step
// 10.
const (
	mockWhere  = " WHERE biz_tag = _utf8mb4 X'61' AND CAST(CONVERT(biz_tag USING utf8mb4) AS BINARY) = CAST(_utf8mb4 X'61' AS BINARY)"
	mockUpdate = "UPDATE `leaf_alloc` SET max_id = LAST_INSERT_ID(max_id + 1) + 9" + mockWhere + " AND step = 10 AND max_id BETWEEN 7 AND 9223372036854775797"
	mockSize   = "UPDATE `leaf_alloc` SET max_id = LAST_INSERT_ID(max_id + 1) + 9" + mockWhere + " AND step BETWEEN 1 AND 1099511627776 AND max_id BETWEEN 7 AND 9223372036854775797"
	mockSelect = "SELECT CAST(CONVERT(biz_tag USING utf8mb4) AS BINARY), max_id, step FROM `leaf_alloc` WHERE biz_tag = _utf8mb4 X'61'"
	mockCAS    = "UPDATE `leaf_alloc` SET max_id = 17" + mockWhere + " AND max_id = 7 AND step = 10"
)

// expectUpdate expects a Take of a range of the row's step, up to the UPDATE.
func expectUpdate(m sqlmock.Sqlmock) *sqlmock.ExpectedExec {
	m.ExpectQuery(mockSelect).WithoutArgs().WillReturnRows(mockRows(7, 10))
	expectBegin(m)
	return m.ExpectExec(mockUpdate).WithoutArgs()
}

func expectBegin(m sqlmock.Sqlmock) {
	m.ExpectExec("START TRANSACTION").WillReturnResult(sqlmock.NewResult(0, 0))
}

func expectRollback(m sqlmock.Sqlmock) {
	m.ExpectExec("ROLLBACK AND NO CHAIN NO RELEASE").WillReturnResult(sqlmock.NewResult(0, 0))
}

func expectCommit(m sqlmock.Sqlmock) *sqlmock.ExpectedExec {
	return m.ExpectExec("COMMIT AND NO CHAIN NO RELEASE").WillReturnResult(sqlmock.NewResult(0, 0))
}

// mockRows returns the row.
func mockRows(maxID, step any) *sqlmock.Rows {
	return sqlmock.NewRows([]string{"biz_tag", "max_id", "step"}).AddRow("a", maxID, step)
}

// A Take is one transaction with exactly these statements, and its range is Leaf's. A conflict that the server has
// rolled back, also at the COMMIT, is tried again. No other error after the COMMIT was sent is tried again.
func TestTableStatements(t *testing.T) {
	r := segment.Request{Tag: "a", AtLeast: 7}
	conflict := &mysql.MySQLError{Number: 1213, Message: "conflict"}
	want := segment.Range{First: 7, Length: 10, Stride: 1, Step: 10}
	synctest.Test(t, func(t *testing.T) {
		table, m := newMockTags(t)
		expectUpdate(m).WillReturnError(conflict)
		expectRollback(m)
		for n := range 2 {
			expectUpdate(m).WillReturnResult(sqlmock.NewResult(8, 1))
			m.ExpectQuery(mockSelect).WithoutArgs().WillReturnRows(mockRows(17, 10))
			commit := expectCommit(m)
			if n == 0 {
				commit.WillReturnError(conflict)
				expectRollback(m)
			}
		}
		if got, err := table.Take(context.Background(), r); err != nil || got != want {
			t.Errorf("Take() = %+v, %v", got, err)
		}
	})
	synctest.Test(t, func(t *testing.T) { // of another size than the step, which is not read before
		table, m := newMockTags(t)
		expectBegin(m)
		m.ExpectExec(mockSize).WithoutArgs().WillReturnResult(sqlmock.NewResult(8, 1))
		m.ExpectQuery(mockSelect).WithoutArgs().WillReturnRows(mockRows(17, 30))
		expectCommit(m)
		if got, err := table.Take(context.Background(), segment.Request{Tag: "a", AtLeast: 7, Size: 10}); err != nil || got != (segment.Range{First: 7, Length: 10, Stride: 1, Step: 30}) {
			t.Errorf("Take() = %+v, %v", got, err)
		}
	})
	for _, lost := range []error{mysql.ErrInvalidConn, &mysql.MySQLError{Number: 1053}, errors.New("unknown")} {
		synctest.Test(t, func(t *testing.T) {
			table, m := newMockTags(t)
			expectUpdate(m).WillReturnResult(sqlmock.NewResult(8, 1))
			m.ExpectQuery(mockSelect).WillReturnRows(mockRows(17, 10))
			expectCommit(m).WillReturnError(lost)
			if got, err := table.Take(context.Background(), r); err == nil || got != (segment.Range{}) || !errors.Is(err, lost) {
				t.Errorf("Take() = %+v, %v; want %v", got, err, lost)
			}
		})
	}
}

// When the server was replaced by one of another kind, which refuses a statement, the next Take asks which one it is.
func TestTableOfAnotherServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, m := newMockTags(t)
		m.ExpectQuery(mockSelect).WithoutArgs().WillReturnError(&mysql.MySQLError{Number: 1064, Message: "syntax"})
		if _, err := table.Take(t.Context(), segment.Request{Tag: "a"}); err == nil {
			t.Fatalf("Take on a server that refuses the statement = %v", err)
		}
		m.ExpectQuery("SELECT VERSION()").WillReturnError(errors.New("asked again"))
		if _, err := table.Take(t.Context(), segment.Request{Tag: "a"}); err == nil || !strings.Contains(err.Error(), "asked again") {
			t.Errorf("the next Take = %v; want the answer to the question for the version", err)
		}
	})
}

// If the reply to the UPDATE does not have what it has found, or if the row afterwards is not what it should be, the
// Take is rolled back, and this one and all later ones compare what they have read.
func TestTableComparesCounter(t *testing.T) {
	for name, tt := range map[string]struct {
		result driver.Result
		maxID  int64
	}{
		"no insert ID": {sqlmock.NewResult(0, 1), 17}, "not supported": {driver.RowsAffected(1), 17}, "a trigger's": {sqlmock.NewResult(3, 1), 17},
		"another server": {sqlmock.NewResult(8, 1), 7}, "no insert ID, another server": {sqlmock.NewResult(0, 1), 9}, "the row of another process": {sqlmock.NewResult(8, 1), 27},
	} {
		synctest.Test(t, func(t *testing.T) {
			table, m := newMockTags(t)
			expectUpdate(m).WillReturnResult(tt.result)
			m.ExpectQuery(mockSelect).WillReturnRows(mockRows(tt.maxID, 10))
			expectRollback(m)
			for range 2 {
				expectBegin(m)
				m.ExpectQuery(mockSelect + " FOR UPDATE").WithoutArgs().WillReturnRows(mockRows(7, 10))
				m.ExpectExec(mockCAS).WithoutArgs().WillReturnResult(sqlmock.NewResult(0, 1))
				m.ExpectQuery(mockSelect).WithoutArgs().WillReturnRows(mockRows(17, 10))
				expectCommit(m)
				if got, err := table.Take(context.Background(), segment.Request{Tag: "a", AtLeast: 7}); err != nil || got != (segment.Range{First: 7, Length: 10, Stride: 1, Step: 10}) {
					t.Errorf("%s: Take() = %+v, %v", name, got, err)
				}
			}
		})
	}
}

// If the row after the UPDATE is not what the UPDATE has set, the range is refused and rolled back.
func TestTableReadsWhatItSet(t *testing.T) {
	for name, rows := range map[string]func() *sqlmock.Rows{
		"another counter": func() *sqlmock.Rows { return mockRows(27, 10) },
		"too low":         func() *sqlmock.Rows { return mockRows(16, 10) },
		"two rows":        func() *sqlmock.Rows { return mockRows(17, 10).AddRow("a", 17, 10) },
		"no row":          func() *sqlmock.Rows { return sqlmock.NewRows([]string{"biz_tag", "max_id", "step"}) },
		"text":            func() *sqlmock.Rows { return mockRows("17", 10) },
		"a fraction":      func() *sqlmock.Rows { return mockRows(17.0, 10) },
		"NULL":            func() *sqlmock.Rows { return mockRows(17, nil) },
		"step 0":          func() *sqlmock.Rows { return mockRows(17, 0) },
		"negative":        func() *sqlmock.Rows { return mockRows(-17, 10) },
		"another step":    func() *sqlmock.Rows { return mockRows(17, 20) },
	} {
		for _, compares := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				table, m := newMockTags(t)
				if !compares {
					expectUpdate(m).WillReturnResult(sqlmock.NewResult(8, 1))
					m.ExpectQuery(mockSelect).WillReturnRows(rows())
					expectRollback(m)
				}
				if compares || name == "another counter" || name == "too low" {
					table.tags.noIDs = compares
					expectBegin(m)
					m.ExpectQuery(mockSelect + " FOR UPDATE").WillReturnRows(mockRows(7, 10))
					m.ExpectExec(mockCAS).WillReturnResult(sqlmock.NewResult(0, 1))
					m.ExpectQuery(mockSelect).WillReturnRows(rows())
					expectRollback(m)
				}
				got, err := table.Take(context.Background(), segment.Request{Tag: "a", AtLeast: 7})
				if got != (segment.Range{}) || !errors.Is(err, segment.ErrSource) && !errors.Is(err, segment.ErrNoTag) {
					t.Errorf("%s: Take() = %+v, %v; want an error", name, got, err)
				}
			})
		}
	}
}

// Invalid arguments are reported by the methods, without the use of the database.
func TestTableOptions(t *testing.T) {
	db, _, err := sqlmock.New()
	if err != nil {
		t.Fatal(err)
	}
	for name, table := range map[string]*Store{
		"nil": nil, "zero": {}, "no database": New(nil), "nil database": New((*sql.DB)(nil)), "nil option": New(db, nil),
		"no name": New(db, WithTagTable("")), "dots": New(db, WithTagTable("a.b.c")),
		"no timeout": New(db, WithAttemptTimeout(0)), "negative timeout": New(db, WithAttemptTimeout(-time.Second)),
	} {
		if _, err := table.Take(t.Context(), segment.Request{Tag: "a"}); !errors.Is(err, segment.ErrOption) || !strings.HasPrefix(err.Error(), "segment: ") {
			t.Errorf("%s: Take() = %v, want ErrOption", name, err)
		}
		if err := table.CreateTag(t.Context(), "a", segment.TagConfig{}); !errors.Is(err, segment.ErrOption) {
			t.Errorf("%s: CreateTag() = %v, want ErrOption", name, err)
		}
		if table.String() == "" {
			t.Errorf("%s has no description", name)
		}
	}
}

// Errors of the driver match none of this package's errors.
func TestTableDriverErrors(t *testing.T) {
	for _, own := range tagErrors() {
		synctest.Test(t, func(t *testing.T) {
			table, m := newMockTags(t)
			expectUpdate(m).WillReturnError(fmt.Errorf("a dialer's: %w", own))
			if _, err := table.Take(context.Background(), segment.Request{Tag: "a", AtLeast: 7}); err == nil || errors.Is(err, own) || !strings.Contains(err.Error(), "a dialer's") {
				t.Errorf("Take() = %v, want an error that is not %v", err, own)
			}
		})
	}
}

// The description has the names of the tables and of the server, and never a password. Errors of tags name their table.
func TestStoreString(t *testing.T) {
	db, err := sql.Open("mysql", "user:very-secret@tcp(127.0.0.1:3307)/leaf")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	store := New(db, WithServerName("127.0.0.1:3307"))
	if s, tags := store.String(), store.tags.String(); s != "tables WORKER_POOL, WORKER_SLOT and leaf_alloc at 127.0.0.1:3307" || tags != "table leaf_alloc at 127.0.0.1:3307" {
		t.Errorf("String = %q; of the tags %q", s, tags)
	}
	if s := New(db, WithTagTable("other"), WithAttemptTimeout(0)).String(); s != "tables WORKER_POOL, WORKER_SLOT and other" {
		t.Errorf("String with an invalid option = %q", s)
	}
}
