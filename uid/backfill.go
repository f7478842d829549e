package uid

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringuid/ringuid/workerassign"
)

// Backfill generates UIDs whose time is that of an instant in the past: for rows that are older than their UIDs. No other generator and no
// other Backfill generates one of them, in whatever order the instants come, because the worker IDs of a Backfill are its own for
// all time. This requires that all generators, also former ones, have the same format and take worker IDs from the same store: see
// NewBackfill. It is safe for concurrent use.
//
// It has one worker ID, and takes another one when all UIDs of a time unit and its worker IDs are used up, or when it has generated
// UIDs of about a million time units, of which it keeps a count each. So it uses up many worker IDs if many rows have the same time. What is
// not used of a worker ID is lost when the process ends. If the machine was copied while it ran, create another Backfill in each copy, with
// another assigner, which must be NewDisposable: the files of NewFile were copied, too.
type Backfill struct {
	format   Format
	assigner workerassign.Assigner
	most     int // of the time units that are counted

	lock      chan struct{}   // a lock, held by sending, that guards the following fields
	workerIDs []int64         // those of the counted UIDs
	counts    map[int64]int64 // of UIDs, by the time unit: the sequence is the lower part, the upper one is an index of workerIDs
}

// NewBackfill returns a Backfill that takes a worker ID from the assigner, which must be one whose worker IDs are never used again:
// workerassign.NewDisposable without workerassign.WithVerification, or workerassign.NewFile. One whose leases have a start or an end is
// refused. A database that may lose its last inserts at a failover is not suitable: generators can notice that (WithVerification), a
// Backfill cannot. The options must be those of the generators: if the fleet has changed its format, use the former one for instants before the
// change. workerassign.Prefix and Divide must wrap the assigner as they do in the fleet. If generators take worker IDs from another store, or
// from package recycled, keep the worker IDs of the Backfill apart from theirs, for all time, by workerassign.Prefix. The call waits for the
// store until ctx ends; if ctx has no deadline, for the assigner's timeout.
//
// Errors wrap ErrOption, ErrLease, or ErrWorkerID.
func NewBackfill(ctx context.Context, a workerassign.Assigner, opts ...FormatOption) (*Backfill, error) {
	format, err := NewFormat(opts...)
	if a == nil {
		err = errors.Join(err, fmt.Errorf("%w: the assigner is nil; must not be nil", ErrOption))
	}
	if err != nil {
		return nil, err
	}
	b := &Backfill{format: format, assigner: a, most: 1 << 20, lock: make(chan struct{}, 1), counts: map[int64]int64{}}
	if err := b.assign(ctx); err != nil {
		return nil, err
	}
	return b, nil
}

// At returns a UID whose time is the start of the time unit of t: AtContext with a context without a deadline, so the assigner's own timeout
// limits how long it waits for the store.
func (b *Backfill) At(t time.Time) (ID, error) { return b.AtContext(context.Background(), t) }

// AtContext returns a UID whose time is the start of the time unit of t. It waits for the store until ctx ends if it requires another
// worker ID.
//
// Errors wrap ErrRange, if t is before Format.Epoch or not before Format.End, ErrLease, ErrWorkerID, or the cause of ctx.
func (b *Backfill) AtContext(ctx context.Context, t time.Time) (ID, error) {
	var id [1]ID
	err := b.Fill(ctx, id[:], []time.Time{t})
	return id[0], err
}

