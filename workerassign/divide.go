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
// workerBits is the layout's, 2 to 62. Its lowest bits, at least 1 and fewer than all, count from
// 0 to 2^bits-1, and the upper ones hold the other's worker ID, which so may be
// 2^(workerBits-bits)-1 at most. Make one in a process, and give it to all of its generators: it
// is safe for concurrent use. A worker ID of the other is given back when all that were made of
// it were. When one part of it cannot be extended, the next lease is a part of another.
//
// Errors of Assign are the other's; one that wraps ErrOption, where the widths do not fit,
// before the other is asked; and one that wraps ErrWidth, where the other's worker ID is too
// great to be divided, and then its lease is given back.
func Divide(a Assigner, bits, workerBits int) Assigner {
	return &divided{
		assigner: a,
		bits:     bits,
		rest:     workerBits - bits,
		err:      widths(a, bits, workerBits, "divided"),
		asking:   make(chan struct{}, 1),
	}
}

type divided struct {
	assigner   Assigner
	bits, rest int
	err        error // what is wrong with the arguments

	asking chan struct{} // held, by a send, by who changes whole
	whole  *whole        // what the next lease is a part of; nil before the first
	next   int64         // how many parts of it were given out
}

var _ ClockedAssigner = (*divided)(nil)

// whole is a lease that is divided.
type whole struct {
	lease Lease
	id    int64

	lost      atomic.Bool   // the last try to extend it failed
	reserving chan struct{} // held, by a send, by who reserves: a lease need not bear two at a time

	mu   sync.Mutex
	held int64 // parts that may still be given out, or were and are not back
}

// Assign implements Assigner.
func (d *divided) Assign(ctx context.Context) (Lease, error) { return d.AssignAt(ctx, time.Now) }

// AssignAt implements ClockedAssigner.
func (d *divided) AssignAt(ctx context.Context, now func() time.Time) (Lease, error) {
	if d.err != nil {
		return nil, d.err
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
		if err := d.whole.giveBack(ctx, parts-d.next); err != nil {
			return nil, err
		}
		d.next = parts
	}
	if d.whole == nil || d.next == parts {
		lease, err := assignAt(ctx, d.assigner, now)
		if err != nil {
			return nil, err
		}
		id, err := fit(ctx, lease, d.rest)
		if err != nil {
			return nil, err
		}
		d.whole, d.next = &whole{lease: lease, id: id, held: parts, reserving: make(chan struct{}, 1)}, 0
	}
	p := &part{whole: d.whole, id: d.whole.id<<d.bits | d.next, bits: d.bits}
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
func (p *part) Release(ctx context.Context) (err error) {
	p.once.Do(func() {
		err = p.giveBack(ctx, 1)
	})
	return err
}

// giveBack counts parts that are not held any more, and gives the whole back after the last.
func (w *whole) giveBack(ctx context.Context, parts int64) error {
	w.mu.Lock()
	w.held -= parts
	last := w.held == 0
	w.mu.Unlock()
	if !last {
		return nil
	}
	return w.lease.Release(ctx)
}

func (p *part) Left(most int64) (n, all int64) {
	n, all = left(p.lease, most>>p.bits)
	parts := int64(1) << p.bits
	if all > 0 {
		n, all = n*parts+parts-1-p.id%parts, (all+1)*parts-1
	}
	return n, all
}
