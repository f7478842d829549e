package segment

import (
	"context"
	"fmt"
	"math"
	"time"
)

// A Source hands out ranges of numbers, for many tags. Package segmenttest tests whether a source fulfils
// this contract. A program may implement it, and no method will be added; Request and Range may get more fields.
//
// All methods are safe for concurrent use, by any number of processes and hosts. They may block until ctx
// ends, and return soon after it has ended. A panic of one is a panic of the call of New or Next that runs it; in a
// goroutine of this package, which requests ranges ahead and opens the tags of a Tags, it ends the process.
type Source interface {
	// Take reserves a range of the tag's numbers: in one atomic and durable step it raises the tag's counter,
	// and returns the numbers in between. No other Take, of this or of another process, returns one of them,
	// whatever happens to the store afterwards, as far as its kind allows. Numbers that were reserved for a
	// Take that failed, for example because its reply was lost, are never returned again either: they are a gap.
	//
	// If the tag's counter is below r.AtLeast, Take changes nothing and returns a *SetBackError. If there is no
	// such tag, it returns an error that wraps ErrNoTag. If the tag has no numbers left, the error wraps
	// ErrExhausted; if only some are left, Take returns those. If another try is useless until somebody has
	// changed something, the error should say what.
	Take(ctx context.Context, r Request) (Range, error)

	// String describes the source in errors and log records: its kind and its address, without passwords.
	String() string
}

// A Request is what a Take asks for.
type Request struct {
	// Tag is the name of the sequence of numbers: 1 to MaxTagLength bytes of valid UTF-8, without control characters. It
	// is not "." or "..", and has no space at its ends.
	Tag string

	// Size is how many numbers are wanted: 1 to MaxStep. 0 means as many as the tag's step. Take may return
	// fewer, but never more.
	Size int64

	// AtLeast is the end of what the caller has received of this tag so far. All numbers of the range must be
	// AtLeast or greater. A counter below it was set back, by an operator or by a failover that lost writes.
	// 0 means that the caller remembers nothing.
	AtLeast int64
}

// A Range is a range of numbers: First, First+Stride, First+2*Stride and so on, Length numbers in all. All of
// them are 0 to math.MaxInt64-1.
type Range struct {
	First  int64 // the first number, at least 0; a Sequence does not hand out the number 0
	Length int64 // how many numbers there are, at least 1
	Stride int64 // the distance of two numbers, at least 1; 0 means 1
	Step   int64 // the tag's step as the source keeps it, at least 1; 0 if it keeps none
}

// A Creator is a Source that can also create tags. All sources of this module are Creators. A program may implement it, and
// no method will be added; TagConfig may get more fields.
type Creator interface {
	Source

	// CreateTag creates a tag. If it exists, CreateTag changes nothing and returns an error that wraps
	// ErrTagExists. If the reply is lost, the error may hide that the tag was created: another call then
	// returns ErrTagExists.
	CreateTag(ctx context.Context, tag string, c TagConfig) error
}

// TagConfig describes a new tag.
type TagConfig struct {
	// Start is the first number of the tag: 0 (which means 1) to math.MaxInt64-1. To move a sequence from
	// another system, set it beyond all numbers that were handed out.
	Start int64

	// Step is the tag's step: 0 (which means DefaultStep) to MaxStep. See WithStepPolicy.
	Step int64

	// Description is for people: at most 256 characters, without control characters.
	Description string

	// UnusedBefore is for tags that a program creates by itself, such as one for each day: a time before which
	// nobody can have created this tag. A source that can lose acknowledged writes then begins the tag beyond what may
	// have been handed out, if its store may have lost writes after this time, because the tag may have
	// existed already. The zero time means that the caller knows that no number from Start on was handed out.
	UnusedBefore time.Time
}

// Bounds of tags and ranges.
const (
	// MaxTagLength is the greatest length of a tag, in bytes, and in characters: the biz_tag of Leaf's table
	// leaf_alloc has 128 characters.
	MaxTagLength = 128

	// MaxStep is the greatest step, and the greatest size of a range.
	MaxStep = 1 << 40

	// DefaultStep is the step of a new tag.
	DefaultStep = 1000

	// MaxNumber is the greatest number that a source hands out.
	MaxNumber = math.MaxInt64 - 1

	// MaxDescriptionLength is the greatest length of a description, in characters.
	MaxDescriptionLength = 256
)

// Validate returns an error that wraps ErrTag if the request's tag is no valid name, and one that wraps
// ErrOption if another field is out of range. Sources call it at the beginning of Take.
func (r Request) Validate() error {
	if err := CheckTag(r.Tag); err != nil {
		return err
	}
	if r.Size < 0 || r.Size > MaxStep {
		return fmt.Errorf("%w: the size of a range is %d; must be 0 (the tag's step) to %d", ErrOption, r.Size, int64(MaxStep))
	}
	if r.AtLeast < 0 {
		return fmt.Errorf("%w: AtLeast is %d; must be at least 0", ErrOption, r.AtLeast)
	}
	return nil
}
