package workerassign

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"time"
)

// maxWrapperBits is the greatest number of bits of a worker ID that Prefix or Divide may use.
const maxWrapperBits = 61

// checkWrapperArgs checks the arguments that Prefix and Divide have in common. what is the use of the
// bits, for the error.
func checkWrapperArgs(a Assigner, bits int, what string) error {
	if a == nil {
		return fmt.Errorf("%w: the assigner is nil; must not be nil", ErrOption)
	}
	if bits < 1 || bits > maxWrapperBits {
		return fmt.Errorf("%w: number of %s bits is %d; must be 1 to %d", ErrOption, what, bits, maxWrapperBits)
	}
	return nil
}

// innerRequest returns the number of worker bits that remain for the wrapped assigner if the wrapper
// uses some, and the request for the wrapped assigner. what describes the wrapper. If MaxWorkerID is
// not of the form 2^n-1, the next lower number of that form is used instead.
func innerRequest(r Request, used int, what string) (innerBits int, inner Request, err error) {
	if r.MaxWorkerID < 1 {
		return 0, r, fmt.Errorf("%w: %s: Request.MaxWorkerID is %d; must be the greatest worker ID of the layout, at least 1",
			ErrOption, what, r.MaxWorkerID)
	}
	workerBits := bits.Len64(uint64(r.MaxWorkerID)+1) - 1
	if innerBits = workerBits - used; innerBits < 1 {
		return 0, r, fmt.Errorf("%w: %s: the layout has %d worker bits; must have at least %d", ErrOption, what, workerBits, used+1)
	}
	inner = r
	inner.MaxWorkerID = int64(1)<<innerBits - 1
	if r.Format != "" {
		inner.Format = r.Format + "; " + what
	}
	return innerBits, inner, nil
}

// checkedWorkerID returns the worker ID of a lease if it fits into so many bits. Otherwise it releases
// the lease and returns an error.
func checkedWorkerID(ctx context.Context, lease Lease, bits int) (int64, error) {
	if lease == nil {
		return 0, errors.New("workerassign: the assigner returned neither a lease nor an error")
	}
	id := lease.WorkerID()
	if maxID := int64(1)<<bits - 1; id < 0 || id > maxID {
		err := fmt.Errorf("%w: worker ID is %d; must be 0 to %d, to fit into the remaining %d bits: "+
			"use a layout with more worker bits, or use fewer bits for the prefix or the division", ErrWidth, id, maxID, bits)
		if releaseErr := lease.Release(ctx, time.Time{}); releaseErr != nil {
			err = fmt.Errorf("%w (releasing its lease failed: %w)", err, releaseErr)
		}
		return 0, err
	}
	return id, nil
}
