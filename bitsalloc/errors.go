package bitsalloc

import (
	"errors"
	"fmt"
)

var (
	// ErrLayout is returned for widths, or a text, that are not a valid layout, and by the methods
	// of the zero Layout that return an error.
	ErrLayout = errors.New("bitsalloc: bad layout")

	// ErrUnit is returned by NewTimeBase, Capacity, Plan and Margins for a time unit that cannot
	// be used.
	ErrUnit = errors.New("bitsalloc: bad time unit")

	// ErrEpoch is returned by NewTimeBase for an epoch that cannot be used.
	ErrEpoch = errors.New("bitsalloc: bad epoch")

	// ErrRange is found by errors.Is in a *RangeError.
	ErrRange = errors.New("bitsalloc: out of range")
)

// RangeError reports a value that does not fit its field. errors.Is finds ErrRange in it.
type RangeError struct {
	Field  string // "delta", "worker ID" or "sequence"
	Value  int64  // the value that was given
	Max    int64  // the greatest value that fits; the least is 0
	Layout Layout
}

// Error implements error.
func (e *RangeError) Error() string {
	if e == nil {
		return ErrRange.Error()
	}
	return fmt.Sprintf("%v: %s is %d; must be 0 to %d (layout %v)", ErrRange, e.Field, e.Value, e.Max, e.Layout)
}

// Is reports that every RangeError is ErrRange.
func (e *RangeError) Is(target error) bool { return target == ErrRange }
