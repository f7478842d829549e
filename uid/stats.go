package uid

import (
	"encoding/json"
	"math"
	"time"

	"github.com/ringuid/ringuid/internal/leasing"
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

	Issued        uint64 // UIDs that were returned, and those that were claimed for blocks
	RejectedTakes uint64 // takes that found no UID and had to wait, to pad or to fail

	// Ahead is how far the time of the next UID lies ahead of the clock (borrowed time). If it is
	// negative, the time lies behind. It is 0 for a Default generator, whose next UID has the current time.
	Ahead time.Duration

	// Rollbacks is how often the generator found that the wall clock had been set back to an earlier time
	// unit. A Cached generator reads the clock for each run, and at each scheduled padding.
	Rollbacks uint64

	Rollovers uint64 // changes to another lease: at the borrow limit, because one was lost, or by Renew

	// The following fields are set only by a Cached generator, and LastError also by the methods of nil
	// and zero generators.
	Paddings       Paddings  // paddings that put at least one run
	FailedPaddings uint64    // tries to pad that failed
	LastFailure    time.Time // when the last of these was, by the system's clock, in UTC; the zero time if there was none
	Dropped        uint64    // UIDs that were dropped because they became stale, because the grant of a lease is void, or by Renew
	Fill           uint64    // UIDs that are ready
	FillLevel      float64   // the fraction of the ring's runs that are ready: 0 to 1

	// Borrowed is how far the time unit that was stamped last lies ahead of the clock's, at least 0. At
	// BorrowLimit the generator takes another lease or waits for the clock. BorrowLimit is that of
	// WithMaxBorrow, or less if the lease in use has a horizon. While the lease has not begun, Borrowed is 0.
	Borrowed    time.Duration
	BorrowLimit time.Duration

	// LastError is the error of the last try to pad; nil if that try put a run. It is not always a
	// failure: a generator whose next run must wait, for example for the clock, has the reason here.
	LastError error
}

// Paddings counts paddings by what triggered them.
type Paddings struct {
	Initial   uint64 // the constructor
	Immediate uint64 // the fill level fell below the padding factor
	Scheduled uint64 // the schedule interval
	Caller    uint64 // a taker that found the ring empty
}

// setLease sets the fields about the lease in use. since is when it was taken into use.
func (st *Stats) setLease(h *leasing.HeldLease, since time.Time, losses uint64, reserveAhead time.Duration) {
	st.LeaseSince, st.LostLeases, st.ReserveAhead = since.Round(0).UTC(), losses, reserveAhead
	if remaining, total := h.Remaining(); total > 0 {
		st.WorkerIDsRemaining, st.WorkerIDsTotal = remaining, total
	}
	if granted, layout := h.Granted(), st.Format.layout; granted <= layout.MaxDelta() {
		st.LeaseBounded, st.LeaseUntil = true, st.Format.base.Time(granted)
	}
}

// statsJSON is the form of Stats as JSON. Its names are those of the log; see Stats.LogValue.
type statsJSON struct {
	WorkerID       int64         `json:"worker_id"`
	Format         Format        `json:"format,omitzero"`
	End            string        `json:"end,omitempty"` // not a time.Time, which has no JSON for a year beyond 9999
	LeaseSince     time.Time     `json:"lease_since,omitzero"`
	LeaseUntil     time.Time     `json:"lease_until,omitzero"`
	LeaseBounded   bool          `json:"lease_bounded"`
	Remaining      int64         `json:"worker_ids_remaining"`
	Total          int64         `json:"worker_ids_total"`
	ReserveAhead   time.Duration `json:"reserve_ahead"`
	LostLeases     uint64        `json:"lost_leases"`
	Issued         uint64        `json:"issued"`
	RejectedTakes  uint64        `json:"rejected_takes"`
	Ahead          time.Duration `json:"ahead"`
	Rollbacks      uint64        `json:"rollbacks"`
	Rollovers      uint64        `json:"rollovers"`
	Paddings       paddingsJSON  `json:"paddings"`
	FailedPaddings uint64        `json:"failed_paddings"`
	LastFailure    time.Time     `json:"last_failure,omitzero"`
	Dropped        uint64        `json:"dropped"`
	Fill           uint64        `json:"fill"`
	FillLevel      float64       `json:"fill_level"`
	Borrowed       time.Duration `json:"borrowed"`
	BorrowLimit    time.Duration `json:"borrow_limit"`
	LastError      *string       `json:"last_error,omitempty"`
}

