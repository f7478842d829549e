package uid

import (
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/testkit"
)

// The inverse is exact: multiplication modulo 2^63 by two numbers whose product is 1 is the identity, for each number.
func TestScatteredIsExact(t *testing.T) {
	testkit.WithoutRace(t)
	if one := uint64(scatter); one*gather&(1<<63-1) != 1 {
		t.Fatalf("%#x and %#x are not inverse modulo 2^63", uint64(scatter), uint64(gather))
	}
	check := func(id ID) {
		key, err := Scattered(id).Value()
		if err != nil {
			t.Fatal(err)
		}
		var back Scattered
		if err := back.Scan(key); err != nil || ID(back) != id || key.(int64) < 0 {
			t.Fatalf("%d is %d in the database, and %d, %v when it is read", id, key, back, err)
		}
	}
	for bit := range 63 {
		check(1 << bit)
		check(1<<bit - 1)
		check(math.MaxInt64 - 1<<bit)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 1_000_000 {
		check(ID(rnd.Int64()))
	}
}

// Neighbours are spread evenly over the keys: those that differ in the sequence, the worker ID or the time only.
func TestScatteredSpreads(t *testing.T) {
	layouts := []bitsalloc.Layout{bitsalloc.Default()}
	for _, widths := range [][3]int{{41, 10, 12}, {40, 5, 3}, {30, 20, 13}, {31, 12, 10}} {
		l, err := bitsalloc.New(widths[0], widths[1], widths[2])
		if err != nil {
			t.Fatal(err)
		}
		layouts = append(layouts, l)
	}
	const ranges, mean = 16, 64
	for _, l := range layouts {
		for _, field := range []struct {
			name        string
			shift, bits int
		}{
			{"sequence", 0, l.SequenceBits()},
			{"worker ID", l.SequenceBits(), l.WorkerBits()},
			{"time", l.SequenceBits() + l.WorkerBits(), l.TimeBits()},
		} {
			if field.bits < 5 {
				continue // too few to be even
			}
			var counts [ranges]int
			n := min(ranges*mean, 1<<field.bits)
			for k := range n {
				key, err := Scattered(int64(k) << field.shift).Value()
				if err != nil {
					t.Fatal(err)
				}
				counts[key.(int64)>>59]++
			}
			for i, c := range counts {
				if average := n / ranges; c < average/2 || c > 2*average {
					t.Errorf("%v, %d values of the %s: range %d of %d has %d of them", l, n, field.name, i, ranges, c)
				}
			}
		}
	}
}

func TestScatteredForms(t *testing.T) {
	var s Scattered
	for _, src := range []any{nil, int64(-1), "x", 1.5, []byte("9223372036854775808"), uint64(1 << 63)} {
		if err := s.Scan(src); !errors.Is(err, ErrRange) || s != 0 {
			t.Errorf("Scan(%v): %v", src, err)
		}
	}
	if err := (*Scattered)(nil).Scan(int64(1)); !errors.Is(err, ErrOption) {
		t.Errorf("Scan into nil: %v", err)
	}
	if _, err := Scattered(-1).Value(); !errors.Is(err, ErrRange) {
		t.Errorf("Value of -1: %v", err)
	}
	const id = 962392666547429376
	key, err := Scattered(id).Value()
	if err != nil {
		t.Fatal(err)
	}
	for _, src := range []any{key, uint64(key.(int64)), ID(key.(int64)).String(), []byte(ID(key.(int64)).String())} {
		if err := s.Scan(src); err != nil || s != id {
			t.Errorf("Scan(%T): %v, %v", src, s, err)
		}
	}
	var null sql.Null[Scattered]
	if err := null.Scan(nil); err != nil || null.Valid {
		t.Errorf("a NULL: %v, %v", null, err)
	}
	text, err := json.Marshal(map[Scattered]Scattered{id: id})
	if err != nil || string(text) != `{"962392666547429376":"962392666547429376"}` {
		t.Errorf("JSON: %s, %v", text, err)
	}
	var back map[Scattered]Scattered
	if err := json.Unmarshal(text, &back); err != nil || back[id] != id {
		t.Errorf("from JSON: %v, %v", back, err)
	}
}
