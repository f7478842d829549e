package uid

import (
	"fmt"
	"strconv"
)

// Base32ID is an ID whose text, and so its JSON, is that of ID.Base32. It is for the fields of types that are encoded, and a
// map's keys; conversions are Base32ID(id) and ID(b). In a database it is an integer, as an ID is: for a column of text, write
// ID.Base32, and read by ParseBase32. (The driver pgx writes a Base32ID to a column of text in base 32 or, in its modes exec and
// simple_protocol, in decimal digits, and does not read it from there.)
type Base32ID ID

// Base62ID is an ID whose text, and so its JSON, is that of ID.Base62; see Base32ID.
type Base62ID ID

// NumberID is an ID whose JSON is a number, for JavaScript and other readers that keep numbers as floating point. These round
// a number beyond MaxSafeInteger to another one, so such an ID has no JSON: MarshalJSON returns an error. IDs of the layout
// that WithJavaScriptLayout sets do not exceed it. In a database a NumberID is an integer, as an ID is.
type NumberID ID

// MaxSafeInteger is the greatest integer up to which JavaScript represents every one exactly: 2^53-1.
const MaxSafeInteger = 1<<53 - 1

// errNilForm is the error of unmarshalling into a nil pointer.
var errNilForm = fmt.Errorf("%w: the ID to unmarshal into is nil", ErrOption)

// String returns what ID.Base32 returns.
func (b Base32ID) String() string { return ID(b).Base32() }

// AppendText implements encoding.TextAppender. It does not fail.
func (b Base32ID) AppendText(dst []byte) ([]byte, error) { return ID(b).AppendBase32(dst), nil }

// MarshalText implements encoding.TextMarshaler. It does not fail.
func (b Base32ID) MarshalText() ([]byte, error) { return ID(b).AppendBase32(nil), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts what ParseBase32 accepts, and leaves the ID unchanged if it
// returns an error.
func (b *Base32ID) UnmarshalText(text []byte) error {
	return unmarshalForm((*ID)(b), text, ParseBase32)
}

// String returns what ID.Base62 returns.
func (b Base62ID) String() string { return ID(b).Base62() }

// AppendText implements encoding.TextAppender. It does not fail.
func (b Base62ID) AppendText(dst []byte) ([]byte, error) { return ID(b).AppendBase62(dst), nil }

// MarshalText implements encoding.TextMarshaler. It does not fail.
func (b Base62ID) MarshalText() ([]byte, error) { return ID(b).AppendBase62(nil), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts what ParseBase62 accepts, and leaves the ID unchanged if it
// returns an error.
func (b *Base62ID) UnmarshalText(text []byte) error {
	return unmarshalForm((*ID)(b), text, ParseBase62)
}

// unmarshalForm sets an ID to what parse returns.
func unmarshalForm(id *ID, text []byte, parse func(string) (ID, error)) error {
	if id == nil {
		return errNilForm
	}
	v, err := parse(string(text))
	if err != nil {
		return err
	}
	*id = v
	return nil
}

// MarshalJSON implements json.Marshaler. For an ID that is not from 0 to MaxSafeInteger, the error wraps ErrRange.
func (n NumberID) MarshalJSON() ([]byte, error) {
	if n < 0 || n > MaxSafeInteger {
		return nil, fmt.Errorf("%w: ID %d as a JSON number must be from 0 to 2^53-1, because JavaScript rounds others: "+
			"use the type ID, whose JSON is a string, or generate the IDs with WithJavaScriptLayout", ErrRange, n)
	}
	return strconv.AppendInt(nil, int64(n), 10), nil
}

// UnmarshalJSON implements json.Unmarshaler. It accepts a JSON number of decimal digits from 0 to MaxSafeInteger: a greater
// one may have been rounded on its way. As usual, null leaves the ID unchanged.
func (n *NumberID) UnmarshalJSON(data []byte) error {
	if n == nil {
		return errNilForm
	}
	if string(data) == "null" {
		return nil
	}
	v, err := ParseID(string(data))
	if err != nil || v > MaxSafeInteger {
		return fmt.Errorf("%w: %s must be a JSON number from 0 to 2^53-1, without a sign, a fraction or an exponent", ErrRange, quoteShort(string(data)))
	}
	*n = NumberID(v)
	return nil
}
