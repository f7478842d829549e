package opaque

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ringuid/ringuid/uid"
)

// testKey returns a key that is the same in each run.
func testKey(t testing.TB, version byte) Key {
	t.Helper()
	k, err := ParseKey(string(version) + ":" + strings.Repeat(fmt.Sprintf("00%02xff", version), 10) + "0001")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func newCodec(t testing.TB, purpose string, current Key, old ...Key) *Codec {
	t.Helper()
	c, err := New(purpose, current, old...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func encode(t testing.TB, c *Codec, id uid.ID) string {
	t.Helper()
	text, err := c.Encode(id)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Each ID is decoded from its text, texts of different IDs differ, and neither their order nor their beginnings show that of the IDs.
func TestCodec(t *testing.T) {
	c := newCodec(t, "orders", testKey(t, 'a'))
	texts, beginnings, rising := map[string]bool{}, map[string]int{}, 0
	last := ""
	ids := []uid.ID{0, 1, 1<<32 - 1, 1 << 32, math.MaxInt64 - 1, math.MaxInt64}
	for n := range uid.ID(10_000) {
		ids = append(ids, 962392666547429376+n)
	}
	for _, id := range ids {
		text := encode(t, c, id)
		if back, err := c.Decode(text); back != id || err != nil || len(text) != textLength || text[0] != 'a' {
			t.Fatalf("%d is %q, which is %d, %v", id, text, back, err)
		}
		texts[text] = true
		beginnings[text[1:3]]++
		if text > last {
			rising++
		}
		last = text
	}
	if len(texts) != len(ids) {
		t.Errorf("%d IDs have %d texts", len(ids), len(texts))
	}
	if rising < len(ids)*45/100 || rising > len(ids)*55/100 {
		t.Errorf("%d of %d texts are greater than the one before", rising, len(ids))
	}
	for beginning, n := range beginnings { // 10,000 in 62 × 11 beginnings are 15 ± 4
		if n > 15+10*4 {
			t.Errorf("%d of %d texts begin with %q", n, len(ids), beginning)
		}
	}
}

// The texts that were written by this version of the package remain readable.
func TestTextsRemain(t *testing.T) {
	c := newCodec(t, "orders", testKey(t, 'a'))
	for id, want := range map[uid.ID]string{0: "a6kUv5WP1eVo", 1: "a9EJf96P1Q4E", 962392666547429376: "a5XL1AEsz0Mw", math.MaxInt64: "a4Ot7bzSnrhz"} {
		if got := encode(t, c, id); got != want {
			t.Errorf("%d is %q, want %q", id, got, want)
		}
	}
}

// A new version of the key, and the old one beside it; another purpose; another key.
func TestRotation(t *testing.T) {
	const id = 962392666547429376
	old, next := testKey(t, '1'), testKey(t, '2')
	before, prepared := newCodec(t, "orders", old), newCodec(t, "orders", old, next)
	after, done := newCodec(t, "orders", next, old), newCodec(t, "orders", next)
	first, second := encode(t, before, id), encode(t, after, id)
	if first != encode(t, prepared, id) || first[0] != '1' || second[0] != '2' || first[1:] == second[1:] || second != encode(t, done, id) {
		t.Errorf("%q before, %q after", first, second)
	}
	for _, tt := range []struct {
		c    *Codec
		text string
		ok   bool
	}{{before, first, true}, {before, second, false}, {prepared, first, true}, {prepared, second, true}, {after, first, true}, {after, second, true},
		{done, first, false}, {done, second, true}} {
		got, err := tt.c.Decode(tt.text)
		if tt.ok != (err == nil) || tt.ok && got != id || !tt.ok && (got != 0 || !errors.Is(err, ErrVersion)) {
			t.Errorf("%q is %d, %v", tt.text, got, err)
		}
	}
	customers := newCodec(t, "customers", old)
	if got, err := customers.Decode(first); got == id || err != nil || encode(t, customers, id) == first {
		t.Errorf("with another purpose, %q is %d, %v", first, got, err)
	}
	if got, err := newCodec(t, "orders", func() Key { k := testKey(t, '3'); k.version = '1'; return k }()).Decode(first); got == id || err != nil {
		t.Errorf("with another key, %q is %d, %v", first, got, err)
	}
}

func TestDecodeErrors(t *testing.T) {
	c := newCodec(t, "", testKey(t, 'a'))
	for _, tt := range []struct {
		text string
		want error
		part string
	}{
		{"", ErrText, "it has 0 bytes; must have 12"},
		{strings.Repeat("a", 1000), ErrText, "it has 1000 bytes"},
		{"a0000000000", ErrText, "it has 11 bytes"},
		{"-00000000000", ErrText, `begins with "-"`},
		{"a0000000000-", ErrText, `has "-" at position 11`},
		{"aAzL8n0Y58m8", ErrText, "greater than 2^63-1"},
		{"b00000000000", ErrVersion, `"b" in "b00000000000"`},
		{"é0000000000", ErrText, "begins with"},
	} {
		id, err := c.Decode(tt.text)
		if id != 0 || !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.part) {
			t.Errorf("%q is %d, %v", tt.text, id, err)
		}
	}
	if text, err := c.Encode(-1); text != "" || !errors.Is(err, ErrText) {
		t.Errorf("-1 is %q, %v", text, err)
	}
	for _, c := range []*Codec{nil, {}} {
		if text, err := c.Encode(1); text != "" || !errors.Is(err, ErrKey) {
			t.Errorf("%q, %v", text, err)
		}
		if _, err := c.Decode("a00000000000"); !errors.Is(err, ErrVersion) {
			t.Error(err)
		}
	}
}

func TestKeys(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		k := NewKey('x')
		back, err := ParseKey(k.Reveal())
		if err != nil || back.Reveal() != k.Reveal() || k.Version() != 'x' || len(k.bytes()) != 32 || seen[k.Reveal()] {
			t.Fatalf("%s, %v", k.Reveal(), err)
		}
		seen[k.Reveal()] = true
	}
	random := []byte{1, 200, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32}
	for n := range 33 {
		k, err := KeyFromBytes('1', random[:n])
		if ok := n == 16 || n == 24 || n == 32; ok != (err == nil) || !ok && !errors.Is(err, ErrKey) {
			t.Errorf("%d bytes: %v", n, err)
		}
		if err == nil {
			want := k.Reveal()
			random[0]++ // the key has a copy
			if k.Reveal() != want {
				t.Error("the key has changed")
			}
		}
	}
	for name, secret := range map[string][]byte{
		"a password": []byte("correct horse battery staple 123"), "zeros": make([]byte, 32), "hexadecimal digits": []byte("00112233445566778899aabbccddeeff"),
		"all printable": []byte(" ~ ~ ~ ~ ~ ~ ~ ~"), "the same byte": bytes.Repeat([]byte{0x80}, 16), "no bytes": nil,
	} {
		if k, err := KeyFromBytes('1', secret); !errors.Is(err, ErrKey) || len(secret) > 0 && strings.Contains(err.Error(), string(secret)) {
			t.Errorf("%s: %v", name, err)
		} else if _, err := New("", k); !errors.Is(err, ErrKey) {
			t.Errorf("New with %s: %v", name, err)
		}
	}
	for _, version := range []byte{'0', '9', 'A', 'Z', 'a', 'z'} {
		if k, err := KeyFromBytes(version, random); err != nil || k.Version() != version {
			t.Errorf("version %q: %v", version, err)
		}
	}
	for _, version := range []byte{0, '/', '-', ':', '@', '[', '`', '{', 0x80} {
		if _, err := KeyFromBytes(version, random); !errors.Is(err, ErrKey) {
			t.Errorf("version %q: %v", version, err)
		}
		func() {
			defer func() {
				if err, ok := recover().(error); !ok || !errors.Is(err, ErrKey) {
					t.Errorf("NewKey(%q) panics with %v", version, err)
				}
			}()
			NewKey(version)
		}()
	}
	for _, text := range []string{"", "1", "1:", ":00", "1:0", "12:" + strings.Repeat("01ff", 8), "1:" + strings.Repeat("01fg", 8), strings.Repeat("01ff", 8)} {
		var k Key
		if err := k.UnmarshalText([]byte(text)); !errors.Is(err, ErrKey) || k.version != 0 {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := (*Key)(nil).UnmarshalText([]byte(NewKey('1').Reveal())); !errors.Is(err, ErrKey) {
		t.Error(err)
	}
}

func TestNewErrors(t *testing.T) {
	one, two := testKey(t, '1'), testKey(t, '2')
	same, other := one, two
	same.version, other.version = '9', '1'
	for name, tt := range map[string]struct {
		purpose string
		keys    []Key
	}{
		"no key":         {"", []Key{{}}},
		"an old zero":    {"", []Key{one, {}}},
		"one version":    {"", []Key{one, other}},
		"one secret":     {"", []Key{one, two, same}},
		"a long purpose": {strings.Repeat("x", maxPurpose+1), []Key{one}},
	} {
		if c, err := New(tt.purpose, tt.keys[0], tt.keys[1:]...); c != nil || !errors.Is(err, ErrKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for n := range maxPurpose + 1 { // each length of the tweak, for its padding
		c := newCodec(t, strings.Repeat("x", n), one)
		if id, err := c.Decode(encode(t, c, 5)); id != 5 || err != nil {
			t.Errorf("a purpose of %d bytes: %d, %v", n, id, err)
		}
	}
}

// Nothing but Reveal shows the secret.
func TestKeyIsNotShown(t *testing.T) {
	k := testKey(t, '1')
	type config struct{ Key Key }
	type service struct { // package fmt calls no methods of fields that are not exported
		key  Key
		keys map[string]*config
		old  []Key
	}
	inside := service{k, map[string]*config{"x": {k}}, []Key{k}}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("", "key", k, "config", config{k}, "service", inside)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("", "key", k, "config", config{k}, "service", inside)
	text, err := json.Marshal(config{k})
	if err == nil {
		t.Errorf("the JSON is %s", text)
	}
	all := log.String() + string(text) + err.Error() + fmt.Sprintf("%v %+v %#v %s %x %X %q %d %v %+v %#v %x", k, k, k, k, k, k, k, k, &k, config{k}, []Key{k}, config{k})
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		all += fmt.Sprintf(verb, inside) + fmt.Sprintf(verb, &inside)
	}
	for _, secret := range []string{"0031ff", "0031FF", "49 255", "49, 255", "0x31, 0xff", "\x001\xff"} {
		if strings.Contains(all, secret) {
			t.Errorf("%q is shown in %s", secret, all)
		}
	}
	if !strings.Contains(all, "key '1'") || !strings.Contains(log.String(), `"key":"key '1'"`) {
		t.Errorf("the version is not shown in %s", all)
	}
}

func TestCodecConcurrently(t *testing.T) {
	c := newCodec(t, "orders", testKey(t, 'a'), testKey(t, 'b'))
	var all sync.WaitGroup
	for n := range uid.ID(8) {
		all.Go(func() {
			for id := n << 40; id < n<<40+500; id++ {
				text, err := c.Encode(id)
				if err != nil {
					t.Error(err)
				}
				if back, err := c.Decode(text); back != id || err != nil {
					t.Errorf("%q is %d, %v; want %d", text, back, err, id)
				}
			}
		})
	}
	all.Wait()
}

func FuzzDecode(f *testing.F) {
	c := newCodec(f, "orders", testKey(f, 'a'), testKey(f, 'b'))
	for _, s := range []string{"", "a00000000000", "b00000000000", "c00000000000", "aAzL8n0Y58m7", "aAzL8n0Y58m8", "a0000000000é", "é00000000000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := c.Decode(s)
		if err != nil {
			if id != 0 || !errors.Is(err, ErrText) && !errors.Is(err, ErrVersion) {
				t.Errorf("%q is %d, %v", s, id, err)
			}
			return
		}
		if id < 0 {
			t.Fatalf("%q is %d", s, id)
		}
		if text := encode(t, c, id); text != "a"+s[1:] && s[0] == 'a' {
			t.Errorf("%q is %d, which is %q", s, id, text)
		}
	})
}

func FuzzEncode(f *testing.F) {
	c := newCodec(f, "orders", testKey(f, 'a'))
	for _, v := range []int64{0, 1, 1 << 31, 1 << 32, math.MaxInt64} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v int64) {
		id := uid.ID(v & math.MaxInt64)
		text := encode(t, c, id)
		if back, err := c.Decode(text); back != id || err != nil || !slices.Equal([]byte(text), must(c.Append(nil, id))) {
			t.Errorf("%d is %q, which is %d, %v", id, text, back, err)
		}
	})
}

// A key is read from the text that it is written as, and an error does not contain the text.
func FuzzParseKey(f *testing.F) {
	for _, s := range []string{"", ":", "a:", testKey(f, 'a').Reveal(), "ab:00", "é:00112233445566778899aabbccddeeff", "a:00112233445566778899aabbccddeefg",
		"a:00112233445566778899AABBCCDDEEFF", "a:00112233445566778899aabbccddeeff00", "00112233445566778899aabbccddeeff", "a:0011:2233445566778899aabbccddeeff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		k, err := ParseKey(s)
		if err != nil {
			if !errors.Is(err, ErrKey) || len(s) > 16 && strings.Contains(err.Error(), s[2:]) || len(err.Error()) > 300 {
				t.Errorf("%q: %v", s, err)
			}
			return
		}
		if !strings.EqualFold(k.Reveal(), s) || k.Version() != s[0] || k.Reveal()[0] != s[0] {
			t.Errorf("%q is %q", s, k.Reveal())
		}
		newCodec(t, "orders", k)
	})
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func BenchmarkAppend(b *testing.B) {
	c := newCodec(b, "orders", testKey(b, 'a'))
	dst := make([]byte, 0, 64)
	id := uid.ID(rand.Int64())
	for b.Loop() {
		dst = must(c.Append(dst[:0], id))
		id = (id + 1) & math.MaxInt64
	}
}

func BenchmarkDecode(b *testing.B) {
	c := newCodec(b, "orders", testKey(b, 'a'))
	text := encode(b, c, 962392666547429376)
	for b.Loop() {
		if _, err := c.Decode(text); err != nil {
			b.Fatal(err)
		}
	}
}
