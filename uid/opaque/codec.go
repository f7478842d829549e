package opaque

import (
	"bytes"
	"fmt"

	"github.com/ringuid/ringuid/uid"
)

const (
	idBits     = 63
	textLength = 1 + 11 // the version and base 62
	maxPurpose = 256
)

// A Codec encodes IDs as texts, and decodes them. New returns a Codec. It is safe for concurrent use.
type Codec struct {
	current byte
	ciphers map[byte]*ff1 // by version
}

// New returns a Codec that encodes with the current key, and decodes the texts of the current and the old keys. To change the key,
// add the new one to all processes as an old one first; then make it the current one, and keep the former one as long as its
// texts are in use.
//
// The purpose is part of the encryption: with another purpose, the same IDs have other texts, and a text of one purpose decodes
// to a meaningless number with another. Use the kind of object, such as "orders". It is not a secret, and must remain the same.
// It has at most 256 bytes.
//
// For a key that is not valid, and for two keys with the same version or the same secret, the error wraps ErrKey.
func New(purpose string, current Key, old ...Key) (*Codec, error) {
	if len(purpose) > maxPurpose {
		return nil, fmt.Errorf("%w: the purpose has %d bytes; must have at most %d", ErrKey, len(purpose), maxPurpose)
	}
	c := &Codec{current: current.version, ciphers: map[byte]*ff1{}}
	keys := append([]Key{current}, old...)
	for i, k := range keys {
		if !isVersion(k.version) {
			return nil, fmt.Errorf("%w: a key is the zero value; NewKey and ParseKey return one", ErrKey)
		}
		if err := k.check(); err != nil {
			return nil, err
		}
		for _, other := range keys[:i] {
			if other.version == k.version {
				return nil, fmt.Errorf("%w: two keys have the version %q; must have different ones", ErrKey, k.version)
			}
			if bytes.Equal(other.bytes(), k.bytes()) {
				return nil, fmt.Errorf("%w: the versions %q and %q have the same secret; must have different ones", ErrKey, other.version, k.version)
			}
		}
		f, err := newFF1(k.bytes(), []byte(purpose), 2, idBits)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrKey, err)
		}
		c.ciphers[k.version] = f
	}
	return c, nil
}

// Encode returns the text of an ID: 12 letters and digits, of which the first is the version of the current key. Case matters. If
// the ID is negative, which no generator returns, the error wraps ErrText.
func (c *Codec) Encode(id uid.ID) (string, error) {
	var b [textLength]byte
	text, err := c.Append(b[:0], id)
	return string(text), err
}

// Append appends what Encode returns. With an error it returns b. It allocates only if b has too little capacity.
func (c *Codec) Append(b []byte, id uid.ID) ([]byte, error) {
	f := c.cipher(c.version())
	if f == nil {
		return b, fmt.Errorf("%w: the Codec is nil or the zero value; New returns one", ErrKey)
	}
	if id < 0 {
		return b, fmt.Errorf("%w: the ID is %d; must be 0 or more", ErrText, int64(id))
	}
	upper, lower := f.encrypt(uint64(id)>>32, uint64(id)&(1<<32-1))
	return uid.ID(upper<<32 | lower).AppendBase62(append(b, c.current)), nil
}

// Decode returns the ID of a text that Encode returned. If the text has another form, the error wraps ErrText. If its version is
// that of no key of the Codec, the error wraps ErrVersion. Any other text decodes to some number: whether there is such an ID,
// and whether the user may see it, is for the caller to check.
func (c *Codec) Decode(text string) (uid.ID, error) {
	if len(text) != textLength {
		return 0, fmt.Errorf("%w: it has %d bytes; must have %d letters and digits", ErrText, len(text), textLength)
	}
	if !isVersion(text[0]) {
		return 0, fmt.Errorf("%w: %q begins with %q; must begin with the version of a key, a letter or a digit", ErrText, text, text[:1])
	}
	n, err := uid.ParseBase62(text[1:])
	if err != nil {
		return 0, fmt.Errorf("%w: %q: %w", ErrText, text, err)
	}
	f := c.cipher(text[0])
	if f == nil {
		return 0, fmt.Errorf("%w: %q in %q; pass the key to New as an old one, if the text is not a forgery", ErrVersion, text[:1], text)
	}
	upper, lower := f.decrypt(uint64(n)>>32, uint64(n)&(1<<32-1))
	return uid.ID(upper<<32 | lower), nil
}

// version returns the version of the current key; 0 for a Codec that New did not return.
func (c *Codec) version() byte {
	if c == nil {
		return 0
	}
	return c.current
}

// cipher returns the cipher of a version, or nil.
func (c *Codec) cipher(version byte) *ff1 {
	if c == nil {
		return nil
	}
	return c.ciphers[version]
}
