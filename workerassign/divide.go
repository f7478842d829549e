package workerassign

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/ringuid/ringuid/internal/safelog"
)

// Divide returns an assigner that leases each worker ID of another assigner as 2^bits worker
// IDs. A generator that rolls over then asks the other assigner, and uses up its worker IDs,
// that much less often. In return each process takes a whole worker ID of the other at its
// start, and what it has not used of it by its end is lost.
//
// The upper bits of a worker ID, at least 1 and fewer than the layout has, are the number of the
// part, from 0 to 2^bits-1. The lower bits hold the other's worker ID, so part 0 is the other's
// worker ID itself. Request.MaxWorkerID says how many bits there are; a Request without it is an
// error.
//
// Make one Divide in a process and give it to all of its generators: it is safe for concurrent
// use. Their layouts must have the same number of worker bits; a Request with another number is
// an error. Generators of different formats get parts of different worker IDs, so that the other
// assigner is asked with each format and may refuse one.
//
// # Several processes on one store
//
// Processes that take worker IDs from one store may divide them by different numbers of bits, or
// not at all. They never share a worker ID as long as the store's numbers stay below 2^rest,
// where rest is the smallest number of lower bits that any of them leaves. For example, with 22
// worker bits and Divide(a, 2) next to Divide(a, 1) and a itself, that is 2^20.
//
// A divided generator refuses a number that does not fit in its own rest. A generator that does
// not divide, or divides by fewer bits, does not know the others' rest: it accepts the number,
// and its worker ID may be a part that another process has. Give such a generator the same rest:
// Prefix(a, 0, 2) instead of a, and Divide(Prefix(a, 0, 1), 1) instead of Divide(a, 1).
//
// # Leases
//
// The other's lease is released when all parts of it were given out and released. It is released
// as used up to the latest time that any part was used; a part that was not given out counts as
// not used. If that release fails, the generator that released the last part gets the error, and
// no other.
//
// An idle Divide keeps the lease for generators to come, and does not extend it. If the store
// lets leases expire, the next part may not be extended; the one after it is of another lease.
//
// When a part cannot be extended, because Reserve fails or does not grant the present, the next
// part is one of another lease, and the lost one is released after its last part that was given
// out. A Reserve that fails because its own context has ended does not count. If the lost lease
// cannot be released on the way to the next one, that is logged.
//
// Errors of Assign are the other's; one that wraps ErrOption, where the bits do not fit the
// layout, before the other is asked; and one that wraps ErrWidth, where the other's worker ID is
// too great to be divided, and then its lease is released.
func Divide(a Assigner, bits int) Assigner {
	return &divideAssigner{
		assigner: a,
		bits:     bits,
		err:      checkWrapperArgs(a, bits, "divided"),
		lock:     make(chan struct{}, 1),
		parents:  make(map[string]*parent),
	}
}

type divideAssigner struct {
	assigner Assigner
	bits     int
	err      error // what is wrong with the arguments

	lock      chan struct{}      // a lock, held by a send, on what follows
	innerBits int                // the bits of a parent's worker ID; 0 before the first lease
	parents   map[string]*parent // by format: what the next lease is a part of
}

// releaseTimeout bounds the release of a lost lease on the way to the next one.
const releaseTimeout = 2 * time.Second

// Assign implements Assigner.
func (d *divideAssigner) Assign(ctx context.Context, r Request) (Lease, error) {
	if d.err != nil {
		return nil, d.err
	}
	what := fmt.Sprintf("divided by %d bits", d.bits)
	rest, inner, err := innerRequest(r, d.bits, what)
	if err != nil {
		return nil, err
	}
	c, lost, err := d.nextChild(ctx, inner, rest)
	if lost != nil { // by a queue: another Divide around this one holds its lock
		log := safelog.NewQueue(r.Logger)
		defer log.Flush(logFlushTimeout)
		log.Log(slog.LevelWarn, "workerassign: a lost lease was not released; its worker ID may be unavailable until the store frees it", "err", lost)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// take returns a part of the current parent, or of a new one. lost is why a parent that was
// lost was not released.
func (d *divideAssigner) nextChild(ctx context.Context, inner Request, rest int) (c *child, lost, err error) {
	select {
	case d.lock <- struct{}{}:
		defer func() { <-d.lock }()
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("workerassign: gave up waiting for another generator's Assign: %w", context.Cause(ctx))
	}
	if d.innerBits != 0 && d.innerBits != rest {
		return nil, nil, fmt.Errorf("%w: divided by %d bits: the layout has %d worker bits, that of the first generator %d; make one Divide for each layout",
			ErrOption, d.bits, rest+d.bits, d.innerBits+d.bits)
	}
	p := d.parents[inner.Format]
	if p != nil && p.lost.Load() {
		// What could not be extended as one of its parts cannot be as another.
		delete(d.parents, inner.Format)
		p, lost = nil, p.releaseUnassigned(ctx)
	}
	if p == nil {
		lease, err := d.assigner.Assign(ctx, inner)
		if err != nil {
			return nil, lost, err
		}
		id, err := checkedWorkerID(ctx, lease, rest)
		if err != nil {
			return nil, lost, err
		}
		p = newParent(lease, id, d.bits, rest)
		d.innerBits, d.parents[inner.Format] = rest, p
	}
	c = p.newChild(inner.Now)
	if p.nextPart == p.partCount {
		delete(d.parents, inner.Format)
	}
	return c, lost, nil
}
