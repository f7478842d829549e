package server

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/ringuid/ringuid/uid"
)

// reference is the list as encoding/json writes it.
func reference(t testing.TB, list []int64, asNumber bool) string {
	t.Helper()
	var v any = list
	if !asNumber {
		v = stringsOf(list)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return `{"ids":` + string(b) + "}\n"
}

// listOf returns the answer with a list of UIDs.
func listOf(b *batch, list []int64, asNumber bool) (string, error) {
	b.ids, b.runs, b.out = b.ids[:0], b.runs[:0], b.out[:0]
	for _, v := range list {
		b.ids = append(b.ids, uid.ID(v))
	}
	if err := b.addIDs(b.ids); err != nil {
		return "", err
	}
	return string(b.list(asNumber)), nil
}

func stringsOf(list []int64) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = string(appendNumber(nil, v, true))
	}
	return out
}

// A list is what encoding/json writes, whatever runs it has: across changes of the last four digits, of the number of
// digits, and at the ends of the range.
func TestList(t *testing.T) {
	lists := [][]int64{{1}, {9, 10, 11}, {98, 99, 100, 101}, {998, 999, 1000}, {9998, 9999, 10_000, 10_001}, {99_998, 99_999, 100_000}, {math.MaxInt64 - 1, math.MaxInt64}, {5, 4, 3}, {10_000, 10_002, 10_004}}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var list []int64
		for range rng.IntN(4) + 1 {
			first := rng.Int64() >> rng.IntN(62)
			if first > math.MaxInt64-20_000 || first == 0 {
				continue
			}
			if rng.IntN(2) == 0 && first > 10_000 {
				first -= first%10_000 - 9_990
			}
			for i := range rng.Int64N(260) + 1 {
				list = append(list, first+i)
			}
		}
		if len(list) > 0 {
			lists = append(lists, list)
		}
	}
	var long []int64
	for i := range int64(25_000) {
		long = append(long, 962392666547429376+i)
	}
	lists = append(lists, long)
	// Runs of more than a hundred numbers across each change of the digits that their copies differ in, and of those before them.
	for limit := int64(1000); ; limit *= 10 {
		for _, before := range []int64{5, 99, 100, 101, 250} {
			for _, digit := range []int64{1, 7} {
				var run []int64
				for i := range int64(500) {
					run = append(run, digit*limit-before+i)
				}
				lists = append(lists, run)
			}
		}
		if limit == 1e18 {
			break
		}
	}
	var last []int64
	for i := range int64(350) {
		last = append(last, math.MaxInt64-349+i)
	}
	lists = append(lists, last)
	for _, list := range lists {
		for _, asNumber := range []bool{false, true} {
			got, err := listOf(new(batch), list, asNumber)
			if want := reference(t, list, asNumber); got != want || err != nil {
				t.Fatalf("%v: %v %.500s, want %.500s", list[:min(len(list), 20)], err, got, want)
			}
		}
	}
}

// A number that is not positive is reported, wherever it is.
func TestListNotPositive(t *testing.T) {
	for _, list := range [][]int64{{0}, {-1}, {1, 2, 0}, {0, 1}, {-1, 0, 1, 2}, {5, -5, 6}, {math.MaxInt64, math.MinInt64}} {
		if got, err := listOf(new(batch), list, true); err != errNotPositive {
			t.Errorf("%d: %s, %v", list, got, err)
		}
	}
}

// BenchmarkList is the cost of 1,000 consecutive UIDs. Each list begins where the one before it has ended.
func BenchmarkList(b *testing.B) {
	batch, first := new(batch), int64(962392666547429376)
	for b.Loop() {
		batch.runs, batch.out = append(batch.runs[:0], run{first, 1000}), batch.out[:0]
		batch.list(false)
		first += 1000
	}
}
