package filestore

import (
	"errors"
	"testing"

	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A Store that New has not made returns errors.
func TestZeroStore(t *testing.T) {
	for _, s := range []*Store{nil, {}} {
		if _, err := s.Read(t.Context(), recycled.Query{}); !errors.Is(err, workerassign.ErrOption) {
			t.Errorf("Read() = %v, want ErrOption", err)
		}
		if _, err := s.Write(t.Context(), recycled.Write{}); !errors.Is(err, workerassign.ErrOption) || s.String() == "" {
			t.Errorf("Write() of %q = %v, want ErrOption", s.String(), err)
		}
	}
}
