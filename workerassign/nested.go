package workerassign

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"time"
)

// maxNestedBits bounds how many bits of a worker ID Prefix and Divide may take.
const maxNestedBits = 61

// checkNested checks what Prefix and Divide are given.
func checkNested(a Assigner, bits int, what string) error {
	if a == nil {
		return fmt.Errorf("%w: the assigner is nil", ErrOption)
	}
	if bits < 1 || bits > maxNestedBits {
		return fmt.Errorf("%w: %d %s bits, must be 1 to %d", ErrOption, bits, what, maxNestedBits)
	}
	return nil
}

// nest returns how many worker bits are left to the assigner beneath when bits of them are
// taken, and the request for it.
func nest(r Request, taken int, what string) (rest int, inner Request, err error) {
	if r.MaxWorkerID < 1 {
		return 0, r, fmt.Errorf("%w: %s: the request must say the greatest worker ID that the layout holds (MaxWorkerID), it says %d",
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

// fit returns the worker ID of a lease if it fits in so many bits; else it gives the lease
// back.
func fit(ctx context.Context, lease Lease, bits int) (int64, error) {
	if lease == nil {
		return 0, errors.New("workerassign: the assigner returned neither a lease nor an error")
	}
	id := lease.WorkerID()
	if most := int64(1)<<bits - 1; id < 0 || id > most {
		err := fmt.Errorf("%w: %d is not from 0 to %d, what the %d bits hold that are left to it; "+
			"a layout with more worker bits, or fewer of them for the prefix or the division, is needed", ErrWidth, id, most, bits)
		if failed := lease.Release(ctx, time.Time{}); failed != nil {
			err = fmt.Errorf("%w (and its lease was not given back: %w)", err, failed)
		}
		return 0, err
	}
	return id, nil
}

// remaining returns what a lease says of how many worker IDs are left.
func remaining(l Lease, most int64) (n, all int64) {
	if c, ok := l.(CountingLease); ok {
		return c.Remaining(most)
	}
	return 0, 0
}
