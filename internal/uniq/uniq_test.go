package uniq_test

import (
	"math"
	"sync"
	"testing"

	"github.com/ringuid/ringuid/internal/uniq"
)

func TestAddFindsEveryRepeat(t *testing.T) {
	var s uniq.Set
	w := s.Writer()
	values := []int64{0, 1, 63, 64, 1<<18 - 1, 1 << 18, 1 << 40, math.MaxInt64, -1, math.MinInt64}
	for _, v := range values {
		if !w.Add(v) {
			t.Errorf("Add(%d) = false the first time", v)
		}
	}
	for _, v := range values {
		if w.Add(v) {
			t.Errorf("Add(%d) = true the second time", v)
		}
	}
	if got := s.Len(); got != int64(len(values)) {
		t.Errorf("Len() = %d, want %d", got, len(values))
	}
}

func TestWritersAgree(t *testing.T) {
	const goroutines, each = 8, 100_000
	var (
		s    uniq.Set
		wg   sync.WaitGroup
		news [goroutines]int
	)
	for g := range goroutines {
		wg.Go(func() {
			w := s.Writer()
			for v := range int64(each) {
				if w.Add(v) {
					news[g]++
				}
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, n := range news {
		sum += n
	}
	if sum != each || s.Len() != each {
		t.Errorf("%d were new and %d are in the set, want %d", sum, s.Len(), each)
	}
}
