package uid

import (
	"fmt"
	"math"
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
		return 0, fmt.Errorf("%w: %s has %d bytes, must be an ID in %s, which has %d characters", ErrRange, quoteShort(s), len(s), f.name, f.length)
	}
	var v uint64
	for i := range len(s) {
		digit := uint64(noDigit)
		if at := int(s[i]) - '0'; at >= 0 && at < len(f.values) {
			digit = uint64(f.values[at])
		}
		if digit == noDigit {
			_, size := utf8.DecodeRuneInString(s[i:])
			return 0, fmt.Errorf("%w: %q has %q at position %d, must have only characters of %s: %s", ErrRange, s, s[i:i+size], i+1, f.name, f.alphabet)
		}
		if i == f.length-1 && v > (math.MaxInt64-digit)/f.base {
			return 0, fmt.Errorf("%w: %q is greater than 2^63-1, must be at most %s in %s", ErrRange, s, f.greatest, f.name)
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
