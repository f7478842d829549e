package uid

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/DATA-DOG/go-sqlmock"
)

// A driver gets an ID as an int64, and NULL for what has none.
func TestIDAsSQLArgument(t *testing.T) {
	db, mock, err := sqlmock.New()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const id = ID(962392666547429376)
	ref, none := new(ID), (*ID)(nil)
	*ref = id
	for _, tt := range []struct {
		arg  any
		want driver.Value
	}{
		{id, int64(id)},
		{ID(0), int64(0)},
		{ref, int64(id)},
		{none, nil},
		{sql.Null[ID]{V: id, Valid: true}, int64(id)},
		{sql.Null[ID]{}, nil},
		{&sql.Null[ID]{V: id, Valid: true}, int64(id)},
	} {
		mock.ExpectExec("INSERT").WithArgs(kept{tt.want}).WillReturnResult(sqlmock.NewResult(1, 1))
		if _, err := db.Exec("INSERT INTO orders VALUES (?)", tt.arg); err != nil {
			t.Errorf("%T %v: %v", tt.arg, tt.arg, err)
		}
	}
	if err := mock.ExpectationsWereMet(); err != nil {
		t.Error(err)
	}
}

// kept matches an argument of the same type and value.
type kept struct{ want driver.Value }

func (k kept) Match(got driver.Value) bool { return got == k.want }

// A column with a value is scanned into each kind of target; NULL into those that can hold it.
func TestScanID(t *testing.T) {
	const id = ID(962392666547429376)
	for _, value := range []driver.Value{int64(id), []byte(id.String()), id.String()} { // drivers' forms of a BIGINT
		var (
			direct ID
			null   sql.Null[ID]
			ref    *ID
		)
		if err := scanRow(t, value, &direct); err != nil || direct != id {
			t.Errorf("%T into *ID: %d, %v", value, direct, err)
		}
		if err := scanRow(t, value, &null); err != nil || !null.Valid || null.V != id {
			t.Errorf("%T into *sql.Null[ID]: %v, %v", value, null, err)
		}
		if err := scanRow(t, value, &ref); err != nil || ref == nil || *ref != id {
			t.Errorf("%T into **ID: %v, %v", value, ref, err)
		}
	}

	direct, other := ID(7), ID(8)
	null, ref := sql.Null[ID]{V: 7, Valid: true}, &other
	if err := scanRow(t, nil, &direct); err == nil || direct != 7 || !strings.Contains(err.Error(), "NULL") {
		t.Errorf("NULL into *ID: %d, %v; want 7 and an error that names NULL", direct, err)
	}
	if err := scanRow(t, nil, &null); err != nil || null != (sql.Null[ID]{}) {
		t.Errorf("NULL into *sql.Null[ID]: %v, %v", null, err)
	}
	if err := scanRow(t, nil, &ref); err != nil || ref != nil {
		t.Errorf("NULL into **ID: %v, %v", ref, err)
	}

	for _, bad := range []driver.Value{"9223372036854775808", "1.5", "x", 1.5, true} {
		if err := scanRow(t, bad, &direct); err == nil || direct != 7 {
			t.Errorf("%v into *ID: %d, %v; want 7 and an error", bad, direct, err)
		}
	}
}

// scanRow scans a row of one column from a database into dst.
func scanRow(t *testing.T, value driver.Value, dst any) error {
	t.Helper()
	db, mock, err := sqlmock.New()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	mock.ExpectQuery("SELECT").WillReturnRows(sqlmock.NewRows([]string{"id"}).AddRow(value))
	return db.QueryRow("SELECT id FROM orders").Scan(dst)
}

// The types of the forms are text in a database. Other values, and NULL into one that cannot hold it, are errors.
func TestFormsInSQL(t *testing.T) {
	db, mock, err := sqlmock.New()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const id = ID(962392666547429376)
	b32, b62 := Base32ID(id), Base62ID(id)
	for _, tt := range []struct {
		arg  any
		want driver.Value
	}{
		{b32, id.Base32()}, {&b32, id.Base32()}, {b62, id.Base62()}, {(*Base62ID)(nil), nil}, {sql.Null[Base62ID]{V: b62, Valid: true}, id.Base62()}, {sql.Null[Base62ID]{}, nil},
	} {
		mock.ExpectExec("INSERT").WithArgs(kept{tt.want}).WillReturnResult(sqlmock.NewResult(1, 1))
		if _, err := db.Exec("INSERT INTO orders VALUES (?)", tt.arg); err != nil {
			t.Errorf("%T %v: %v", tt.arg, tt.arg, err)
		}
	}
	for _, asBytes := range []bool{false, true} {
		for want, into := range map[string]sql.Scanner{id.Base32(): new(Base32ID), id.Base62(): new(Base62ID)} {
			var value driver.Value = want
			if asBytes {
				value = []byte(want)
			}
			if err := scanRow(t, value, into); err != nil || into.(fmt.Stringer).String() != want {
				t.Errorf("%T %v is read as %v, %v", value, want, into, err)
			}
		}
	}
	if err := scanRow(t, nil, new(Base32ID)); err == nil || !strings.Contains(err.Error(), "the column is NULL; scan it into a pointer") {
		t.Errorf("NULL: %v", err)
	}
	for _, value := range []driver.Value{int64(id), nil, "", id.String(), 1.5} {
		for _, into := range []sql.Scanner{new(Base32ID), new(Base62ID)} {
			if err := scanRow(t, value, into); !errors.Is(err, ErrRange) {
				t.Errorf("%v into a %T: %v", value, into, err)
			}
		}
	}
	if err := (*Base62ID)(nil).Scan(id.Base62()); !errors.Is(err, ErrOption) {
		t.Error(err)
	}
}
