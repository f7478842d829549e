package workerassign

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// The prefix fills the upper bits of the worker IDs.
func TestPrefix(t *testing.T) {
	ctx := context.Background()
	a := Prefix(countFrom(7), 5, 5) // as Twitter's Snowflake: five bits for the data center, five for the worker
	for want := int64(5<<5 | 7); want < 6<<5; want++ {
		l, err := a.Assign(ctx, request10Bits)
		if err != nil || l.WorkerID() != want {
			t.Fatalf("worker ID %v, %v; want %d", l, err, want)
		}
	}
	inner := countFrom(32)
	_, err := Prefix(inner, 5, 5).Assign(ctx, request10Bits)
	if !errors.Is(err, ErrWidth) || !strings.Contains(err.Error(), "worker ID is 32; must be 0 to 31") || inner.released.Load() != 1 {
		t.Errorf("%v; %d leases were released, want 1", err, inner.released.Load())
	}
	failing := countFrom(32)
	failing.err = errors.New("store failed")
	if _, err := Prefix(failing, 5, 5).Assign(ctx, request10Bits); !errors.Is(err, failing.err) {
		t.Errorf("Assign() = %v, want the store's error", err)
	}
}

// Worker IDs with different prefixes of the same width differ, whatever Divide is inside of Prefix. If
// Divide is outside of Prefix, they can be equal, because the number of the part lies above the prefix.
func TestPrefixSeparatesStores(t *testing.T) {
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
					t.Fatalf("divided by %d and %d bits: both stores have worker ID %d", bits, others, id)
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
		t.Error("Divide outside of one of the prefixes causes no equal worker IDs; correct the documentation of Prefix")
	}
}
