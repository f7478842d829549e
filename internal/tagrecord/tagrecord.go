// Package tagrecord has what the sources of package segment share that keep one small text for each tag, and
// replace it by compare-and-swap: the encoding of the records, what a Take and a CreateTag make of them, and
// the queue of the calls of one tag.
package tagrecord

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/ringuid/ringuid/segment"
)

// DefaultGap is how many numbers a tag skips when the store has another history, unless an option says
// otherwise.
const DefaultGap = 1_000_000

// MaxGap is the greatest gap.
const MaxGap = segment.MaxStep

// createMargin is how much later than the change of the history a tag must have been impossible, to begin without
// a gap: the clocks of the hosts differ.
const createMargin = time.Minute

// A Record is what a store keeps of one tag.
type Record struct {
	Tag         string
	Next        int64 // the next number: 1 to math.MaxInt64, which means that no number is left
	Step        int64 // 1 to segment.MaxStep
	Description string
	History     string    // the history of the store at the last write
	Since       time.Time // when that history was first seen; the zero time: the pool was declared new under it
	Skip        int64     // Pool.Skip under that history
}

// A Pool is what a store keeps of all its tags together.
type Pool struct {
	History string    // the history of the store at the last write
	Since   time.Time // when that history was first seen; the zero time: the pool was declared new under it

	// Skip is the sum of the gaps of all changes of the history. A tag skips what was added since its last write, and not
	// only one gap: a change that happened while it was not used may be one whose record it has lost, with the
	// numbers behind the gap.
	Skip int64
}

// Follow returns the pool's record under the present history of the store, which is read at the time now. A pool
// without a record (the zero Pool) has lost it, because there are tags, or because an operator says so.
func (p Pool) Follow(history string, now time.Time, gap int64) Pool {
	if p.History == history {
		return p
	}
	// The later time is the safe one: more tags begin with a gap.
	if now.Before(p.Since) {
		now = p.Since
	}
	return Pool{History: history, Since: now, Skip: add(p.Skip, gap)}
}

// Take returns the record after a Take, and the range of that Take. p is the pool's record under the store's present
// history, see Pool.Follow. If it returns an error, nothing must be written.
func (r Record) Take(req segment.Request, p Pool, gap int64) (Record, segment.Range, error) {
	next := r.Next
	if r.History != p.History {
		next = add(next, max(p.Skip-r.Skip, gap)) // it is less than the gap if the pool's record was lost
	}
	switch {
	case next < req.AtLeast:
		return r, segment.Range{}, &segment.SetBackError{Tag: r.Tag, Counter: next, AtLeast: req.AtLeast}
	case r.Next > segment.MaxNumber:
		return r, segment.Range{}, fmt.Errorf("%w: the counter of tag %q has reached %d, the end of 63 bits: use another tag",
			segment.ErrExhausted, r.Tag, r.Next)
	case next > segment.MaxNumber:
		return r, segment.Range{}, fmt.Errorf("%w: the counter of tag %q is %d, and the numbers behind it must be skipped up to the end of 63 bits, "+
			"because the store may have lost writes: use another tag", segment.ErrExhausted, r.Tag, r.Next)
	}
	r.Next = add(next, cmp.Or(req.Size, r.Step))
	r.History, r.Since, r.Skip = p.History, p.Since, p.Skip
	return r, segment.Range{First: next, Length: r.Next - next, Stride: 1, Step: r.Step}, nil
}

// newRecord returns the record of a new tag. c is valid, see segment.TagConfig.Validate. p is the pool's record under the
// store's present history.
func newRecord(tag string, c segment.TagConfig, p Pool, gap int64) (Record, error) {
	next := c.Start
	if !c.UnusedBefore.IsZero() && !p.Since.IsZero() && p.Since.After(c.UnusedBefore.Add(-createMargin)) {
		// The tag may have been lost more than once, and each time created again beyond what was skipped until then.
		jump := max(p.Skip, gap)
		if next = add(next, jump); next > segment.MaxNumber {
			return Record{}, fmt.Errorf("%w: tag %q would begin %d numbers behind its start %d, because the store may have lost writes: "+
				"that is beyond the end of 63 bits: use a lower start", segment.ErrExhausted, tag, jump, c.Start)
		}
	}
	return Record{Tag: tag, Next: next, Step: c.Step, Description: c.Description, History: p.History, Since: p.Since, Skip: p.Skip}, nil
}

// add returns a+b for numbers that are not negative, or math.MaxInt64 if that is less.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
