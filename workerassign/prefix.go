package workerassign

import (
	"context"
	"fmt"
)

// Prefix returns an assigner that puts a fixed number into the upper bits of another assigner's
// worker IDs: the number of a data centre, for example, so that each can have a store of its
// own.
//
// The upper prefixBits of the layout's worker bits, at least 1 and fewer than all, hold the
// prefix, from 0 to 2^prefixBits-1. The rest hold the other's worker ID. Request.MaxWorkerID
// says how many bits there are; a Request without it is an error. Prefix is safe for concurrent
// use.
//
// Generators with different prefixes of one width never share a worker ID, even if each prefix
// has a store of its own, as long as Prefix is the outermost wrapper in all of them:
// Prefix(Divide(a, 2), 5, 3) and not Divide(Prefix(a, 5, 3), 2), whose parts lie above the prefix,
// where the others have theirs. Nothing else may be mixed with a prefix other than 0 that has its own
// store: a generator without a prefix collides with it once its own store's numbers reach
// prefix<<rest, and one with Divide alone does so at once, since its parts fill the upper bits.
// Prefix 0 changes no worker ID and only bounds it. For what may be mixed on one store, see
// Divide.
//
// Errors of Assign are the other's; one that wraps ErrOption, where the bits or the prefix do
// not fit the layout, before the other is asked; and one that wraps ErrWidth, where the other's
// worker ID does not fit below the prefix, and then its lease is released.
func Prefix(a Assigner, prefix int64, prefixBits int) Assigner {
	p := &prefixAssigner{assigner: a, prefix: prefix, bits: prefixBits, err: checkWrapperArgs(a, prefixBits, "prefix")}
	if most := int64(1)<<max(prefixBits, 0) - 1; p.err == nil && (prefix < 0 || prefix > most) {
		p.err = fmt.Errorf("%w: prefix %d is not from 0 to %d, what %d bits hold", ErrOption, prefix, most, prefixBits)
	}
	return p
}

type prefixAssigner struct {
	assigner Assigner
	prefix   int64
	bits     int
	err      error // what is wrong with the arguments
}

// Assign implements Assigner.
func (p *prefixAssigner) Assign(ctx context.Context, r Request) (Lease, error) {
	if p.err != nil {
		return nil, p.err
	}
	rest, inner, err := innerRequest(r, p.bits, fmt.Sprintf("prefix %d in %d bits", p.prefix, p.bits))
	if err != nil {
		return nil, err
	}
	lease, err := p.assigner.Assign(ctx, inner)
	if err != nil {
		return nil, err
	}
	id, err := checkedWorkerID(ctx, lease, rest)
	if err != nil {
		return nil, err
	}
	return prefixedLease{Lease: lease, id: p.prefix<<rest | id, innerBits: rest}, nil
}

// renumbered is a lease under another worker ID.
type prefixedLease struct {
	Lease
	id        int64
	innerBits int
}

func (l prefixedLease) WorkerID() int64 { return l.id }

func (l prefixedLease) Remaining(int64) (n, all int64) {
	return remainingIDs(l.Lease, int64(1)<<l.innerBits-1)
}
