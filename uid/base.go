package uid

import (
	"database/sql/driver"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// The text forms of an ID that are shorter than decimal. Each has a fixed length, and the characters of each
// alphabet are in ASCII order, so that the texts of one form sort as the numbers, byte by byte.
const (
	base32Length   = 13
	base32Greatest = "7ZZZZZZZZZZZZ"                    // of 2^63-1
	base32Alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ" // Crockford's
	base62Length   = 11
	base62Greatest = "AzL8n0Y58m7" // of 2^63-1
	base62Alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// The values of the characters from '0' to 'z' in each alphabet; noDigit for those that it has not. They are strings,
// because Go has no constant arrays.
const (
	noDigit      = 0xff
	base32Values = "" +
		"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09" +
		"\xff\xff\xff\xff\xff\xff\xff" +
		"\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x01\x12\x13\x01\x14\x15\x00\x16\x17\x18\x19\x1a\xff\x1b\x1c\x1d\x1e\x1f" +
		"\xff\xff\xff\xff\xff\xff" +
		"\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x01\x12\x13\x01\x14\x15\x00\x16\x17\x18\x19\x1a\xff\x1b\x1c\x1d\x1e\x1f"
	base62Values = "" +
		"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09" +
		"\xff\xff\xff\xff\xff\xff\xff" +
		"\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x20\x21\x22\x23" +
		"\xff\xff\xff\xff\xff\xff" +
		"\x24\x25\x26\x27\x28\x29\x2a\x2b\x2c\x2d\x2e\x2f\x30\x31\x32\x33\x34\x35\x36\x37\x38\x39\x3a\x3b\x3c\x3d"
)

// Base32 returns the ID in Crockford's base 32: 13 digits and upper-case letters, without I, L, O and U. It is the form
// for people who read an ID aloud or type it, for names of files, and for columns with a collation that does not
// distinguish case: no two IDs have texts that differ in case only. The texts sort as the IDs.
func (id ID) Base32() string {
	var b [base32Length]byte
	return string(id.AppendBase32(b[:0]))
}

// Base62 returns the ID in base 62: 11 digits, upper-case and lower-case letters, with the values of 0 to 9, A to Z and a to
// z in this order. The texts sort as the IDs, byte by byte. A column for them must have a collation that
// distinguishes case, such as ascii_bin: with another one, the texts of different IDs are equal.
func (id ID) Base62() string {
	var b [base62Length]byte
	return string(id.AppendBase62(b[:0]))
}

// AppendBase32 appends what Base32 returns. It allocates only if b has too little capacity.
func (id ID) AppendBase32(b []byte) []byte {
	var digits [base32Length]byte
	v := uint64(id)
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = base32Alphabet[v%32]
		v /= 32
	}
	return append(b, digits[:]...)
}

// AppendBase62 appends what Base62 returns. It allocates only if b has too little capacity.
func (id ID) AppendBase62(b []byte) []byte {
	var digits [base62Length]byte
	v := uint64(id)
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = base62Alphabet[v%62]
		v /= 62
	}
	return append(b, digits[:]...)
}

// ParseBase32 is the inverse of Base32. As Crockford recommends for input by people, it also accepts lower-case letters, I and
// L for 1, and O for 0. So several texts stand for one ID: compare IDs, not texts. It accepts neither hyphens nor Crockford's
// check symbols. For any other text than 13 of these characters, and for a number beyond 2^63-1, the error wraps ErrRange
// and names the character and its position.
func ParseBase32(s string) (ID, error) {
	return baseForm{"base 32", base32Length, 32, base32Alphabet, base32Values, base32Greatest}.parse(s)
}

// ParseBase62 is the inverse of Base62. It accepts exactly what Base62 returns for an ID that is not negative, so each ID has
// one text: a text of fewer than 11 characters must be padded with '0'. For any other text the error wraps ErrRange and
// names the character and its position.
func ParseBase62(s string) (ID, error) {
	return baseForm{"base 62", base62Length, 62, base62Alphabet, base62Values, base62Greatest}.parse(s)
}

