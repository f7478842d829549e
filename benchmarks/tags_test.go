package benchmarks

import (
	"fmt"
	"sync/atomic"
	"testing"
)

// BenchmarkTags measures Tags.Next: finding the Sequence of a tag by its name, and taking a number. Each call uses another tag
// than the one before, so with many tags their memory is not in the caches of the core.
func BenchmarkTags(b *testing.B) {
	for _, count := range []int{1, ManyTags} {
		tags, names, err := OpenTags(count)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("Serial/%d", count), func(b *testing.B) {
			at := 0
			for b.Loop() {
				if at++; at == count {
					at = 0
				}
				if _, err := tags.Next(names[at]); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("Parallel/%d", count), func(b *testing.B) {
			var goroutines atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				at := int(goroutines.Add(1)) * count / 2 % count // not the tags that another goroutine uses at this time
				for pb.Next() {
					if at++; at == count {
						at = 0
					}
					if _, err := tags.Next(names[at]); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
		if err := tags.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
