package random

import (
	"math/rand/v2"
	"testing"
)

func TestIntN(t *testing.T) {
	numbers := func() (list [50]int) {
		ctx := WithSource(t.Context(), rand.New(rand.NewPCG(1, 2)).IntN)
		for i := range list {
			if list[i] = IntN(ctx, 1000); list[i] < 0 || list[i] >= 1000 {
				t.Fatal(list[i])
			}
		}
		return list
	}
	if first, second := numbers(), numbers(); first != second {
		t.Error("two sources of the same seed return different numbers")
	}
	seen := map[int]bool{}
	for range 1000 {
		seen[IntN(t.Context(), 4)] = true
	}
	if len(seen) != 4 || seen[4] {
		t.Errorf("without a source: %v, want 0 to 3", seen)
	}
}
