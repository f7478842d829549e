package uid

import (
	"log/slog"
	"math"
	"time"

	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/ringbuffer"
)

// Stats is a snapshot of a generator. Its numbers are not all taken at the same instant.
type Stats struct {
	WorkerID int64     // the worker ID of the lease in use
	Format   Format    // layout, epoch and time unit
	End      time.Time // when the time bits end

	// LeaseSince is when the lease was taken into use, by the generator's clock. LeaseUntil is up to when
	// it is granted: UIDs of that time and later require that the assigner extends it. LeaseBounded
	// reports whether the lease has such an end. If it has none, LeaseUntil is the zero time.
	LeaseSince   time.Time
	LeaseUntil   time.Time
	LeaseBounded bool

	// WorkerIDsRemaining is how many worker IDs the assigner had left when it granted the lease in use, and
	// WorkerIDsTotal of how many: see workerassign.Grant. Both are 0 if that is not known, as with
	// worker IDs that are used again.
	WorkerIDsRemaining int64
	WorkerIDsTotal     int64

	// ReserveAhead is how far ahead of need time of a lease is reserved: WithReserveAhead.
	ReserveAhead time.Duration

	// LostLeases is how many leases were lost: the assigner did not extend them in time. It includes
	// leases that were lost before they were used, but not those that Renew has dropped.
	LostLeases uint64

	// VoidLeases is how often a lease was found void (workerassign.ErrVoid): another process may have generated the same UIDs. The
	// leases that were dropped with one are not counted; they are in LostLeases, as it is.
	VoidLeases uint64

	Issued        uint64 // UIDs that were returned, and those that were claimed for blocks
	RejectedTakes uint64 // takes that found no UID and had to wait, to pad or to fail

	// Ahead is how far the time of the next UID lies ahead of the clock (borrowed time). If it is
	// negative, the time lies behind. It is 0 for a Default generator, whose next UID has the current time.
	// Ahead is about the UID that is taken next, and Borrowed about the one that was stamped last: the two ends
	// of a Cached generator's ring.
	Ahead time.Duration

	// Rollbacks is how often the generator found that the wall clock had been set back to an earlier time
	// unit. A Cached generator reads the clock for each run, and at each scheduled padding.
	Rollbacks uint64

	Rollovers uint64 // changes to another lease: at the borrow limit, because one was lost, or by Renew

	// Borrowed is how far the time unit that was stamped last lies ahead of the clock's, at least 0. At
	// BorrowLimit the generator takes another lease or waits for the clock. BorrowLimit is that of
	// WithMaxBorrow, or less if the lease in use has a horizon. While the lease has not begun, Borrowed is 0. Both are 0 for a Default
	// generator.
	Borrowed    time.Duration
	BorrowLimit time.Duration

	// Ring is the state of a Cached generator's ring; the zero value for a Default generator, which has none. Ring.Dropped counts
	// the UIDs that were dropped because they became stale, because the grant of a lease is void, or by Renew. Ring.LastError is
	// not always a failure: a generator whose next run must wait, for example for the clock, has the reason here.
	Ring ringbuffer.Stats
}

// setLease sets the fields about the lease in use. since is when it was taken into use.
func (st *Stats) setLease(h *leasing.HeldLease, since time.Time, m *leasing.Manager, reserveAhead time.Duration) {
	st.LeaseSince, st.LostLeases, st.VoidLeases, st.ReserveAhead = since.Round(0).UTC(), m.Losses(), m.Voids(), reserveAhead
	if remaining, total := h.Remaining(); total > 0 {
		st.WorkerIDsRemaining, st.WorkerIDsTotal = remaining, total
	}
	if granted, layout := h.Granted(), st.Format.layout; granted <= layout.MaxDelta() {
		st.LeaseBounded, st.LeaseUntil = true, st.Format.base.Time(granted)
	}
}

