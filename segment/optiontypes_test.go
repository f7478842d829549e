package segment_test

import "github.com/ringuid/ringuid/segment"

// Every Option is an option of a Tags and of a Daily too. A program outside of the package must be able to compile
// this.
var (
	_ segment.TagsOption  = segment.WithCapacity(2)
	_ segment.DailyOption = segment.WithCapacity(2)
)
