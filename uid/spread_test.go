package uid

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fakeclock"
)

func TestSpreadFirst(t *testing.T) {
	if s := newSpread(0); s != (spread{}) || s.first(12345) != 0 {
		t.Errorf("without a spread: %+v, %d", s, s.first(12345))
	}
	for bits := 1; bits <= 12; bits++ {
		s := newSpread(bits)
		seen := map[int64]int{}
		for unit := range int64(64 << bits) {
			first := s.first(unit)
			if first < 0 || first >= 1<<bits || first != s.first(unit) {
				t.Fatalf("%d bits: unit %d begins at %d", bits, unit, first)
			}
			seen[first]++
		}
		for first, n := range seen { // 64 ± 8 are expected
			if n < 64-6*8 || n > 64+9*8 { // beyond these bounds in one run of 10⁸
				t.Errorf("%d bits: %d of %d units begin at %d", bits, n, 64<<bits, first)
			}
		}
		if len(seen) != 1<<bits {
			t.Errorf("%d bits: units begin at %d sequences", bits, len(seen))
		}
		if s == newSpread(bits) {
			t.Errorf("%d bits: two generators have the same spread", bits)
		}
	}
}

// At a low rate all remainders of UIDs are equally frequent, and without a spread they are all 0.
func TestSpreadIsEven(t *testing.T) {
	testkit.WithoutRace(t)
	const shards, perShard = 16, 100
	for _, mode := range modes {
		for _, bits := range []int{0, 4, 6} {
			synctest.Test(t, func(t *testing.T) {
				g, err := mode.make(t.Context(), new(disposableAssigner), WithEpoch(bubbleEpoch), WithSpread(bits))
				if err != nil {
					t.Fatal(err)
				}
				defer g.Close()
				var count [shards]int
				for range shards * perShard {
					count[next(t, g)%shards]++
					time.Sleep(7 * time.Second) // the ring of a Cached generator is stale after 3 s
				}
				for shard, n := range count {
					switch {
					case bits > 0 && (n < perShard-60 || n > perShard+60): // 100 ± 10 are expected
						t.Errorf("%s, %d bits: shard %d has %d of %d UIDs", mode.name, bits, shard, n, shards*perShard)
					case bits == 0 && n != map[bool]int{true: shards * perShard}[shard == 0]:
						t.Errorf("%s, no spread: shard %d has %d UIDs", mode.name, shard, n)
					}
				}
			})
		}
	}
}

// Invariants 2 and 3 with a spread: each UID once, and in order, with all ways to take them.
func TestInvariant3Spread(t *testing.T) {
	total := testkit.Amount[int64](20_000, 200_000, 4_000_000)
	for _, bits := range []int{1, 3} {
		c := newCached(t, new(disposableAssigner), WithLayout(layout(t, 40, 4, 4)), WithMaxBorrow(100*365*24*time.Hour), WithSpread(bits))
		takeConcurrently(t, c, 8, total, true)
	}
	c := newCached(t, new(disposableAssigner), WithLayout(layout(t, 30, 22, 4)), WithMaxBorrow(time.Minute), WithSpread(3))
	takeConcurrently(t, c, 8, total/4, false)
	if c.Stats().Rollovers == 0 {
		t.Error("there was no rollover")
	}
	d := newDefault(t, new(disposableAssigner), WithLayout(layout(t, 41, 4, 8)), WithTimeUnit(time.Millisecond), WithSpread(7))
	takeConcurrently(t, d, 8, 20_000, true)
}

// A unit has the sequences from its first one to the last of the layout, and they are counted.
func TestSpreadOfUnits(t *testing.T) {
	const units, bits = 200, 3
	for _, worker := range []int64{0, 1} {
		clock := fakeclock.New(DefaultEpoch())
		a := new(disposableAssigner)
		a.lastID.Store(worker - 1)
		d := newDefault(t, a, WithLayout(layout(t, 30, 4, 4)), WithSpread(bits), WithClock(clock))
		issued := 0
		starts := map[int64]bool{}
		for unit := range int64(units) {
			first := max(d.lease.Load().spread.first(unit), map[bool]int64{true: 1}[unit == 0 && worker == 0])
			starts[first] = true
			for want := first; want < 16; want++ {
				if p := d.Parse(next(t, d)); p.Delta != unit || p.Sequence != want || p.WorkerID != worker {
					t.Fatalf("%+v, want unit %d and sequence %d", p, unit, want)
				}
				if issued++; d.Stats().Issued != uint64(issued) {
					t.Fatalf("%d are counted, and %d were issued", d.Stats().Issued, issued)
				}
			}
			clock.Advance(time.Second)
		}
		if len(starts) != 1<<bits {
			t.Errorf("units begin at %v", starts)
		}
		if err := d.Close(); err != nil || d.Stats().Issued != uint64(issued) {
			t.Errorf("after Close %d are counted, and %d were issued; %v", d.Stats().Issued, issued, err)
		}
	}
}

// The runs of a Cached generator are what a spread leaves of each unit.
func TestSpreadOfRuns(t *testing.T) {
	c := newCached(t, new(disposableAssigner), WithLayout(layout(t, 40, 4, 4)), WithMaxBorrow(100*365*24*time.Hour), WithSpread(3))
	last := c.Parse(next(t, c))
	for range 5_000 {
		p := c.Parse(next(t, c))
		switch {
		case p.Delta == last.Delta && p.Sequence != last.Sequence+1,
			p.Delta > last.Delta && (last.Sequence != 15 || p.Sequence != c.runs.spread.first(p.Delta)):
			t.Fatalf("%+v came after %+v", p, last)
		}
		last = p
	}
}

// A sealed lease with a spread counts what was issued in its last unit, and the next lease has the same spread.
func TestSpreadOfSealedLease(t *testing.T) {
	s := newSpread(3)
	for unit := range int64(50) {
		for _, worker := range []int64{0, 3} {
			l := newDefaultLease(layout(t, 31, 20, 4), leasing.NewHeldLease(worker, 0), 0, 0, s)
			first := l.firstOf(unit) & 15
			if unit == 0 && worker == 0 {
				first = max(first, 1)
			}
			l.last.Store(unit<<4 | 15)
			if got := l.seal(); got != 16-first {
				t.Errorf("unit %d, worker %d: %d were issued, want %d", unit, worker, got, 16-first)
			}
		}
	}
}

func TestSpreadOption(t *testing.T) {
	expectBothRefuse(t, new(disposableAssigner), ErrOption, "the spread is -1 bits; must be 0 (off) or more", 0, WithSpread(-1))
	expectBothRefuse(t, new(disposableAssigner), ErrOption, "the spread is 13 bits; must be less than the 13 sequence bits of the layout 1-28-22-13", 0, WithSpread(13))
	err := CheckDefault(WithSpread(12), WithLayout(layout(t, 30, 20, 12)))
	if !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), "12 sequence bits") {
		t.Error(err)
	}
	if err := CheckDefault(WithSpread(12)); err != nil {
		t.Error(err)
	}
}
