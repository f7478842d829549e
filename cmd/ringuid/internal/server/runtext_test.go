package server

import (
	"math"
	"math/rand/v2"
	"testing"
)

// consecutive returns the numbers of a run.
func consecutive(first, n int64) (list []int64) {
	for i := range n {
		list = append(list, first+i)
	}
	return list
}

// The memory of an answer is used again: each answer must have its own numbers only, whatever the answers before it had.
func TestRunTextIsUsedAgain(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	b := new(batch)
	first := int64(962392666547429376)
	for i := range 4000 {
		switch rng.IntN(20) {
		case 0:
			first = rng.Int64() >> rng.IntN(40)
		case 1:
			first += 1 << 35 // the next unit of the default layout
		case 2:
			first = int64(math.Pow10(10+rng.IntN(9))) - rng.Int64N(1000)
		case 3:
			first -= rng.Int64N(100_000)
		case 4:
			first += rng.Int64N(100)
		}
		n := rng.Int64N(1200) + 1
		if i%100 == 0 {
			n *= 20
		}
		first = min(max(first, 1), math.MaxInt64-n)
		list, asNumber := consecutive(first, n), rng.IntN(30) == 0
		got, err := listOf(b, list, asNumber)
		if want := reference(t, list, asNumber); got != want || err != nil {
			t.Fatalf("list %d: %d numbers from %d on: %v\n%s\nwant\n%s", i, n, first, err, got, want)
		}
		first += n
	}
}

// FuzzRunText writes three lists with the same memory.
func FuzzRunText(f *testing.F) {
	f.Add(int64(962392666547429376), uint16(1000), int64(962392666547430376), uint16(1000), int64(962392700907167744), uint16(500))
	f.Add(int64(9_999_999_999), uint16(300), int64(99_999_999_900), uint16(201), int64(math.MaxInt64-3000), uint16(3000))
	f.Fuzz(func(t *testing.T, first1 int64, n1 uint16, first2 int64, n2 uint16, first3 int64, n3 uint16) {
		b := new(batch)
		for i, r := range []run{{first1, int64(n1)}, {first2, int64(n2)}, {first3, int64(n3)}} {
			if r.n = r.n%3000 + 1; r.first < 1 || r.first > math.MaxInt64-r.n {
				return
			}
			list := consecutive(r.first, r.n)
			got, err := listOf(b, list, i == 1)
			if want := reference(t, list, i == 1); got != want || err != nil {
				t.Fatalf("list %d: %d numbers from %d on: %v\n%s\nwant\n%s", i, r.n, r.first, err, got, want)
			}
		}
	})
}
