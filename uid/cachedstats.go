package uid

import "github.com/ringuid/ringuid/ringbuffer"

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
		RejectedPuts:  ring.RejectedPuts,
		Paddings: Paddings{
			Initial:   ring.Paddings[ringbuffer.Initial],
			Immediate: ring.Paddings[ringbuffer.Immediate],
			Scheduled: ring.Paddings[ringbuffer.Scheduled],
			Caller:    ring.Paddings[ringbuffer.Caller],
		},
		FailedPaddings: ring.FailedPaddings,
		Dropped:        ring.Dropped,
		Rollovers:      c.runs.changes.Load(),
		Fill:           ring.Fill,
		FillLevel:      float64(ring.FillRuns) / float64(ring.CapacityRuns),
		LastError:      ring.LastError,
	}
	st.setLease(lease.held, lease.since, c.leases.Losses())
	if ring.Oldest >= 0 {
		st.Ahead = f.Parse(ID(ring.Oldest)).Time.Sub(c.clock.Now())
	}
	return st
}