// LogValue implements slog.LogValuer. The group has a key for each field, in snake case: worker_id, rejected_takes, ring. The
// format is its text, and the ring a group: see ringbuffer.Stats.LogValue. A format, a time or a ring that is not set is left out.
func (st Stats) LogValue() slog.Value {
	attrs := []slog.Attr{slog.Int64("worker_id", st.WorkerID)}
	if !st.Format.Layout().IsZero() {
		attrs = append(attrs, slog.String("format", st.Format.String()))
	}
	attrs = safelog.AppendTime(attrs, "end", st.End)
	attrs = safelog.AppendTime(attrs, "lease_since", st.LeaseSince)
	attrs = safelog.AppendTime(attrs, "lease_until", st.LeaseUntil)
	attrs = append(attrs,
		slog.Bool("lease_bounded", st.LeaseBounded),
		slog.Int64("worker_ids_remaining", st.WorkerIDsRemaining),
		slog.Int64("worker_ids_total", st.WorkerIDsTotal),
		slog.Duration("reserve_ahead", st.ReserveAhead),
		slog.Uint64("lost_leases", st.LostLeases),
		slog.Uint64("void_leases", st.VoidLeases),
		slog.Uint64("issued", st.Issued),
		slog.Uint64("rejected_takes", st.RejectedTakes),
		slog.Duration("ahead", st.Ahead),
		slog.Uint64("rollbacks", st.Rollbacks),
		slog.Uint64("rollovers", st.Rollovers),
		slog.Duration("borrowed", st.Borrowed),
		slog.Duration("borrow_limit", st.BorrowLimit),
	)
	if st.Ring != (ringbuffer.Stats{}) {
		attrs = append(attrs, slog.Attr{Key: "ring", Value: st.Ring.LogValue()})
	}
	return slog.GroupValue(attrs...)
}

// MarshalJSON implements json.Marshaler: an object with the keys of LogValue. The durations (ahead, reserve_ahead, borrowed,
// borrow_limit) are numbers of nanoseconds, and the times are as in RFC 3339, with more digits of the year if it has more than four.
// Integers beyond 2^53 lose digits in programs that read JSON numbers as floating-point numbers.
func (st Stats) MarshalJSON() ([]byte, error) { return safelog.JSON(st.LogValue()) }

// Stats returns a snapshot; the zero Stats of a generator that NewCached has not made. It does not block takers.
func (c *Cached) Stats() Stats {
	if !c.isConstructed() {
		return Stats{}
	}
	ring, f, lease := c.ring.Stats(), c.cfg.format, c.runs.current.Load()
	st := Stats{
		WorkerID:      lease.held.WorkerID(),
		Format:        f,
		End:           f.End(),
		Issued:        ring.Taken,
		RejectedTakes: ring.RejectedTakes,
		Rollbacks:     c.runs.rollback.rollbacks.Load(),
		Rollovers:     c.runs.changes.Load(),
		Ring:          ring,
	}
	st.setLease(lease.held, lease.since, c.leases, c.cfg.reserve)
	st.Borrowed, st.BorrowLimit = c.runs.borrowed(lease)
	if ring.Oldest >= 0 {
		st.Ahead = f.Parse(ID(ring.Oldest)).Time.Sub(c.clock.Now())
	}
	return st
}

// borrowed returns how far the last unit that was stamped with a lease lies ahead of the clock's, and the
// borrow limit. It is safe for concurrent use.
func (p *runProvider) borrowed(lease *leaseInUse) (borrowed, limit time.Duration) {
	unit := p.cfg.format.Unit()
	limit = time.Duration(lease.borrowLimit) * unit
	if !lease.hasStamped() {
		return 0, limit
	}
	ahead := max(lease.stamped.Load()-p.clock.Unit(), 0)
	return time.Duration(min(ahead, int64(math.MaxInt64/unit))) * unit, limit
}

// Stats returns a snapshot; the zero Stats of a generator that NewDefault has not made. It does not block takers. After Close it is
// the state at Close. Issued never decreases.
func (d *Default) Stats() Stats {
	if !d.isConstructed() {
		return Stats{}
	}
	f := d.cfg.format
	// In this order, a change of unit or lease in between makes the sum less than the number of issued
	// UIDs, never more.
	past := d.leaseChanger.past.Load()
	l := d.lease.Load()
	issued := uint64(past + l.issuedInUnitOf(l.last.Load()))
	for {
		greatest := d.reported.Load()
		if issued <= greatest {
			issued = greatest
			break
		}
		if d.reported.CompareAndSwap(greatest, issued) {
			break
		}
	}
	st := Stats{
		WorkerID:      l.workerID,
		Format:        f,
		End:           f.End(),
		Issued:        issued,
		RejectedTakes: d.waiter.rejectedTakes.Load(),
		Rollbacks:     d.rollback.rollbacks.Load(),
		Rollovers:     d.leaseChanger.changes.Load(),
	}
	st.setLease(l.held, d.clock.TimeAt(l.since), d.leases, d.cfg.reserve)
	return st
}
