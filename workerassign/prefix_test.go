package workerassign

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestPrefix(t *testing.T) {
	ctx := context.Background()
	a := Prefix(countFrom(7), 5, 5) // Twitter's: five bits of data centre, five of worker
	for want := int64(5<<5 | 7); want < 6<<5; want++ {
		l, err := a.Assign(ctx, request10Bits)
		if err != nil || l.WorkerID() != want {
			t.Fatalf("worker ID %v, %v; want %d", l, err, want)
		}
	}
	inner := countFrom(32)
	_, err := Prefix(inner, 5, 5).Assign(ctx, request10Bits)
	if !errors.Is(err, ErrWidth) || !strings.Contains(err.Error(), "32 is not from 0 to 31") || inner.released.Load() != 1 {
		t.Errorf("%v; %d leases were given back", err, inner.released.Load())
	}
	broken := countFrom(32)
	broken.fail = errors.New("broken")
	if _, err := Prefix(broken, 5, 5).Assign(ctx, request10Bits); !errors.Is(err, broken.fail) {
		t.Errorf("%v", err)
	}
}

// Prefixes of one width keep stores apart whatever is divided beneath them, but not where a Divide
// is around one: its parts lie above the prefix.
func TestPrefixesKeepStoresApart(t *testing.T) {
	ids := func(a Assigner) map[int64]bool {
		got := map[int64]bool{}
		for {
			l, err := a.Assign(context.Background(), request10Bits)
			if errors.Is(err, ErrWidth) {
				return got
			}
			if err != nil {
				t.Fatal(err)
			}
			got[l.WorkerID()] = true
		}
	}
	divide := func(a Assigner, bits int) Assigner {
		if bits == 0 {
			return a
		}
		return Divide(a, bits)
	}
	for bits := range 4 {
		for others := range 4 {
			mine := ids(Prefix(divide(countFrom(0), bits), 0, 3))
			if len(mine) != 128 {
				t.Fatalf("%d worker IDs, want all 128 of the prefix", len(mine))
			}
			for id := range ids(Prefix(divide(countFrom(0), others), 2, 3)) {
				if mine[id] {
					t.Fatalf("divided by %d and %d bits: worker ID %d of both stores", bits, others, id)
				}
			}
		}
	}
	mine, twice := ids(Divide(Prefix(countFrom(0), 0, 3), 2)), 0
	for id := range ids(Prefix(countFrom(0), 2, 3)) {
		if mine[id] {
			twice++
		}
	}
	if twice == 0 {
		t.Error("a Divide around one of the prefixes does no harm; correct the documentation of Prefix")
	}
}
