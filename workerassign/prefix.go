package workerassign

import (
	"context"
	"fmt"
	"time"
)

// Prefix returns an assigner that puts a fixed number into the upper bits of the worker IDs of the
// inner assigner a. For example, if each data center has its own number, each can have its own store.
//
// The upper prefixBits of the layout's worker bits hold the prefix, from 0 to 2^prefixBits-1.
// prefixBits must be at least 1 and less than the number of worker bits. The remaining lower bits hold
// the worker ID of the inner assigner. Prefix takes the number of worker bits from
// Request.MaxWorkerID. If that is 0, Assign returns an error. Prefix is safe for concurrent use.
//
// Generators with different prefixes and the same prefixBits never share a worker ID, even if each
// prefix has its own store, as long as Prefix is the outermost wrapper of all of them. Use
// Prefix(Divide(a, 2), 5, 3) and not Divide(Prefix(a, 5, 3), 2). The latter puts the numbers of the
// parts above the prefix, into the bits where other generators have their prefix.
//
// Do not mix a prefix other than 0 that has its own store with generators without a prefix. A
// generator without a wrapper gets the same worker IDs as soon as the numbers of its store reach
// prefix * 2^r, where r is the number of the remaining lower bits. A generator with only Divide gets
// them immediately, because the numbers of its parts use the upper bits. Prefix 0 does not change
// worker IDs; it only limits them. The documentation of Divide says which wrappers may be mixed on one
// store.
//
// Assign returns the errors of the inner assigner. If the prefix or its bits do not fit the layout, it
// returns an error that wraps ErrOption, and does not call the inner assigner. If a worker ID of the
// inner assigner does not fit into the lower bits, Assign releases its lease and returns an error that
// wraps ErrWidth. A renewal (uid.Cached.Renew) is passed on.
func Prefix(a Assigner, prefix int64, prefixBits int) Assigner {
	p := &prefixAssigner{assigner: a, prefix: prefix, bits: prefixBits, err: checkWrapperArgs(a, prefixBits, "prefix")}
	if maxPrefix := int64(1)<<max(prefixBits, 0) - 1; p.err == nil && (prefix < 0 || prefix > maxPrefix) {
		p.err = fmt.Errorf("%w: prefix is %d; must be 0 to %d, to fit into %d bits", ErrOption, prefix, maxPrefix, prefixBits)
	}
	return p
}

type prefixAssigner struct {
	assigner Assigner
	prefix   int64
	bits     int
	err      error // the error of invalid arguments
}

// Assign implements Assigner.
func (p *prefixAssigner) Assign(ctx context.Context, r Request) (Lease, error) {
	if p.err != nil {
		return nil, p.err
	}
	innerBits, inner, err := innerRequest(r, p.bits, fmt.Sprintf("prefix %d in %d bits", p.prefix, p.bits))
	if err != nil {
		return nil, err
	}
	lease, err := p.assigner.Assign(ctx, inner)
	if err != nil {
		return nil, err
	}
	id, err := checkedWorkerID(ctx, lease, innerBits)
	if err != nil {
		return nil, err
	}
	return prefixedLease{Lease: lease, id: p.prefix<<innerBits | id, innerBits: innerBits}, nil
}

// prefixedLease is a lease of the wrapped assigner with the prefix in its worker ID.
type prefixedLease struct {
	Lease
	id        int64
	innerBits int
}

func (l prefixedLease) WorkerID() int64 { return l.id }

// Reserve implements Lease.
func (l prefixedLease) Reserve(ctx context.Context, until time.Time) (Grant, error) {
	granted, err := l.Lease.Reserve(ctx, until)
	return granted.limited(int64(1)<<l.innerBits - 1), err
}
