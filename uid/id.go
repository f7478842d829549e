package uid

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"strconv"
)

// ID is a UID. The IDs that generators return are positive. Those of one format sort by the time that
// they were stamped with, then by worker ID, then by sequence.
//
// Elsewhere an ID is represented as follows:
//
//   - As text, and so in JSON, it is a string of decimal digits, because JavaScript rounds numbers
//     beyond 2^53. A JSON field with the option omitzero leaves out an ID of 0.
//   - In a database it is a 64-bit integer (BIGINT). Package database/sql passes an ID to a driver
//     as an int64, and scans an integer column into a variable of type ID. If the column can be
//     NULL, use a variable of type sql.Null[ID] or *ID and pass its address to Scan: a NULL into an
//     ID is an error. Variables of these types can be query arguments too.
//   - In binary it has eight bytes, the most significant first.
//   - In package fmt the verbs for integers (%d, %x, %X, %o, %O, %b, %c, %U) format the number,
//     and %s, %q and %v the decimal text.
type ID int64

// errNilID is the error of unmarshalling into a nil pointer.
var errNilID = fmt.Errorf("%w: the ID to unmarshal into is nil", ErrOption)

// ParseID is the inverse of String. It accepts exactly what String returns for an ID that is not
// negative: the decimal digits of a number from 0 to 2^63-1, without leading zeros, a sign, spaces
// or underscores. For any other text the error wraps ErrRange.
func ParseID(s string) (ID, error) {
	v, err := strconv.ParseUint(s, 10, 63)
	if err != nil || len(s) > 1 && s[0] == '0' {
		return 0, fmt.Errorf("%w: %q must be a decimal number from 0 to 2^63-1, without leading zeros, sign or spaces", ErrRange, s)
	}
	return ID(v), nil
}

// MustParse returns the ID that ParseID returns, and panics with ParseID's error if s is not an
// ID. It is for constants and tests; use ParseID for input.
func MustParse(s string) ID {
	id, err := ParseID(s)
	if err != nil {
		panic(err)
	}
	return id
}

// Compare returns -1 if id is less than other, 0 if they are equal, and +1 if id is greater. It is
// for slices.SortFunc(ids, uid.ID.Compare) and its like; < and slices.Sort work as well.
func (id ID) Compare(other ID) int { return cmp.Compare(id, other) }

// IsZero reports whether id is 0, which no generator returns: a variable or field of type ID that
// was not set is 0. Format.Compose returns 0 for worker ID 0 and sequence 0 at the epoch, which is
// meant as the lower bound of a query.
func (id ID) IsZero() bool { return id == 0 }

// String returns the ID in decimal.
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// AppendText implements encoding.TextAppender: it appends what String returns. It does not fail,
// and allocates only if b has too little capacity.
func (id ID) AppendText(b []byte) ([]byte, error) { return strconv.AppendInt(b, int64(id), 10), nil }

// MarshalText implements encoding.TextMarshaler. It returns what String returns, and does not fail.
func (id ID) MarshalText() ([]byte, error) { return id.AppendText(nil) }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts what ParseID accepts, and
// leaves the ID unchanged if it returns an error.
func (id *ID) UnmarshalText(text []byte) error { return unmarshalForm(id, text, ParseID) }

// UnmarshalJSON implements json.Unmarshaler. It accepts a JSON string or a JSON number of the
// digits that ParseID accepts. A string with escapes, and a number with a fraction or an exponent, is
// an error. As usual, null leaves the ID unchanged.
func (id *ID) UnmarshalJSON(data []byte) error {
	if id == nil {
		return errNilID
	}
	if string(data) == "null" {
		return nil
	}
	if n := len(data); n >= 2 && data[0] == '"' && data[n-1] == '"' {
		data = data[1 : n-1]
	}
	return id.UnmarshalText(data)
}

// AppendBinary implements encoding.BinaryAppender: it appends the eight bytes of the number, the most significant first, so that they
// sort as the IDs. It does not fail.
func (id ID) AppendBinary(b []byte) ([]byte, error) {
	return binary.BigEndian.AppendUint64(b, uint64(id)), nil
}

// MarshalBinary implements encoding.BinaryMarshaler: see AppendBinary.
func (id ID) MarshalBinary() ([]byte, error) { return id.AppendBinary(nil) }

// UnmarshalBinary implements encoding.BinaryUnmarshaler. It accepts what AppendBinary appends for an ID that is not negative. For
// anything else the error wraps ErrRange, and the ID is unchanged.
func (id *ID) UnmarshalBinary(data []byte) error {
	if id == nil {
		return errNilID
	}
	if len(data) != 8 || data[0] > 0x7f {
		return fmt.Errorf("%w: the binary form has %d bytes; must have 8, the first one at most 0x7f", ErrRange, len(data))
	}
	*id = ID(binary.BigEndian.Uint64(data))
	return nil
}

// Format implements fmt.Formatter. Without it, fmt would apply %x to the decimal text. The verbs
// b, c, d, o, O, U, x and X, and v with the flag #, format the ID as an int64, and s, q and v as the
// string that String returns. Flags, width and precision mean what they mean for these types.
func (id ID) Format(f fmt.State, verb rune) {
	var value any
	switch verb {
	case 'b', 'c', 'd', 'o', 'O', 'U', 'x', 'X':
		value = int64(id)
	case 's', 'q':
		value = id.String()
	case 'v':
		value = id.String()
		if f.Flag('#') {
			value = int64(id)
		}
	default:
		fmt.Fprintf(f, "%%!%c(uid.ID=%d)", verb, int64(id)) // as fmt reports a bad verb
		return
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), value)
}
