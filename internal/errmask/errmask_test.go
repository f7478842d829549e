package errmask

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

// uncomparableError is an error that == panics for.
type uncomparableError []error

func (uncomparableError) Error() string { return "uncomparable" }

// hiddenType is the type of a hidden error.
type hiddenType struct{}

func (*hiddenType) Error() string { return "hidden type" }

func TestMask(t *testing.T) {
	hidden, other := errors.New("hidden"), errors.New("other")
	text := fmt.Errorf("x: %w, %w, %w, %w", hidden, other, &fs.PathError{Op: "open", Err: other}, &hiddenType{})
	err := fmt.Errorf("wrapped: %w", Mask(text, hidden, (*hiddenType)(nil)))
	if err.Error() != "wrapped: "+text.Error() {
		t.Errorf("the text is %q", err)
	}
	if errors.Is(err, hidden) || errors.As(err, new(*hiddenType)) {
		t.Error("a hidden error is found")
	}
	if path := (*fs.PathError)(nil); !errors.Is(err, other) || !errors.As(err, &path) || path.Op != "open" {
		t.Error("another error is not found")
	}
	if err := Mask(&hiddenType{}, hidden, (*hiddenType)(nil)); errors.As(err, new(*hiddenType)) || errors.Is(err, nil) {
		t.Error("a hidden error, or nil, is found")
	}
	err = Mask(uncomparableError{}, hidden)
	if !errors.Is(err, err) || errors.Is(err, other) || errors.Is(err, uncomparableError{}) {
		t.Error("errors.Is is wrong for an error that cannot be compared")
	}
}
