package uid

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
)

// Scattered is an ID that a database keeps as another positive 64-bit integer (BIGINT), so that IDs which follow each other are far apart:
// the key of a table in a database that divides tables by ranges of keys, such as Spanner, TiDB or CockroachDB, where keys in the order of
// time all go to the server of the last range. Different IDs have different keys, and Scan gives the ID back. Conversions are Scattered(id) and ID(s).
//
// What is lost is the order of the keys: rows are no longer stored by time, and a query for a period of time cannot use the key. Use ID
// where one server has the end of the table anyway (MySQL, PostgreSQL). As text, and so in JSON, a Scattered is the ID itself. A column
// that can be NULL requires a *Scattered or a sql.Null[Scattered].
//
// The key is the ID multiplied by an odd constant, modulo 2^63 (D. Knuth, The Art of Computer Programming, volume 3, section 6.4), in SQL
// MOD(CAST(id AS DECIMAL(40)) * 1694620994032388697, 9223372036854775808).
type Scattered ID

// Multiplication by scatter spreads numbers k·2^n, k = 1, 2, 3 …, evenly for each n, that is, the values of each field of an ID.
// gather is its inverse modulo 2^63.
const (
	scatter = 0x178480d0ca384a59
	gather  = 0x20f4c7eac1925de9
)

// Value implements driver.Valuer: a Scattered is an int64 in a database. For an ID that is negative the error wraps ErrRange.
func (s Scattered) Value() (driver.Value, error) {
	if s < 0 {
		return nil, fmt.Errorf("%w: ID %d to scatter must not be negative", ErrRange, int64(s))
	}
	return int64(uint64(s) * scatter & (1<<63 - 1)), nil
}

// Scan implements sql.Scanner. It accepts an integer that is not negative. For anything else, NULL among it, the error wraps ErrRange, and
// the ID is unchanged.
func (s *Scattered) Scan(src any) error {
	var key sql.Null[int64]
	switch err := key.Scan(src); {
	case s == nil:
		return errNilID
	case err != nil:
		return fmt.Errorf("%w: the scattered ID is not a 64-bit integer: %v", ErrRange, err)
	case !key.Valid:
		return fmt.Errorf("%w: the column is NULL; scan it into a pointer or a sql.Null", ErrRange)
	case key.V < 0:
		return fmt.Errorf("%w: the scattered ID is %d; must not be negative", ErrRange, key.V)
	}
	*s = Scattered(uint64(key.V) * gather & (1<<63 - 1))
	return nil
}

// String returns the ID in decimal, as ID.String does.
func (s Scattered) String() string { return ID(s).String() }

// AppendText implements encoding.TextAppender. It does not fail.
func (s Scattered) AppendText(b []byte) ([]byte, error) { return ID(s).AppendText(b) }

// MarshalText implements encoding.TextMarshaler. It does not fail.
func (s Scattered) MarshalText() ([]byte, error) { return ID(s).MarshalText() }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts what ParseID accepts.
func (s *Scattered) UnmarshalText(text []byte) error { return (*ID)(s).UnmarshalText(text) }

// UnmarshalJSON implements json.Unmarshaler, as ID.UnmarshalJSON does.
func (s *Scattered) UnmarshalJSON(data []byte) error { return (*ID)(s).UnmarshalJSON(data) }
