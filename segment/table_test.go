package segment

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/go-sql-driver/mysql"
)

// newMockTable returns a Table on a mock of a MariaDB server, for use in a synctest bubble.
func newMockTable(t *testing.T, opts ...TableOption) (*Table, sqlmock.Sqlmock) {
	t.Helper()
	db, m, err := sqlmock.New(sqlmock.QueryMatcherOption(sqlmock.QueryMatcherEqual))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := db.Conn(context.Background()) // the mock ends if its last connection is closed
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.ExpectationsWereMet(); err != nil {
			t.Error(err)
		}
		m.ExpectClose()
		kept.Close()
		db.Close()
	})
	m.ExpectQuery("SELECT VERSION()").WillReturnRows(sqlmock.NewRows([]string{"v"}).AddRow("10.11.6-MariaDB"))
	m.ExpectQuery("SELECT ENGINE FROM information_schema.TABLES WHERE ENGINE <> 'InnoDB' AND TABLE_SCHEMA = DATABASE()" +
		" AND TABLE_NAME = _utf8mb4 X'6c6561665f616c6c6f63'").WillReturnRows(sqlmock.NewRows([]string{"ENGINE"}))
	return NewTable(db, opts...), m
}

// The statements of a Take of the tag "a", whose numbers are literals.
const (
	mockUpdate = "UPDATE `leaf_alloc` SET max_id = LAST_INSERT_ID(max_id + 1) + (step - 1) WHERE biz_tag = _utf8mb4 X'61'" +
		" AND CAST(CONVERT(biz_tag USING utf8mb4) AS BINARY) = CAST(_utf8mb4 X'61' AS BINARY) AND max_id >= 7" +
		" AND CASE WHEN step BETWEEN 1 AND 1099511627776 THEN max_id <= 9223372036854775807 - step ELSE FALSE END"
	mockSelect = "SELECT CAST(CONVERT(biz_tag USING utf8mb4) AS BINARY), max_id, step, LAST_INSERT_ID() FROM `leaf_alloc` WHERE biz_tag = _utf8mb4 X'61'"
)

func expectUpdate(m sqlmock.Sqlmock) *sqlmock.ExpectedExec {
	m.ExpectExec("START TRANSACTION").WillReturnResult(sqlmock.NewResult(0, 0))
	return m.ExpectExec(mockUpdate).WithoutArgs()
}

// mockRows returns the row after an UPDATE that has found 7 as max_id.
func mockRows(maxID, step any) *sqlmock.Rows {
	return sqlmock.NewRows([]string{"biz_tag", "max_id", "step", "before"}).AddRow("a", maxID, step, 8)
}

// A Take is one transaction with exactly these statements, and its range is Leaf's. A conflict that the server has rolled
// back, also at the COMMIT, is tried again. No other error after the COMMIT was sent is tried again.
func TestTableStatements(t *testing.T) {
	r := Request{Tag: "a", AtLeast: 7}
	conflict := &mysql.MySQLError{Number: 1213, Message: "conflict"}
	synctest.Test(t, func(t *testing.T) {
		table, m := newMockTable(t)
		expectUpdate(m).WillReturnError(conflict)
		m.ExpectExec("ROLLBACK AND NO CHAIN NO RELEASE").WillReturnResult(sqlmock.NewResult(0, 0))
		for n := range 2 {
			expectUpdate(m).WillReturnResult(sqlmock.NewResult(0, 1))
			m.ExpectQuery(mockSelect).WithoutArgs().WillReturnRows(mockRows(17, 10))
			commit := m.ExpectExec("COMMIT AND NO CHAIN NO RELEASE").WillReturnResult(sqlmock.NewResult(0, 0))
			if n == 0 {
				commit.WillReturnError(conflict)
				m.ExpectExec("ROLLBACK AND NO CHAIN NO RELEASE").WillReturnResult(sqlmock.NewResult(0, 0))
			}
		}
		if got, err := table.Take(context.Background(), r); err != nil || got != (Range{First: 7, Length: 10, Stride: 1, Step: 10}) {
			t.Errorf("Take() = %+v, %v", got, err)
		}
	})
	for _, lost := range []error{mysql.ErrInvalidConn, &mysql.MySQLError{Number: 1053}, errors.New("unknown")} {
		synctest.Test(t, func(t *testing.T) {
			table, m := newMockTable(t)
			expectUpdate(m).WillReturnResult(sqlmock.NewResult(0, 1))
			m.ExpectQuery(mockSelect).WillReturnRows(mockRows(17, 10))
			m.ExpectExec("COMMIT AND NO CHAIN NO RELEASE").WillReturnError(lost)
			if got, err := table.Take(context.Background(), r); err == nil || got != (Range{}) || !errors.Is(err, lost) {
				t.Errorf("Take() = %+v, %v; want %v", got, err, lost)
			}
		})
	}
}

