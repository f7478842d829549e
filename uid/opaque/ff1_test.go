package opaque

import (
	"encoding/hex"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
)

// cipherText encrypts a string of digits, and checks that it is decrypted again.
func cipherText(t *testing.T, key, tweak []byte, radix int, text string) string {
	t.Helper()
	f, err := newFF1(key, tweak, uint64(radix), len(text))
	if err != nil {
		t.Fatal(err)
	}
	u := len(text) / 2
	number := func(digits string) uint64 {
		n, err := strconv.ParseUint(digits, radix, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	digits := func(n uint64, length int) string {
		s := strconv.FormatUint(n, radix)
		return strings.Repeat("0", length-len(s)) + s
	}
	a, b := f.encrypt(number(text[:u]), number(text[u:]))
	if c, d := f.decrypt(a, b); digits(c, u)+digits(d, len(text)-u) != text {
		t.Errorf("%s is decrypted to %d, %d", text, c, d)
	}
	return digits(a, u) + digits(b, len(text)-u)
}

// The samples of NIST for FF1, with all key sizes, two radixes, and tweaks.
func TestFF1Samples(t *testing.T) {
	const key = "2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F7F036D6F04FC6A94"
	for i, tt := range []struct {
		keyBytes    int
		radix       int
		tweak       string
		plain, want string
	}{
		{16, 10, "", "0123456789", "2433477484"},
		{16, 10, "39383736353433323130", "0123456789", "6124200773"},
		{16, 36, "3737373770717273373737", "0123456789abcdefghi", "a9tv40mll9kdu509eum"},
		{24, 10, "", "0123456789", "2830668132"},
		{24, 10, "39383736353433323130", "0123456789", "2496655549"},
		{24, 36, "3737373770717273373737", "0123456789abcdefghi", "xbj3kv35jrawxv32ysr"},
		{32, 10, "", "0123456789", "6657667009"},
		{32, 10, "39383736353433323130", "0123456789", "1001623463"},
		{32, 36, "3737373770717273373737", "0123456789abcdefghi", "xs8a0azh2avyalyzuwd"},
	} {
		secret, err := hex.DecodeString(key[:2*tt.keyBytes])
		if err != nil {
			t.Fatal(err)
		}
		tweak, err := hex.DecodeString(tt.tweak)
		if err != nil {
			t.Fatal(err)
		}
		if got := cipherText(t, secret, tweak, tt.radix, tt.plain); got != tt.want {
			t.Errorf("sample %d: %s is encrypted to %s, want %s", i+1, tt.plain, got, tt.want)
		}
	}
}

// On small domains the cipher is a bijection, exactly: with even and odd numbers of digits, and several radixes.
func TestFF1IsBijective(t *testing.T) {
	testkit.WithoutRace(t)
	key := []byte("0123456789abcdef")
	for _, tt := range []struct {
		radix uint64
		n     int
	}{{2, 2}, {2, 3}, {2, 11}, {2, 16}, {3, 7}, {10, 4}, {36, 3}} {
		f, err := newFF1(key, []byte("tweak"), tt.radix, tt.n)
		if err != nil {
			t.Fatal(err)
		}
		seen, fixed := map[[2]uint64]bool{}, 0
		for a := range f.modU {
			for b := range f.modV {
				c, d := f.encrypt(a, b)
				if c >= f.modU || d >= f.modV || seen[[2]uint64{c, d}] {
					t.Fatalf("radix %d, %d digits: %d, %d is encrypted to %d, %d, which is too great or occurs twice", tt.radix, tt.n, a, b, c, d)
				}
				seen[[2]uint64{c, d}] = true
				if e, g := f.decrypt(c, d); e != a || g != b {
					t.Fatalf("radix %d, %d digits: %d, %d is decrypted to %d, %d", tt.radix, tt.n, a, b, e, g)
				}
				if a == c && b == d {
					fixed++
				}
			}
		}
		if len(seen) > 100 && fixed > 10 { // 1 is expected
			t.Errorf("radix %d, %d digits: %d of %d are encrypted to themselves", tt.radix, tt.n, fixed, len(seen))
		}
	}
}

// Each bit of the ciphertext depends on each bit of the plaintext, of the key and of the tweak.
func TestFF1Avalanche(t *testing.T) {
	key := []byte("0123456789abcdef")
	base, err := newFF1(key, []byte("tweak"), 2, 63)
	if err != nil {
		t.Fatal(err)
	}
	number := func(a, b uint64) uint64 { return a<<32 | b }
	encrypt := func(f *ff1, n uint64) uint64 { return number(f.encrypt(n>>32, n&(1<<32-1))) }
	const samples = 400
	check := func(name string, changed func(n uint64) uint64) {
		var flips [63]int
		for range samples {
			n := rand.Uint64() >> 1
			for diff, i := encrypt(base, n)^changed(n), 0; i < 63; i++ {
				flips[i] += int(diff >> i & 1)
			}
		}
		for i, n := range flips {
			if n < samples/2-80 || n > samples/2+80 { // 200 ± 10 are expected
				t.Errorf("%s: bit %d of the result changes in %d of %d cases", name, i, n, samples)
			}
		}
	}
	for bit := range 63 {
		check("bit "+strconv.Itoa(bit), func(n uint64) uint64 { return encrypt(base, n^1<<bit) })
	}
	other, err := newFF1(key, []byte("tweal"), 2, 63)
	if err != nil {
		t.Fatal(err)
	}
	check("the tweak", func(n uint64) uint64 { return encrypt(other, n) })
	otherKey, err := newFF1([]byte("0123456789abcdeg"), []byte("tweak"), 2, 63)
	if err != nil {
		t.Fatal(err)
	}
	check("the key", func(n uint64) uint64 { return encrypt(otherKey, n) })
}

func TestFF1Errors(t *testing.T) {
	key := make([]byte, 16)
	if _, err := newFF1(key, nil, 2, 126); err != nil {
		t.Errorf("halves of 63 binary digits: %v", err)
	}
	for _, tt := range []struct {
		key   []byte
		radix uint64
		n     int
	}{{key[:15], 2, 63}, {key, 2, 128}, {key, 2, 1}, {key, 1, 10}, {key, 36, 26}} {
		if f, err := newFF1(tt.key, nil, tt.radix, tt.n); f != nil || err == nil {
			t.Errorf("%d bytes, radix %d, %d digits: %v", len(tt.key), tt.radix, tt.n, err)
		}
	}
}
