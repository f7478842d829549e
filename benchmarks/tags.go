package benchmarks

import (
	"fmt"
	"math/rand/v2"

	"github.com/ringuid/ringuid/segment"
)

// ManyTags is how many tags one process uses in the measurements of Tags.
const ManyTags = 10_000

// OpenTags returns a Tags with the given number of tags that are open, and their names in random order. The caller must close it.
func OpenTags(count int) (*segment.Tags, []string, error) {
	tags, err := segment.NewTags(NewSource(SegmentStep, 0), segment.WithStepPolicy(segment.FixedStep{}))
	if err != nil {
		return nil, nil, err
	}
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("invoices/%08d", i)
		if _, err := tags.Next(names[i]); err != nil {
			tags.Close()
			return nil, nil, err
		}
	}
	rand.Shuffle(count, func(i, j int) { names[i], names[j] = names[j], names[i] })
	return tags, names, nil
}
