package bitsalloc

import (
	"errors"
	"fmt"
)

var (
	// ErrLayout is returned for widths, or a text, that make no layout, and by the methods
	// of the zero Layout that return an error.
	ErrLayout = errors.New("bitsalloc: bad layout")

	// ErrUnit is returned by Capacity, Plan and Margins for a time unit that is too short.
	ErrUnit = errors.New("bitsalloc: bad time unit")

	// ErrRange is what errors.Is finds in a *RangeError.
	ErrRange = errors.New("bitsalloc: out of range")
)

// RangeError reports a part that does not fit its field. errors.Is finds ErrRange in it.
type RangeError struct {
	Field  string // "delta", "worker ID" or "sequence"
	Value  int64  // what was given
	Max    int64  // the greatest value that fits; the least is 0
	Layout Layout
}

// Error implements error.
func (e *RangeError) Error() string {
	if e == nil {
		return ErrRange.Error()
	}
	return fmt.Sprintf("%v: %s %d is not from 0 to %d (layout %v)", ErrRange, e.Field, e.Value, e.Max, e.Layout)
}

// Is tells that every RangeError is ErrRange.
func (e *RangeError) Is(target error) bool { return target == ErrRange }
