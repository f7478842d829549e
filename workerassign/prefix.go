package workerassign

import (
	"context"
	"fmt"
	"time"
)

// Prefix returns an assigner that puts a fixed number into the upper bits of the worker IDs of
// another: the number of a data centre, say, so that each may have a store of its own.
//
// workerBits is the layout's, 2 to 62. Its upper prefixBits, at least 1 and fewer than all, hold
// the prefix, 0 to 2^prefixBits-1, and the others hold the other's worker ID, which so may be
// 2^(workerBits-prefixBits)-1 at most. It is safe for concurrent use.
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
	return renumbered{Lease: lease, id: p.prefix<<p.rest | id, rest: p.rest}, nil
}

// renumbered is a lease under another worker ID.
type renumbered struct {
	Lease
	id   int64
	rest int
}

func (l renumbered) WorkerID() int64 { return l.id }

func (l renumbered) Left(int64) (n, all int64) { return left(l.Lease, int64(1)<<l.rest-1) }
