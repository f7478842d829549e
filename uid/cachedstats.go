package uid

import (
	"math"
	"time"

	"github.com/ringuid/ringuid/ringbuffer"
)

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
