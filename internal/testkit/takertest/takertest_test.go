package takertest

import (
	"testing"

	"github.com/ringuid/ringuid/segment"
)

// A number that takers before have taken is a duplicate.
func TestDuplicatesOfTakersBefore(t *testing.T) {
	first, second := New(t), New(t)
	second.Follow(first)
	first.add(first.set.Writer(), segment.Range{First: 1, Length: 10, Stride: 1})
	second.add(second.set.Writer(), segment.Range{First: 8, Length: 10, Stride: 1})
	if first.Duplicates() != 0 || second.Duplicates() != 3 || second.Len() != 10 {
		t.Errorf("%d and %d duplicates of %d numbers, want 0 and 3 of 10", first.Duplicates(), second.Duplicates(), second.Len())
	}
}
