package formstest

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"

	"github.com/ringuid/ringuid/uid"
)

// ids returns IDs of all lengths.
func ids() (ids []uid.ID) {
	random := rand.New(rand.NewPCG(5, 6))
	ids = []uid.ID{0, 1, math.MaxInt64 - 1, math.MaxInt64}
	for shift := range 63 {
		for range 200 {
			ids = append(ids, uid.ID(random.Int64()>>shift))
		}
	}
	return ids
}

// Base32 is the end of the ULID with the same low bits: a ULID is 128 bits in Crockford's base 32.
func TestBase32(t *testing.T) {
	for _, id := range ids() {
		var u ulid.ULID
		binary.BigEndian.PutUint64(u[8:], uint64(id))
		if theirs := u.String(); theirs[:13] != "0000000000000" || theirs[13:] != id.Base32() {
			t.Fatalf("%d is %q, and the ULID %q", id, id.Base32(), theirs)
		}
		back, err := ulid.ParseStrict("0000000000000" + strings.ToLower(id.Base32()))
		if err != nil || back != u {
			t.Fatalf("%q is read as the ULID %v, %v", id.Base32(), back, err)
		}
	}
}

// Base62 is the text of package big, which has the lower-case letters first.
func TestBase62(t *testing.T) {
	swap := func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return r
	}
	for _, id := range ids() {
		theirs := strings.Map(swap, big.NewInt(int64(id)).Text(62))
		if got := id.Base62(); strings.TrimLeft(got, "0") != strings.TrimLeft(theirs, "0") || len(got) != 11 {
			t.Fatalf("%d is %q, and %q in package big", id, got, theirs)
		}
	}
}
