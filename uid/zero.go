package uid

import "fmt"

// errNotMade is the error of the methods of a generator that no constructor made.
var errNotMade = fmt.Errorf("%w: the generator is nil or the zero value; NewCached or NewDefault must make it", ErrOption)

// made reports whether NewCached made the generator.
func (c *Cached) made() bool { return c != nil && c.keeper != nil }

// made reports whether NewDefault made the generator.
func (d *Default) made() bool { return d != nil && d.time != nil }
