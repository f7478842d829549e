package workerassign

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// widths checks an assigner, and how many upper or lower bits of a worker ID are taken for another use.
func widths(a Assigner, part, workerBits int, what string) error {
	if a == nil {
		return fmt.Errorf("%w: the assigner is nil", ErrOption)
	}
	if workerBits < 1 || workerBits > 62 || part < 1 || part >= workerBits {
		return fmt.Errorf("%w: %d %s bits of %d worker bits: 1 to one less than the worker bits, which are 2 to 62, are needed",
			ErrOption, part, what, workerBits)
	}
	return nil
}

// assignAt takes a lease of an assigner that may depend on the clock.
func assignAt(ctx context.Context, a Assigner, now func() time.Time) (Lease, error) {
	if c, ok := a.(ClockedAssigner); ok {
		return c.AssignAt(ctx, now)
	}
	return a.Assign(ctx)
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
		if failed := lease.Release(ctx); failed != nil {
			err = fmt.Errorf("%w (and its lease was not given back: %w)", err, failed)
		}
		return 0, err
	}
	return id, nil
}

// left returns what a lease says of how many worker IDs are left.
func left(l Lease, most int64) (n, all int64) {
	if c, ok := l.(CountingLease); ok {
		return c.Left(most)
	}
	return 0, 0
}