// If the row after the UPDATE is not what the UPDATE has set, the range is refused and rolled back.
func TestTableReadsWhatItSet(t *testing.T) {
	for name, rows := range map[string]*sqlmock.Rows{
		"another counter": mockRows(27, 10), "too low": mockRows(16, 10), "two rows": mockRows(17, 10).AddRow("a", 17, 10, 8),
		"no row": sqlmock.NewRows([]string{"biz_tag", "max_id", "step", "before"}), "text": mockRows("17", 10), "a fraction": mockRows(17.0, 10),
		"NULL": mockRows(17, nil), "step 0": mockRows(17, 0), "negative": mockRows(-17, 10),
		"another step": mockRows(17, 20), "another session": sqlmock.NewRows([]string{"biz_tag", "max_id", "step", "before"}).AddRow("a", 17, 10, 0),
	} {
		synctest.Test(t, func(t *testing.T) {
			table, m := newMockTable(t)
			expectUpdate(m).WillReturnResult(sqlmock.NewResult(0, 1))
			m.ExpectQuery(mockSelect).WillReturnRows(rows)
			m.ExpectExec("ROLLBACK AND NO CHAIN NO RELEASE").WillReturnResult(sqlmock.NewResult(0, 0))
			got, err := table.Take(context.Background(), Request{Tag: "a", AtLeast: 7})
			if got != (Range{}) || !errors.Is(err, ErrSource) && !errors.Is(err, ErrNoTag) {
				t.Errorf("%s: Take() = %+v, %v; want an error", name, got, err)
			}
		})
	}
}

// Invalid arguments are reported by the methods, without the use of the database.
func TestTableOptions(t *testing.T) {
	db, _, err := sqlmock.New()
	if err != nil {
		t.Fatal(err)
	}
	for name, table := range map[string]*Table{
		"nil": nil, "zero": {}, "no database": NewTable(nil), "nil database": NewTable((*sql.DB)(nil)), "nil option": NewTable(db, nil),
		"no name": NewTable(db, WithTable("")), "dots": NewTable(db, WithTable("a.b.c")),
		"no timeout": NewTable(db, WithAttemptTimeout(0)), "negative timeout": NewTable(db, WithAttemptTimeout(-time.Second)),
	} {
		if _, err := table.Take(t.Context(), Request{Tag: "a"}); !errors.Is(err, ErrOption) || !strings.HasPrefix(err.Error(), "segment: ") {
			t.Errorf("%s: Take() = %v, want ErrOption", name, err)
		}
		if err := table.CreateTag(t.Context(), "a", TagConfig{}); !errors.Is(err, ErrOption) {
			t.Errorf("%s: CreateTag() = %v, want ErrOption", name, err)
		}
		if table.String() == "" {
			t.Errorf("%s has no description", name)
		}
	}
}

// Errors of the driver match none of this package's errors, and panics of the driver are errors.
func TestTableDriverErrors(t *testing.T) {
	for _, own := range tableErrors() {
		synctest.Test(t, func(t *testing.T) {
			table, m := newMockTable(t)
			expectUpdate(m).WillReturnError(fmt.Errorf("a dialer's: %w", own))
			if _, err := table.Take(context.Background(), Request{Tag: "a", AtLeast: 7}); err == nil || errors.Is(err, own) || !strings.Contains(err.Error(), "a dialer's") {
				t.Errorf("Take() = %v, want an error that is not %v", err, own)
			}
		})
	}
	if _, err := NewTable(panickingDB{}).Take(t.Context(), Request{Tag: "a"}); err == nil || !strings.Contains(err.Error(), "panicked: dialer") {
		t.Errorf("Take() = %v, want the panic", err)
	}
}

// panickingDB is a DB whose driver panics.
type panickingDB struct{}

func (panickingDB) Conn(context.Context) (*sql.Conn, error) { panic("dialer") }
func (panickingDB) Stats() sql.DBStats                      { return sql.DBStats{} }