// paddingsJSON has the fields of Paddings, in the same order.
type paddingsJSON struct {
	Initial   uint64 `json:"initial"`
	Immediate uint64 `json:"immediate"`
	Scheduled uint64 `json:"scheduled"`
	Caller    uint64 `json:"caller"`
}

// MarshalJSON implements json.Marshaler: an object with a key for each field, in snake case, as in a
// log (worker_id, rejected_takes, fill_level). The format is its text. The durations (ahead, reserve_ahead,
// borrowed, borrow_limit) are numbers of nanoseconds, the times (end, lease_since, lease_until, last_failure) are as
// in RFC 3339, and last_error is the error's text. A format, a time or an error that is not set is left out. So
// is a time other than end that is not in the years 1 to 9999.
func (st Stats) MarshalJSON() ([]byte, error) {
	out := statsJSON{
		WorkerID:       st.WorkerID,
		Format:         st.Format,
		LeaseSince:     jsonTime(st.LeaseSince),
		LeaseUntil:     jsonTime(st.LeaseUntil),
		LeaseBounded:   st.LeaseBounded,
		Remaining:      st.WorkerIDsRemaining,
		Total:          st.WorkerIDsTotal,
		ReserveAhead:   st.ReserveAhead,
		LostLeases:     st.LostLeases,
		Issued:         st.Issued,
		RejectedTakes:  st.RejectedTakes,
		Ahead:          st.Ahead,
		Rollbacks:      st.Rollbacks,
		Rollovers:      st.Rollovers,
		Paddings:       paddingsJSON(st.Paddings),
		FailedPaddings: st.FailedPaddings,
		LastFailure:    jsonTime(st.LastFailure),
		Dropped:        st.Dropped,
		Fill:           st.Fill,
		FillLevel:      st.FillLevel,
		Borrowed:       st.Borrowed,
		BorrowLimit:    st.BorrowLimit,
	}
	if !st.End.IsZero() {
		out.End = st.End.Format(time.RFC3339Nano)
	}
	if st.LastError != nil {
		text := st.LastError.Error()
		out.LastError = &text
	}
	return json.Marshal(out)
}

// jsonTime returns a time in UTC, or the zero time if it has no JSON.
func jsonTime(t time.Time) time.Time {
	t = t.UTC()
	if year := t.Year(); year < 1 || year > 9999 {
		return time.Time{}
	}
	return t
}

// Stats returns a snapshot. It does not block takers.
func (c *Cached) Stats() Stats {
	if !c.isConstructed() {
		return Stats{LastError: errNotMade}
	}
	ring, f, lease := c.ring.Stats(), c.cfg.format, c.runs.current.Load()
	st := Stats{
		WorkerID:      lease.held.WorkerID(),
		Format:        f,
		End:           f.End(),
		Issued:        ring.Taken,
		RejectedTakes: ring.RejectedTakes,
		Paddings: Paddings{
			Initial:   ring.Paddings[ringbuffer.Initial],
			Immediate: ring.Paddings[ringbuffer.Immediate],
			Scheduled: ring.Paddings[ringbuffer.Scheduled],
			Caller:    ring.Paddings[ringbuffer.Caller],
		},
		FailedPaddings: ring.FailedPaddings,
		LastFailure:    ring.LastFailure,
		Dropped:        ring.Dropped,
		Rollbacks:      c.runs.rollback.rollbacks.Load(),
		Rollovers:      c.runs.changes.Load(),
		Fill:           ring.Fill,
		FillLevel:      float64(ring.FillRuns) / float64(ring.CapacityRuns),
		LastError:      ring.LastError,
	}
	st.setLease(lease.held, lease.since, c.leases.Losses(), c.cfg.reserve)
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

// Stats returns a snapshot. It does not block takers. After Close it is the state at Close. Issued
// never decreases.
func (d *Default) Stats() Stats {
	if !d.isConstructed() {
		return Stats{LastError: errNotMade}
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
	st.setLease(l.held, d.clock.TimeAt(l.since), d.leases.Losses(), d.cfg.reserve)
	return st
}
