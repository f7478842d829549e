package uid

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// form is one of the text forms, with its functions.
type form struct {
	name     string
	alphabet string
	length   int
	values   string
	greatest string
	text     func(ID) string
	appendTo func(ID, []byte) []byte
	parse    func(string) (ID, error)
}

func forms() []form {
	return []form{
		{"base 32", base32Alphabet, base32Length, base32Values, base32Greatest, ID.Base32, ID.AppendBase32, ParseBase32},
		{"base 62", base62Alphabet, base62Length, base62Values, base62Greatest, ID.Base62, ID.AppendBase62, ParseBase62},
	}
}

func TestBaseTexts(t *testing.T) {
	for _, tt := range []struct {
		id       ID
		b32, b62 string
	}{
		{0, "0000000000000", "00000000000"},
		{1, "0000000000001", "00000000001"},
		{61, "000000000001X", "0000000000z"},
		{962392666547429376, "0TPRV10000800", "195leaOEX1k"},
		{math.MaxInt64, "7ZZZZZZZZZZZZ", "AzL8n0Y58m7"},
	} {
		for i, want := range []string{tt.b32, tt.b62} {
			f := forms()[i]
			if got := f.text(tt.id); got != want {
				t.Errorf("%s of %d is %q, want %q", f.name, tt.id, got, want)
			}
			if got, err := f.parse(want); got != tt.id || err != nil {
				t.Errorf("%s: %q is %d, %v; want %d", f.name, want, got, err, tt.id)
			}
		}
	}
}

// The tables of values are those of the alphabets, and, for base 32, of what else ParseBase32 accepts.
func TestBaseValues(t *testing.T) {
	for _, f := range forms() {
		if slices.Contains([]byte(f.alphabet), noDigit) || !slices.IsSorted([]byte(f.alphabet)) || f.greatest != f.text(math.MaxInt64) {
			t.Errorf("%s: the alphabet is %q, not in ASCII order, or the greatest text is not %q", f.name, f.alphabet, f.greatest)
		}
		same := map[byte]byte{}
		if f.name == "base 32" {
			for _, c := range []byte("abcdefghjkmnpqrstvwxyz") {
				same[c] = c - 'a' + 'A'
			}
			for _, c := range []byte("iIlL") {
				same[c] = '1'
			}
			same['o'], same['O'] = '0', '0'
		}
		for c := range 256 {
			char := byte(c)
			if other, ok := same[char]; ok {
				char = other
			}
			want := strings.IndexByte(f.alphabet, char)
			for at := range f.length {
				text := []byte(strings.Repeat(f.alphabet[:1], f.length))
				text[at] = byte(c)
				id, err := f.parse(string(text))
				switch {
				case want < 0 || at == 0 && want > strings.IndexByte(f.alphabet, f.greatest[0]):
					if id != 0 || !errors.Is(err, ErrRange) {
						t.Errorf("%s: %q is %d, %v; want an error", f.name, text, id, err)
					}
				case err != nil || f.text(id) != strings.Replace(string(text), string([]byte{byte(c)}), string([]byte{char}), 1) && byte(c) != f.alphabet[0]:
					t.Errorf("%s: %q is %d, %v", f.name, text, id, err)
				}
			}
		}
	}
}

func TestBaseErrors(t *testing.T) {
	for _, tt := range []struct {
		parse      func(string) (ID, error)
		text, want string
	}{
		{ParseBase32, "", `uid: out of range: "" has 0 bytes; must be an ID in base 32, which has 13 characters`},
		{ParseBase62, strings.Repeat("1", 1000), `uid: out of range: "11111111111111111111111111111111"… has 1000 bytes; must be an ID in base 62, which has 11 characters`},
		{ParseBase62, "0000000000", `uid: out of range: "0000000000" has 10 bytes; must be an ID in base 62, which has 11 characters`},
		{ParseBase32, "00000000000-0", `uid: out of range: "00000000000-0" has "-" at position 12; must have only characters of base 32: 0123456789ABCDEFGHJKMNPQRSTVWXYZ`},
		{ParseBase32, "U000000000000", `uid: out of range: "U000000000000" has "U" at position 1; must have only characters of base 32: 0123456789ABCDEFGHJKMNPQRSTVWXYZ`},
		{ParseBase62, "000é0000000"[:11], `uid: out of range: "000é000000" has "é" at position 4; must have only characters of base 62: 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz`},
		{ParseBase62, "0000000000\xff", `uid: out of range: "0000000000\xff" has "\xff" at position 11; must have only characters of base 62: 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz`},
		{ParseBase32, "8000000000000", `uid: out of range: "8000000000000" is greater than 2^63-1; must be at most 7ZZZZZZZZZZZZ in base 32`},
		{ParseBase62, "zzzzzzzzzzz", `uid: out of range: "zzzzzzzzzzz" is greater than 2^63-1; must be at most AzL8n0Y58m7 in base 62`},
	} {
		id, err := tt.parse(tt.text)
		if id != 0 || !errors.Is(err, ErrRange) || err.Error() != tt.want {
			t.Errorf("%q is %d, and the error\n%v\nwant\n%s", tt.text, id, err, tt.want)
		}
	}
}