// Fill sets each of ids to a UID of the instant at the same index of times, as AtContext does. If one of the instants cannot be represented,
// or the slices differ in length (ErrOption), it sets none. After another error, those are set that are not 0.
func (b *Backfill) Fill(ctx context.Context, ids []ID, times []time.Time) error {
	switch {
	case b == nil || b.lock == nil:
		return fmt.Errorf("%w: the Backfill is nil or the zero value; create it with NewBackfill", ErrOption)
	case len(ids) != len(times):
		return fmt.Errorf("%w: %d IDs are to be set for %d instants; must be as many", ErrOption, len(ids), len(times))
	}
	clear(ids)
	for _, t := range times {
		if _, err := b.format.Compose(t, 0, 0); err != nil {
			return err
		}
	}
	select {
	case b.lock <- struct{}{}:
		defer func() { <-b.lock }()
	case <-ctx.Done():
		return fmt.Errorf("uid: context ended while waiting for another call of the Backfill: %w", ended(ctx))
	}
	for i, t := range times {
		var err error
		if ids[i], err = b.next(ctx, b.format.base.Delta(t)); err != nil {
			return err
		}
	}
	return nil
}

// next returns the next UID of a time unit.
func (b *Backfill) next(ctx context.Context, delta int64) (ID, error) {
	count, isCounted := b.counts[delta]
	if !isCounted && len(b.counts) >= b.most {
		clear(b.counts)
		b.workerIDs = b.workerIDs[:0]
	}
	layout := b.format.layout
	index := int(count >> layout.SequenceBits())
	for len(b.workerIDs) <= index {
		if err := b.assign(ctx); err != nil {
			return 0, err
		}
	}
	b.counts[delta] = count + 1
	id := ID(layout.AllocateUnchecked(delta, b.workerIDs[index], count&layout.MaxSequence()))
	if id == 0 { // at the epoch
		return b.next(ctx, delta)
	}
	return id, nil
}

// assign takes another worker ID. Its lease is never released: there is no time in which nobody may have used it.
func (b *Backfill) assign(ctx context.Context) error {
	layout := b.format.layout
	lease, err := b.assigner.Assign(ctx, workerassign.Request{Now: time.Now, MaxWorkerID: layout.MaxWorkerID(), Format: b.format.String()})
	if err == nil && lease == nil {
		err = errors.New("the assigner returned neither a lease nor an error")
	}
	switch {
	case errors.Is(err, workerassign.ErrWidth):
		return fmt.Errorf("%w: %w", ErrWorkerID, mask(err))
	case err != nil:
		return fmt.Errorf("%w: no worker ID was assigned: %w", ErrLease, mask(err))
	}
	workerID := lease.WorkerID()
	if workerID < 0 || workerID > layout.MaxWorkerID() {
		err = fmt.Errorf("%w: the worker ID is %d; must be 0 to %d for layout %v", ErrWorkerID, workerID, layout.MaxWorkerID(), layout)
	} else if err = b.check(ctx, lease); err == nil {
		b.workerIDs = append(b.workerIDs, workerID)
		return nil
	}
	if released := lease.Release(ctx, time.Time{}); released != nil {
		err = fmt.Errorf("%w; its release failed: %w", err, mask(released))
	}
	return err
}

// check returns an error if a lease does not have all of the time.
func (b *Backfill) check(ctx context.Context, lease workerassign.Lease) error {
	const advice = "a Backfill requires worker IDs that are never used again, as those of workerassign.NewDisposable without WithVerification"
	if begin := lease.NotBefore(); !begin.IsZero() {
		return fmt.Errorf("%w: the lease of worker ID %d begins at %s, so another generator may have used it before: %s",
			ErrOption, lease.WorkerID(), begin.UTC().Format(time.RFC3339Nano), advice)
	}
	grant, err := lease.Reserve(ctx, b.format.End())
	if err != nil {
		return fmt.Errorf("%w: worker ID %d cannot be reserved: %w", ErrLease, lease.WorkerID(), mask(err))
	}
	if grant.Until.Before(b.format.End()) && grant.Until.Before(workerassign.Unbounded()) {
		return fmt.Errorf("%w: the lease of worker ID %d ends at %s, so another generator may use it after that: %s",
			ErrOption, lease.WorkerID(), grant.Until.UTC().Format(time.RFC3339Nano), advice)
	}
	return nil
}
