package recycled

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/internal/backoff"
	"github.com/ringuid/ringuid/internal/millis"
	"github.com/ringuid/ringuid/internal/options"
	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/workerassign"
)

// An Assigner leases worker IDs of a pool and uses them again, without trusting any clock: a worker ID is
// leased as a span of UID time, and the next lease of it begins where the last grant ended. So a fleet
// needs as many worker IDs as it has generators, and a few more, for any number of restarts. The rules that
// it follows, R1 to R8, are in doc/internals/design.md, section 8, and how to run it is in doc/fleet.md.
//
// If the process is copied while it runs (a snapshot of a machine that is resumed twice), both copies generate the
// same UIDs until the second one extends its lease: 12 seconds with the defaults of package uid. Then its grant is
// void (workerassign.ErrVoid), and it takes another one.
//
// Its leases have an end: a generator extends them ahead of need, and uses the store about every 12 seconds
// with the defaults of package uid. If it cannot, it generates UIDs up to the end of its grant.
//
// The number of worker IDs in use is bounded: a generator whose load is above the layout's rate changes
// to another worker ID at its borrow limit of L time units, and takes load / rate * (L + 2) / (L + 1) of them in turn, rounded
// up, and one more.
//
// It is a workerassign.Assigner and safe for concurrent use. New returns one.
type Assigner struct {
	store Store
	cfg   config
	seen  atomic.Pointer[Pool] // the pool as it was found last, see found; nil: it was not. If it is missing then, another one begins with a floor (R7)
}

// New returns an Assigner of the worker IDs that s keeps. It does not use the store: an invalid
// option, or an s that is nil, is an error of Assign that wraps workerassign.ErrOption.
//
// All generators of the pool must have the same format: the layout, the epoch, the time unit, and the
// same workerassign.Prefix or Divide around the assigner. The first one decides, and Assign refuses another with an
// error that wraps ErrPoolFormat.
func New(s Store, opts ...Option) *Assigner {
	r := &Assigner{store: s, cfg: newConfig()}
	if s == nil {
		r.cfg.setError("the slot store is nil; must not be nil")
	}
	options.Apply(opts, func(o Option) { o.apply(&r.cfg) }, r.cfg.setError)
	r.cfg.check()
	return r
}

var (
	// ErrPoolFormat is returned by Assign if the pool belongs to generators of another
	// format. Two formats on one pool would generate equal UIDs with different meanings.
	ErrPoolFormat = errors.New("recycled: the pool has another format")

	// ErrClockSkew is returned by Assign if this host's clock and the store's clock
	// differ by more than the bound of WithClockBound.
	ErrClockSkew = errors.New("recycled: this host's clock and the store's clock differ")

	// ErrPoolFull matches every *PoolFullError, by errors.Is: all worker IDs of the layout are held.
	ErrPoolFull = errors.New("recycled: all worker IDs are held")

	// ErrSlotHeld matches every *SlotHeldError, by errors.Is: another holds the wanted worker ID, or it
	// cannot be used yet.
	ErrSlotHeld = errors.New("recycled: the worker ID is held by another")

	// ErrPoolExists is returned by CreatePool if the store has a pool.
	ErrPoolExists = errors.New("recycled: the pool exists")

	// ErrPool is returned if the records of a pool contradict each other: a slot is missing, for
	// example, because somebody deleted it. doc/fleet.md says how to repair the pool.
	ErrPool = errors.New("recycled: the pool is damaged")
)

// PoolFullError reports that all worker IDs of the layout are held.
type PoolFullError struct {
	Held        int64     // how many worker IDs are held, or were released and cannot be used yet
	MaxWorkerID int64     // the greatest worker ID of the layout
	NextFree    time.Time // when the next one becomes free, by the store's clock, unless its holder extends its lease
	Floor       time.Time // before which no lease begins, if the store's clock has not reached it
}

// Error implements error.
func (e *PoolFullError) Error() string {
	if e == nil {
		return ErrPoolFull.Error()
	}
	floor := ""
	if !e.Floor.IsZero() {
		floor = fmt.Sprintf("; no lease begins before the pool's floor, %s", e.Floor.UTC().Format(time.RFC3339Nano))
	}
	return fmt.Sprintf("%v: %d are held, and the greatest worker ID of the layout is %d; the next one becomes free at %s, unless its holder extends its lease%s: use a layout with more worker bits, or fewer generators",
		ErrPoolFull, e.Held, e.MaxWorkerID, e.NextFree.UTC().Format(time.RFC3339Nano), floor)
}