// The texts of a form sort as the IDs.
func TestBaseSorts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		a := ID(random.Int64() >> random.IntN(63))
		b := a + ID(random.Int64()>>random.IntN(63))
		if random.IntN(2) == 0 || b < 0 {
			b = ID(random.Int64())
		}
		for _, f := range forms() {
			if got := cmp.Compare(f.text(a), f.text(b)); got != a.Compare(b) {
				t.Fatalf("%s: %q and %q compare as %d, and %d and %d do not", f.name, f.text(a), f.text(b), got, a, b)
			}
		}
	}
}

// A number that is not an ID has a text, which is not one of an ID.
func TestBaseNegative(t *testing.T) {
	for _, id := range []ID{-1, math.MinInt64} {
		for _, f := range forms() {
			if back, err := f.parse(f.text(id)); len(f.text(id)) != f.length || back != 0 || !errors.Is(err, ErrRange) {
				t.Errorf("%s of %d is %q, which is read as %d, %v", f.name, id, f.text(id), back, err)
			}
		}
	}
}

func TestBaseAllocations(t *testing.T) {
	b := make([]byte, 0, 64)
	for _, f := range forms() {
		text := f.text(962392666547429376)
		if n := testing.AllocsPerRun(100, func() { b = f.appendTo(962392666547429376, b[:0]) }); n != 0 || string(b) != text {
			t.Errorf("%s: appending allocates %v times, and appends %q", f.name, n, b)
		}
		if n := testing.AllocsPerRun(100, func() { _, _ = f.parse(text) }); n != 0 {
			t.Errorf("%s: parsing allocates %v times", f.name, n)
		}
		if got := f.appendTo(7, []byte("id=")); !bytes.HasPrefix(got, []byte("id=")) || string(got[3:]) != f.text(7) {
			t.Errorf("%s: appending to a text returns %q", f.name, got)
		}
	}
}

// Each text that is accepted is an ID's, and has one form, except in base 32, where upper case and 0 and 1 are the form.
func FuzzParseBase(f *testing.F) {
	for _, s := range []string{"", "0000000000000", "11111111111", "7ZZZZZZZZZZZZ", "7zzzzzzzzzzzz", "8000000000000", "AzL8n0Y58m7",
		"AzL8n0Y58m8", "OIL0000000000", "é000000000000", "+0000000000", "0000-00000000", "zzzzzzzzzzz", "zzzzzzzzzzzzz"} {
		f.Add(s)
	}
	crockford := strings.NewReplacer("I", "1", "L", "1", "O", "0")
	f.Fuzz(func(t *testing.T, s string) {
		for _, form := range forms() {
			id, err := form.parse(s)
			want := s
			if form.name == "base 32" {
				want = crockford.Replace(strings.ToUpper(s))
			}
			if err != nil {
				if id != 0 || !errors.Is(err, ErrRange) || len(err.Error()) > 400 {
					t.Errorf("%s: %q is %d, %v", form.name, s, id, err)
				}
				if len(want) == form.length && strings.Trim(want, form.alphabet) == "" && want <= form.greatest {
					t.Errorf("%s: %q is refused: %v", form.name, s, err)
				}
			} else if id < 0 || form.text(id) != want {
				t.Errorf("%s: %q is %d, whose text is %q", form.name, s, id, form.text(id))
			}
		}
	})
}

// Each ID is read back from its texts.
func FuzzBase(f *testing.F) {
	for _, v := range []int64{0, 1, 31, 32, 61, 62, 1<<53 - 1, 1 << 53, math.MaxInt64} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v int64) {
		id := ID(v & math.MaxInt64)
		for _, form := range forms() {
			text := form.text(id)
			if back, err := form.parse(text); back != id || err != nil || len(text) != form.length || strings.Trim(text, form.alphabet) != "" {
				t.Errorf("%s of %d is %q, which is read as %d, %v", form.name, id, text, back, err)
			}
		}
	})
}

// An error quotes a text of up to 32 bytes as it is, and the beginning of a longer one.
func TestBaseErrorsQuote(t *testing.T) {
	text := strings.Repeat("Z", 32)
	for _, tt := range []struct{ text, want string }{
		{text, `"` + text + `" has 32 bytes`},
		{text + "Y", `"` + text + `"… has 33 bytes`},
	} {
		if _, err := ParseBase32(tt.text); !errors.Is(err, ErrRange) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ParseBase32(%q) = %v, want %s", tt.text, err, tt.want)
		}
	}
}
