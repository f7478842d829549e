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

// Prefix returns an assigner that puts a fixed number into the upper bits of the worker IDs
// of another: the number of a data centre, say, so that each may have a store of its own. The
// layout has workerBits of worker ID in all, of which prefixBits are the prefix's.
//
// Errors of Assign are the other's; one that wraps ErrOption, where the widths or the prefix do
// not fit, before the other is asked; and one that wraps ErrWidth, where the other's worker ID
// does not fit beneath the prefix, and then its lease is given back.
func Prefix(a Assigner, prefix int64, prefixBits, workerBits int) Assigner {
	p := &prefixed{assigner: a, prefix: prefix, rest: workerBits - prefixBits, err: widths(a, prefixBits, workerBits, "prefix")}
	if most := int64(1)<<max(prefixBits, 0) - 1; p.err == nil && (prefix < 0 || prefix > most) {
		p.err = fmt.Errorf("%w: prefix %d is not from 0 to %d, what %d bits hold", ErrOption, prefix, most, prefixBits)
	}
	return p
}

type prefixed struct {
	assigner Assigner
	prefix   int64
	rest     int   // the bits beneath the prefix
	err      error // what is wrong with the arguments
}

var _ ClockedAssigner = (*prefixed)(nil)

// Assign implements Assigner.
func (p *prefixed) Assign(ctx context.Context) (Lease, error) { return p.AssignAt(ctx, time.Now) }

// AssignAt implements ClockedAssigner.
func (p *prefixed) AssignAt(ctx context.Context, now func() time.Time) (Lease, error) {
	if p.err != nil {
		return nil, p.err
	}
	lease, err := assignAt(ctx, p.assigner, now)
	if err != nil {
		return nil, err
	}
	id, err := fit(ctx, lease, p.rest)
	if err != nil {
		return nil, err
	}
	return renumbered{Lease: lease, id: p.prefix<<p.rest | id}, nil
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

// renumbered is a lease under another worker ID.
type renumbered struct {
	Lease
	id int64
}

func (l renumbered) WorkerID() int64 { return l.id }
