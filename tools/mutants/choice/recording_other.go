//go:build !unix

package choice

import (
	"errors"
	"sync/atomic"
)

type recording []atomic.Uint32

var errUnix = errors.New("choice: what the tests reach can be recorded on Unix systems only")

func recordTo(path string) recording {
	if path == "" {
		return nil
	}
	panic(errUnix.Error())
}

// NewRecording returns an error.
func NewRecording(string) error { return errUnix }

// Recorded returns an error.
func Recorded(string) ([]int, error) { return nil, errUnix }
