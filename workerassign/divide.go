package workerassign

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Divide returns an assigner that makes 2^bits worker IDs of each one of another. So a generator
// that rolls over spends the other's worker IDs, and asks its store, that much more seldom. What
// it costs: each process takes a whole worker ID of the other at its start, and what is not used
// of it by the end is lost.
//
// The upper bits of a worker ID, at least 1 and fewer than the layout has, count from 0 to
// 2^bits-1; the rest hold the other's worker ID, so part 0 is the other's worker ID itself. The
// layout is known by Request.MaxWorkerID, so a Request without it is an error. Make one Divide
// in a process, and give it to all of its generators: it is safe for concurrent use. A worker ID
// of the other is released when all that were made of it were. When one part of it cannot be
// extended, the next lease is a part of another.
//
// Errors of Assign are the other's; one that wraps ErrOption, where the bits do not fit,
// before the other is asked; and one that wraps ErrWidth, where the other's worker ID is too
// great to be divided, and then its lease is released.
func Divide(a Assigner, bits int) Assigner {
	return &divided{
		assigner: a,
		bits:     bits,
		err:      checkNested(a, bits, "divided"),
		asking:   make(chan struct{}, 1),
	}
}

type divided struct {
	assigner Assigner
	bits     int
	err      error // what is wrong with the arguments

	asking chan struct{} // held, by a send, by who changes whole
	whole  *whole        // what the next lease is a part of; nil before the first
	next   int64         // how many parts of it were given out
}

// whole is a lease that is divided.
type whole struct {
	lease Lease
	id    int64
	rest  int // the bits that hold id

	lost      atomic.Bool   // the last try to extend it failed
	reserving chan struct{} // held, by a send, by who reserves: a lease need not bear two at a time

	mu   sync.Mutex
	held int64     // parts that may still be given out, or were and are not back
	used time.Time // the greatest of all parts'
}

// Assign implements Assigner.
func (d *divided) Assign(ctx context.Context, r Request) (Lease, error) {
	if d.err != nil {
		return nil, d.err
	}
	rest, inner, err := nest(r, d.bits, fmt.Sprintf("divided by %d bits", d.bits))
	if err != nil {
		return nil, err
	}
	select {
	case d.asking <- struct{}{}:
		defer func() { <-d.asking }()
	case <-ctx.Done():
		return nil, fmt.Errorf("workerassign: gave up waiting for another who asks: %w", context.Cause(ctx))
	}
	parts := int64(1) << d.bits
	if d.whole != nil && d.next < parts && d.whole.lost.Load() {
		// What could not be extended as one of its parts cannot be as another.
		if err := d.whole.giveBack(ctx, parts-d.next, time.Time{}); err != nil {
			return nil, err
		}
		d.next = parts
	}
	if d.whole == nil || d.next == parts {
		lease, err := d.assigner.Assign(ctx, inner)
		if err != nil {
			return nil, err
		}
		id, err := fit(ctx, lease, rest)
		if err != nil {
			return nil, err
		}
		d.whole, d.next = &whole{lease: lease, id: id, rest: rest, held: parts, reserving: make(chan struct{}, 1)}, 0
	}
	p := &part{whole: d.whole, id: d.next<<d.whole.rest | d.whole.id, bits: d.bits}
	d.next++
	return p, nil
}

// part is the lease of one of the worker IDs that were made of one.
type part struct {
	*whole
	id   int64
	bits int
	once sync.Once
}

func (p *part) WorkerID() int64      { return p.id }
func (p *part) NotBefore() time.Time { return p.lease.NotBefore() }

func (p *part) Reserve(ctx context.Context, until time.Time) (time.Time, error) {
	select {
	case p.reserving <- struct{}{}:
		defer func() { <-p.reserving }()
	case <-ctx.Done():
		return time.Time{}, fmt.Errorf("workerassign: gave up waiting for another who reserves: %w", context.Cause(ctx))
	}
	granted, err := p.lease.Reserve(ctx, until)
	p.lost.Store(err != nil)
	return granted, err
}

// Release gives the whole back if this was its last part. A failure is that of the whole.
func (p *part) Release(ctx context.Context, used time.Time) (err error) {
	p.once.Do(func() {
		err = p.giveBack(ctx, 1, used)
	})
	return err
}

// giveBack counts parts that are not held any more, and gives the whole back after the last.
func (w *whole) giveBack(ctx context.Context, parts int64, used time.Time) error {
	w.mu.Lock()
	w.held -= parts
	if used.After(w.used) {
		w.used = used
	}
	last := w.held == 0
	w.mu.Unlock()
	if !last {
		return nil
	}
	return w.lease.Release(ctx, w.used)
}

// Remaining implements CountingLease.
func (p *part) Remaining(int64) (n, all int64) {
	n, all = remaining(p.lease, int64(1)<<p.rest-1)
	parts := int64(1) << p.bits
	if all > 0 {
		n, all = n*parts+parts-1-p.id>>p.rest, (all+1)*parts-1
	}
	return n, all
}
