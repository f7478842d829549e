package benchmarks

import (
	"sync"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit/uniq"
)

// The rebuilt algorithms hand out each number once, with short segments, so that many calls find them used up.
func TestCosIDUnique(t *testing.T) {
	const goroutines, each, step = 4, 50_000, 100
	chain := NewCosIDChain(NewSource(step, 0), "orders", step)
	defer chain.Close()
	for name, next := range map[string]func() (int64, error){
		"SegmentChainId":   chain.Next,
		"DefaultSegmentId": NewCosIDSegment(NewSource(step, 0), "orders", step).Next,
	} {
		t.Run(name, func(t *testing.T) {
			var (
				all     sync.WaitGroup
				numbers [goroutines][]int64
			)
			for i := range goroutines {
				all.Go(func() {
					for range each {
						n, err := next()
						if err != nil {
							t.Error(err)
							return
						}
						numbers[i] = append(numbers[i], n)
					}
				})
			}
			all.Wait()
			seen := new(uniq.Set).Writer()
			for _, taken := range numbers {
				for _, n := range taken {
					if n < 1 || !seen.Add(n) {
						t.Fatalf("the number %d was handed out twice, or is less than 1", n)
					}
				}
			}
		})
	}
}
