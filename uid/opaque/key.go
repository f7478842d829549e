package opaque

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

var (
	// ErrKey is returned for a key that is not valid, and:
	//   - by New for two keys with the same version or the same secret, and for a purpose that is too long;
	//   - by Encode and Append of a Codec that is nil or the zero value;
	//   - by MarshalJSON of a Key, always.
	ErrKey = errors.New("opaque: bad key")

	// ErrText is returned by Decode for a text that no key can have written, and by Encode for a number that is not an ID.
	ErrText = errors.New("opaque: bad text")

	// ErrVersion is returned by Decode for a text of a key that the Codec does not have.
	ErrVersion = errors.New("opaque: unknown version of the key")
)

// A Key is the secret of a Codec, and its version. Printing or logging a Key, or a type that contains one, or writing it as JSON,
// does not show the secret; Reveal does. NewKey and ParseKey return a Key; the zero value is not valid.
type Key struct {
	version byte

	// secret returns the key of AES: 16, 24 or 32 bytes. It is nil in the zero value. It is a function, because package fmt does
	// not call Format for a Key in a field that is not exported: it prints the fields of the Key, and of a function the address.
	secret func() []byte
}

// newKey returns a key with the given bytes, which the caller must not change afterwards.
func newKey(version byte, bytes []byte) Key {
	return Key{version: version, secret: func() []byte { return bytes }}
}

// bytes returns the secret; nil for the zero value.
func (k Key) bytes() []byte {
	if k.secret == nil {
		return nil
	}
	return k.secret()
}

// NewKey returns a new random key of 32 bytes. The version is a letter or a digit. It panics if it is not.
func NewKey(version byte) Key {
	if !isVersion(version) {
		panic(errVersion(version))
	}
	bytes := make([]byte, 32)
	rand.Read(bytes) // does not fail
	return newKey(version, bytes)
}

// KeyFromBytes returns a key of 16, 24 or 32 random bytes, such as those of a key management service. The version is a letter or a
// digit; else, or with another number of bytes, the error wraps ErrKey. So it does if all bytes are the same, or printable
// ASCII: then they are a password or a text, and not random. Decode the text first, or see ParseKey; of a password, derive a key
// by package crypto/pbkdf2, or better by argon2.
func KeyFromBytes(version byte, secret []byte) (Key, error) {
	if !isVersion(version) {
		return Key{}, errVersion(version)
	}
	k := newKey(version, bytes.Clone(secret))
	return k, k.check()
}

// check checks the secret.
func (k Key) check() error {
	printable, same := true, true
	all := k.bytes()
	for _, b := range all {
		printable = printable && b >= ' ' && b <= '~'
		same = same && b == all[0]
	}
	switch n := len(all); {
	case n != 16 && n != 24 && n != 32:
		return fmt.Errorf("%w: version %q has %d bytes; must be 16, 24 or 32 random bytes: NewKey makes one", ErrKey, k.version, n)
	case same:
		return fmt.Errorf("%w: all bytes of version %q are the same; must be random: NewKey makes one", ErrKey, k.version)
	case printable:
		return fmt.Errorf("%w: all bytes of version %q are printable; must be random and not a text or a password: ParseKey reads what Reveal returns", ErrKey, k.version)
	}
	return nil
}

// ParseKey reads what Reveal returns: the version, a colon, and the secret as 32, 48 or 64 hexadecimal digits. For any other text
// the error wraps ErrKey. It does not contain the text.
func ParseKey(text string) (Key, error) {
	version, digits, found := strings.Cut(text, ":")
	if !found || len(version) != 1 {
		return Key{}, fmt.Errorf("%w: the text has %d bytes; must be the version, a colon and hexadecimal digits, as Reveal returns it", ErrKey, len(text))
	}
	secret, err := hex.DecodeString(digits)
	if err != nil { // whose text has a character of the secret
		return Key{}, fmt.Errorf("%w: the secret is not an even number of hexadecimal digits", ErrKey)
	}
	return KeyFromBytes(version[0], secret)
}

// Reveal returns the key as text, with its secret, for the place where the service keeps its secrets.
func (k Key) Reveal() string { return string(k.version) + ":" + hex.EncodeToString(k.bytes()) }

// UnmarshalText implements encoding.TextUnmarshaler: it reads what ParseKey reads, from a configuration. There is no MarshalText,
// so that writing a configuration does not show the secret.
func (k *Key) UnmarshalText(text []byte) error {
	if k == nil {
		return fmt.Errorf("%w: the Key to unmarshal into is nil", ErrKey)
	}
	parsed, err := ParseKey(string(text))
	if err != nil {
		return err
	}
	*k = parsed
	return nil
}

// Version returns the version.
func (k Key) Version() byte { return k.version }

// String returns the version and no secret.
func (k Key) String() string { return fmt.Sprintf("key %q", k.version) }

// Format implements fmt.Formatter, so that no verb shows the secret.
func (k Key) Format(f fmt.State, _ rune) { f.Write([]byte(k.String())) }

// LogValue implements slog.LogValuer. It has no secret.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalJSON implements json.Marshaler. It returns an error: see Reveal.
func (k Key) MarshalJSON() ([]byte, error) {
	return nil, fmt.Errorf("%w: version %q is a secret and has no JSON; Reveal returns it as text", ErrKey, k.version)
}

// isVersion reports whether a byte is a letter or a digit.
func isVersion(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

func errVersion(c byte) error {
	return fmt.Errorf("%w: the version is %q; must be a letter or a digit", ErrKey, c)
}
