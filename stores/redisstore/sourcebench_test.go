package redisstore_test

import (
	"context"
	"testing"

	"github.com/ringuid/ringuid/segment"
)

// BenchmarkINCR is one command for each number.
func BenchmarkINCR(b *testing.B) {
	_, c, pool := newStore(b)
	key := tagsKey(pool) + ":incr"
	b.Cleanup(func() { c.Del(context.Background(), key) })
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if err := c.Incr(context.Background(), key).Err(); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "numbers/s")
}

// BenchmarkTake is one script for each range of 1000 numbers.
func BenchmarkTake(b *testing.B) {
	const step = 1000
	s, _, _ := newStore(b)
	createTag(b, s, "x", segment.TagConfig{Step: step})
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := s.Take(context.Background(), segment.Request{Tag: "x"}); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)*step/b.Elapsed().Seconds(), "numbers/s")
}
