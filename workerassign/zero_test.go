package workerassign

import (
	"context"
	"errors"
	"testing"
)

// The zero values and nil pointers of the exported types can be used without a panic. Other tests do
// the same for the types that are missing here.
func TestZeroErrors(t *testing.T) {
	for _, err := range []error{(*DatabaseError)(nil), new(DatabaseError), (*RetryError)(nil), new(RetryError)} {
		if err.Error() == "" || errors.Is(err, context.Canceled) {
			t.Errorf("%#v: %q", err, err.Error())
		}
		if errors.Is(err, ErrPermanent) == errors.Is(err, ErrGaveUp) {
			t.Errorf("%#v matches neither or both of ErrPermanent and ErrGaveUp", err)
		}
	}
	if (Request{}).Time().IsZero() {
		t.Error("the zero Request has no clock, want time.Now")
	}
}
