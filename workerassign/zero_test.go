package workerassign

import (
	"context"
	"errors"
	"testing"
)

// The zero values and nil pointers of the exported types that no other test has: no method faults.
func TestZeroErrors(t *testing.T) {
	for _, err := range []error{(*DatabaseError)(nil), new(DatabaseError), (*RetryError)(nil), new(RetryError)} {
		if err.Error() == "" || errors.Is(err, context.Canceled) {
			t.Errorf("%#v: %q", err, err.Error())
		}
		if errors.Is(err, ErrPermanent) == errors.Is(err, ErrGaveUp) {
			t.Errorf("%#v is neither a permanent fault nor a time that is over, or both", err)
		}
	}
	if err := (Node{}).validate(); err == nil {
		t.Error("the zero Node is fine")
	}
	if (Request{}).now().IsZero() {
		t.Error("the zero Request has no clock")
	}
}
