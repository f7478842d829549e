package segment

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ringuid/ringuid/ringbuffer"
)

// uncomparableError is an error that == panics for.
type uncomparableError []error

func (uncomparableError) Error() string { return "uncomparable" }

func TestMaskedError(t *testing.T) {
	for _, own := range ownErrors() {
		if err := mask(fmt.Errorf("x: %w", own)); errors.Is(err, own) || err.Error() != "x: "+own.Error() {
			t.Errorf("errors.Is finds %v in %v", own, err)
		}
	}
	for _, other := range []error{ErrNoTag, ErrSetBack, ErrExhausted, ErrSource, errDown} {
		if err := mask(fmt.Errorf("x: %w", other)); !errors.Is(err, other) {
			t.Errorf("errors.Is does not find %v in %v", other, err)
		}
	}
	if err := mask(fmt.Errorf("x: %w", &SetBackError{Counter: 7})); errors.Is(err, nil) {
		t.Error("errors.Is finds nil")
	} else if e := (*SetBackError)(nil); !errors.As(err, &e) || e.Counter != 7 {
		t.Error("errors.As does not find a *SetBackError")
	}
	for _, own := range []error{&EmptyError{}, &ringbuffer.EmptyError{}, &ringbuffer.NotYetError{}} {
		var a *EmptyError
		var b *ringbuffer.EmptyError
		var c *ringbuffer.NotYetError
		if err := mask(own); errors.As(err, &a) || errors.As(err, &b) || errors.As(err, &c) {
			t.Errorf("errors.As finds a %T", own)
		}
	}
	err := mask(uncomparableError{})
	if !errors.Is(err, err) || errors.Is(err, errDown) || errors.Is(err, uncomparableError{}) {
		t.Error("errors.Is is wrong for an error that cannot be compared")
	}
}
