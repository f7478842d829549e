package uid

import (
	"fmt"
	"strconv"
)

// ID is a UID. One that a generator made is positive. As text, and so in JSON, it is a string of
// decimal digits, because JavaScript rounds numbers beyond 2^53; a database keeps it as a
// 64-bit integer (BIGINT).
type ID int64

// errNilID is the error of unmarshalling into a nil pointer.
var errNilID = fmt.Errorf("%w: the ID to unmarshal into is nil", ErrOption)

// String returns the ID in decimal.
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// ParseID is the inverse of String. The error wraps ErrRange for anything but the decimal
// digits of a number from 0 to 2^63-1.
func ParseID(s string) (ID, error) {
	v, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%w: %q is not a decimal number from 0 to 2^63-1", ErrRange, s)
	}
	return ID(v), nil
}

// MarshalText implements encoding.TextMarshaler.
func (id ID) MarshalText() ([]byte, error) { return id.AppendText(nil) }

// AppendText implements encoding.TextAppender.
func (id ID) AppendText(b []byte) ([]byte, error) { return strconv.AppendInt(b, int64(id), 10), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It takes what ParseID takes, and
// leaves the ID as it was when that fails.
func (id *ID) UnmarshalText(text []byte) error {
	if id == nil {
		return errNilID
	}
	v, err := ParseID(string(text))
	if err != nil {
		return err
	}
	*id = v
	return nil
}

// UnmarshalJSON takes a JSON string, as MarshalText makes it, and a JSON number too. As is usual,
// null leaves the ID as it was.
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