// baseForm describes a text form. base^(length-1) is less than 2^63.
type baseForm struct {
	name             string
	length           int
	base             uint64
	alphabet, values string
	greatest         string // the text of the greatest ID
}

// parse returns the ID that s stands for.
func (f baseForm) parse(s string) (ID, error) {
	if len(s) != f.length {
		return 0, fmt.Errorf("%w: %s has %d bytes; must be an ID in %s, which has %d characters", ErrRange, quoteShort(s), len(s), f.name, f.length)
	}
	var v uint64
	for i := range len(s) {
		digit := uint64(noDigit)
		if at := int(s[i]) - '0'; at >= 0 && at < len(f.values) {
			digit = uint64(f.values[at])
		}
		if digit == noDigit {
			_, size := utf8.DecodeRuneInString(s[i:])
			return 0, fmt.Errorf("%w: %q has %q at position %d; must have only characters of %s: %s", ErrRange, s, s[i:i+size], i+1, f.name, f.alphabet)
		}
		if i == f.length-1 && v > (math.MaxInt64-digit)/f.base {
			return 0, fmt.Errorf("%w: %q is greater than 2^63-1; must be at most %s in %s", ErrRange, s, f.greatest, f.name)
		}
		v = v*f.base + digit
	}
	return ID(v), nil
}

// quoteShort quotes a text of any length for an error.
func quoteShort(s string) string {
	const shown = 32
	if len(s) > shown {
		return fmt.Sprintf("%q…", s[:shown])
	}
	return fmt.Sprintf("%q", s)
}

// Base32ID is an ID whose text, and so its JSON, is that of ID.Base32. It is for the fields of types that are encoded, and a
// map's keys; conversions are Base32ID(id) and ID(b). In a database it is that text, too: its column is one of text. A column that can be
// NULL requires a *Base32ID or a sql.Null[Base32ID].
type Base32ID ID

// Base62ID is an ID whose text, and so its JSON, is that of ID.Base62; see Base32ID.
type Base62ID ID

// NumberID is an ID whose JSON is a number, for JavaScript and other readers that keep numbers as floating point. These round
// a number beyond MaxSafeInteger to another one, so such an ID has no JSON: MarshalJSON returns an error. IDs of the layout
// that WithJavaScriptLayout sets do not exceed it. In a database a NumberID is an integer, as an ID is.
type NumberID ID

// MaxSafeInteger is the greatest integer up to which JavaScript represents every one exactly: 2^53-1.
const MaxSafeInteger = 1<<53 - 1

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

// Value implements driver.Valuer: a Base32ID is text in a database. It does not fail.
func (b Base32ID) Value() (driver.Value, error) { return b.String(), nil }

// Scan implements sql.Scanner. It accepts a text that ParseBase32 accepts, and leaves the ID unchanged if it returns an error.
func (b *Base32ID) Scan(src any) error { return scanForm((*ID)(b), src, ParseBase32) }

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

// Value implements driver.Valuer: a Base62ID is text in a database. It does not fail.
func (b Base62ID) Value() (driver.Value, error) { return b.String(), nil }

// Scan implements sql.Scanner. It accepts a text that ParseBase62 accepts, and leaves the ID unchanged if it returns an error.
func (b *Base62ID) Scan(src any) error { return scanForm((*ID)(b), src, ParseBase62) }

// scanForm sets an ID to what parse returns for the value of a column.
func scanForm(id *ID, src any, parse func(string) (ID, error)) error {
	switch text := src.(type) {
	case string:
		return unmarshalForm(id, []byte(text), parse)
	case []byte:
		return unmarshalForm(id, text, parse)
	}
	if src == nil {
		return fmt.Errorf("%w: the column is NULL; scan it into a pointer or a sql.Null", ErrRange)
	}
	return fmt.Errorf("%w: the column is a %T; must be text. The type ID is for a column of integers", ErrRange, src)
}

// unmarshalForm sets an ID to what parse returns.
func unmarshalForm(id *ID, text []byte, parse func(string) (ID, error)) error {
	if id == nil {
		return errNilID
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
		return errNilID
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