// Is reports whether target is ErrPoolFull.
func (e *PoolFullError) Is(target error) bool { return target == ErrPoolFull }

// SlotHeldError reports that the worker ID of WithWorkerID is not free: another generator holds it; or nobody holds
// it, Slot.Token is "", and it cannot be used before Slot.FreeAt.
type SlotHeldError struct {
	Slot Slot // with its holder, since when, and until when
}

// Error implements error.
func (e *SlotHeldError) Error() string {
	if e == nil {
		return ErrSlotHeld.Error()
	}
	if e.Slot.Token == "" {
		return fmt.Sprintf("recycled: worker ID %d is not held, but cannot be used before %s, the end of an earlier grant: "+
			"wait until the store's clock and this host's clock show that time", e.Slot.WorkerID, e.Slot.FreeAt.UTC().Format(time.RFC3339Nano))
	}
	h := e.Slot.Holder
	return fmt.Sprintf("%v: worker ID %d is held by %q (host %q, process %q) since %s, and is granted until %s; it becomes free at %s: end that process, or wait",
		ErrSlotHeld, e.Slot.WorkerID, h.Name, h.Host, h.Process, h.Since.UTC().Format(time.RFC3339), e.Slot.Until.UTC().Format(time.RFC3339Nano),
		e.Slot.FreeAt.UTC().Format(time.RFC3339Nano))
}

// Is reports whether target is ErrSlotHeld.
func (e *SlotHeldError) Is(target error) bool { return target == ErrSlotHeld }

// Assign implements workerassign.Assigner. It blocks until it has a slot or ctx ends, or for the time of
// WithTimeout if ctx has no deadline. It waits for a slot that is held if that becomes free before the deadline;
// otherwise it returns a *PoolFullError or a *SlotHeldError at once. If ctx ends, it returns
// one of these if it waits for such a slot, otherwise a *workerassign.RetryError.
func (r *Assigner) Assign(ctx context.Context, req workerassign.Request) (workerassign.Lease, error) {
	return r.assign(ctx, req, nil)
}

// assign is Assign. If beforeClaim is not nil, it is called before each write that claims a slot, with the slot as
// it is to be written; its error ends assign without the write.
func (r *Assigner) assign(ctx context.Context, req workerassign.Request, beforeClaim func(Slot) error) (workerassign.Lease, error) {
	if err := r.usable(); err != nil {
		return nil, err
	}
	if least := max(r.cfg.firstWorkerID, 1); req.Format == "" || len(req.Format) > maxFormatLength || req.MaxWorkerID < least {
		return nil, fmt.Errorf("%w: Request.Format is %q and Request.MaxWorkerID is %d; the former must have 1 to %d bytes, and the latter must be at least %d",
			workerassign.ErrOption, req.Format, req.MaxWorkerID, maxFormatLength, least)
	}
	if id := r.cfg.workerID; id > req.MaxWorkerID { // before the pool gets the format of this generator
		return nil, fmt.Errorf("%w: the worker ID is %d; must be at most %d, the greatest of the layout", workerassign.ErrWidth, id, req.MaxWorkerID)
	}
	ctx, cancel := backoff.WithTimeout(ctx, r.cfg.timeout)
	defer cancel()
	log := safelog.NewQueue(r.cfg.loggerFor(req))
	defer log.Flush(safelog.FlushTimeout)
	a := &slotAssign{recycled: r, req: req, log: log, beforeClaim: beforeClaim}
	return a.run(ctx)
}

// maxFormatLength is the greatest length of a format: a store may have a column for it.
const maxFormatLength = 512

// nowUp returns the store's clock, rounded up to a whole millisecond, for records.
func (s State) nowUp() time.Time { return millis.Up(s.Now) }

// leaseHistory returns what a slot keeps of the history under which it is leased (R7). It contains the time at
// which the pool took the history, because a server may become the primary again without a restart, and
// then has the history that it had before.
func (p Pool) leaseHistory() string {
	return fmt.Sprintf("%s since %d", p.History, p.Since.UnixMilli())
}
