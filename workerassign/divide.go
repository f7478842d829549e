package workerassign

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/internal/safelog"
)

// Divide returns an assigner that leases each worker ID of the inner assigner a as 2^bits worker IDs,
// called parts. It is for generators that often change their worker ID under load (rollover): they use
// up the worker IDs of the inner assigner more slowly, by a factor of up to 2^bits. The disadvantage is
// that each process takes a complete worker ID of the inner assigner when it starts. The parts that the
// process has not used when it ends are lost.
//
// The upper bits of the resulting worker ID hold the number of the part, from 0 to 2^bits-1. bits
// must be at least 1 and less than the number of worker bits of the layout. The remaining lower bits
// hold the worker ID of the inner assigner, so part 0 is that worker ID itself. Divide takes the number
// of worker bits from Request.MaxWorkerID. If that is 0, Assign returns an error.
//
// Create one Divide per process and pass it to all generators of the process. It is safe for
// concurrent use. The layouts of these generators must have the same number of worker bits;
// otherwise Assign returns an error. Generators with different formats receive parts of different
// worker IDs, so that the inner assigner receives each format and can refuse one.
//
// # Several processes on one store
//
// Processes that take worker IDs from one store may divide them by different numbers of bits, or not
// divide them. That is safe while the store's numbers are below 2^(bits left by the widest Divide). For example, if the
// layout has 22 worker bits, and processes use Divide(a, 2), Divide(a, 1) and a, that is 2^20.
//
// A generator with Divide refuses a number that does not fit into its own lower bits. A generator that
// does not divide, or divides by fewer bits, does not know that bound. It accepts the number, and its worker ID
// may be a part that another process uses. To prevent this, limit such a generator to the same number
// of lower bits: use Prefix(a, 0, 2) instead of a, and Divide(Prefix(a, 0, 1), 1) instead of
// Divide(a, 1).
//
// # Leases
//
// Divide releases a lease of the inner assigner after all of its parts were assigned and released. The
// release reports the latest time up to which any part was used. If the release fails, only the
// generator that released the last part receives the error.
//
// While no generator uses it, Divide keeps the lease for later generators, and does not extend it. If
// leases of the store expire, the next part may not be extendable. The part after that belongs to a
// new lease.
//
// A lease of the inner assigner is lost if a part cannot be extended, because Reserve fails or grants
// no time after the present. The next part then belongs to a new lease. The lost lease is released
// after the release of its last part that was assigned. A Reserve that fails because its own context
// ended does not count. If Assign cannot release a lost lease, it logs a warning and continues with
// the next lease.
//
// If what a lease was granted is void (ErrVoid), a copy of this process may have all leases whose parts are
// not all assigned. Their remaining parts are not assigned, and these leases are never released. The same happens at
// a renewal (uid.Cached.Renew): the next part is of a new lease of the inner assigner. Renew all generators that use
// the Divide.
//
// Assign returns the errors of the inner assigner. If the bits do not fit the layout, it returns an
// error that wraps ErrOption, and does not call the inner assigner. If a worker ID of the inner assigner
// does not fit into the lower bits, Assign releases its lease and returns an error that wraps ErrWidth.
func Divide(a Assigner, bits int) Assigner {
	return &divideAssigner{
		assigner: a,
		bits:     bits,
		err:      checkWrapperArgs(a, bits, "division"),
		lock:     make(chan struct{}, 1),
		parents:  make(map[string]*parent),
	}
}

type divideAssigner struct {
	assigner Assigner
	bits     int
	err      error // the error of invalid arguments

	lock      chan struct{}      // a lock, held by sending, that guards the following fields
	innerBits int                // the number of bits of a parent's worker ID; 0 before the first lease
	parents   map[string]*parent // by format: the parent of the next lease

	voidLeases atomic.Int64 // how many leases were found void, and how many renewals began
}

// releaseTimeout bounds the release of a lost lease by Assign.
const releaseTimeout = 2 * time.Second

// Assign implements Assigner.
func (d *divideAssigner) Assign(ctx context.Context, r Request) (Lease, error) {
	if d.err != nil {
		return nil, d.err
	}
	what := fmt.Sprintf("divided by %d bits", d.bits)
	innerBits, inner, err := innerRequest(r, d.bits, what)
	if err != nil {
		return nil, err
	}
	if r.Renewal {
		d.voidLeases.Add(1)
	}
	c, lost, err := d.nextChild(ctx, inner, innerBits)
	if lost != nil {
		// A queue, because this goroutine may hold a lock of another Divide that the log handler
		// waits for.
		log := safelog.NewQueue(r.Logger)
		defer log.Flush(safelog.FlushTimeout)
		log.Log(slog.LevelWarn, "workerassign: releasing a lost lease failed; its worker ID may be unavailable until the store frees it", "err", lost)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// nextChild returns the next part of the current parent, or of a new one. lost is the error of
// releasing a lost parent.
func (d *divideAssigner) nextChild(ctx context.Context, inner Request, innerBits int) (c *child, lost, err error) {
	select {
	case d.lock <- struct{}{}:
		defer func() { <-d.lock }()
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("workerassign: context ended while waiting for the Assign of another generator: %w", context.Cause(ctx))
	}
	if d.innerBits != 0 && d.innerBits != innerBits {
		return nil, nil, fmt.Errorf("%w: divided by %d bits: the layout has %d worker bits; must have %d, as the layout of the first generator: create one Divide for each layout",
			ErrOption, d.bits, innerBits+d.bits, d.innerBits+d.bits)
	}
	p := d.parents[inner.Format]
	if p != nil && (inner.Renewal || p.mayBeCopied()) { // another call may have assigned it since this renewal began
		delete(d.parents, inner.Format) // without a release, because the copy may use it
		p = nil
	}
	if p != nil && p.lost.Load() {
		// If one part could not be extended, another part of the same lease could not be either.
		delete(d.parents, inner.Format)
		p, lost = nil, p.releaseUnassigned(ctx)
	}
	if p == nil {
		voidBefore := d.voidLeases.Load()
		lease, err := d.assigner.Assign(ctx, inner)
		if err != nil {
			return nil, lost, err
		}
		id, err := checkedWorkerID(ctx, lease, innerBits)
		if err != nil {
			return nil, lost, err
		}
		p = newParent(lease, id, d.bits, innerBits, &d.voidLeases, voidBefore)
		d.innerBits, d.parents[inner.Format] = innerBits, p
	}
	c = p.newChild(inner.Now)
	if p.nextPart == p.partCount {
		delete(d.parents, inner.Format)
	}
	return c, lost, nil
}
