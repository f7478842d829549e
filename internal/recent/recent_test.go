package recent

import "testing"

// Values keeps the last 4,096 values, and not more than twice as many.
func TestValues(t *testing.T) {
	var r Values[int, int]
	if _, ok := r.Get(1); ok {
		t.Error("an empty Values has a value")
	}
	const n = 20_000
	for i := range n {
		r.Put(i, -i)
		for _, back := range []int{0, 1, recentSize - 1} {
			if v, ok := r.Get(i - back); i >= back && (!ok || v != back-i) {
				t.Fatalf("after %d: %d, %v", i, v, ok)
			}
		}
	}
	if size := len(r.young) + len(r.old); size > 2*recentSize {
		t.Errorf("%d values are kept", size)
	}
}
