package uniq_test

import (
	"math"
	"sync"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit/uniq"
)

// Add reports for each value whether it was added before.
func TestAdd(t *testing.T) {
	var s uniq.Set
	w := s.Writer()
	values := []int64{0, 1, 63, 64, 1<<18 - 1, 1 << 18, 1 << 40, math.MaxInt64, -1, math.MinInt64}
	for _, v := range values {
		if !w.Add(v) {
			t.Errorf("the first Add(%d) = false, want true", v)
		}
	}
	for _, v := range values {
		if w.Add(v) {
			t.Errorf("the second Add(%d) = true, want false", v)
		}
	}
	if got := s.Len(); got != int64(len(values)) {
		t.Errorf("Len() = %d, want %d", got, len(values))
	}
}

// If many writers add the same values concurrently, each value is new for exactly one of them.
func TestConcurrentWriters(t *testing.T) {
	const goroutines, each = 8, 100_000
	var (
		s     uniq.Set
		wg    sync.WaitGroup
		added [goroutines]int
	)
	for g := range goroutines {
		wg.Go(func() {
			w := s.Writer()
			for v := range int64(each) {
				if w.Add(v) {
					added[g]++
				}
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, n := range added {
		sum += n
	}
	if sum != each || s.Len() != each {
		t.Errorf("%d values were new, and the set has %d members; want %d", sum, s.Len(), each)
	}
}
