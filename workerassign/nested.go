package workerassign

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"time"
)

// maxNestedBits bounds how many bits of a worker ID Prefix and Divide may take.
const maxWrapperBits = 61

// checkNested checks what Prefix and Divide are given.
func checkWrapperArgs(a Assigner, bits int, what string) error {
	if a == nil {
		return fmt.Errorf("%w: the assigner is nil", ErrOption)
	}
	if bits < 1 || bits > maxWrapperBits {
		return fmt.Errorf("%w: %d %s bits, must be 1 to %d", ErrOption, bits, what, maxWrapperBits)
	}
	return nil
}

// nest returns how many worker bits are left to the inner assigner when some are taken, and the
// request for it. A greatest worker ID that is not of the form 2^n-1 counts as the next lower
// one that is.
func innerRequest(r Request, taken int, what string) (rest int, inner Request, err error) {
	if r.MaxWorkerID < 1 {
		return 0, r, fmt.Errorf("%w: %s: MaxWorkerID of the request is %d, must be the greatest worker ID that the layout holds",
			ErrOption, what, r.MaxWorkerID)
	}
	all := bits.Len64(uint64(r.MaxWorkerID)+1) - 1
	if rest = all - taken; rest < 1 {
		return 0, r, fmt.Errorf("%w: %s: the layout has %d worker bits, must be at least %d", ErrOption, what, all, taken+1)
	}
	inner = r
	inner.MaxWorkerID = int64(1)<<rest - 1
	if r.Format != "" {
		inner.Format = r.Format + "; " + what
	}
	return rest, inner, nil
}

// fit returns the worker ID of a lease if it fits in so many bits; else it releases the lease.
func checkedWorkerID(ctx context.Context, lease Lease, bits int) (int64, error) {
	if lease == nil {
		return 0, errors.New("workerassign: the assigner returned neither a lease nor an error")
	}
	id := lease.WorkerID()
	if most := int64(1)<<bits - 1; id < 0 || id > most {
		err := fmt.Errorf("%w: %d is not from 0 to %d, what the %d bits hold that are left to it; "+
			"use a layout with more worker bits, or fewer of them for the prefix or the division", ErrWidth, id, most, bits)
		if failed := lease.Release(ctx, time.Time{}); failed != nil {
			err = fmt.Errorf("%w (and its lease was not released: %w)", err, failed)
		}
		return 0, err
	}
	return id, nil
}

// remaining returns how many worker IDs a lease says are left, of how many in all, when most is
// the greatest that there may be: both from 0 to most, whatever a lease of the user's says.
func remainingIDs(l Lease, most int64) (n, all int64) {
	c, ok := l.(CountingLease)
	if !ok {
		return 0, 0
	}
	n, all = c.Remaining(most)
	return min(max(n, 0), most), min(max(all, 0), most)
}
