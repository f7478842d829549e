package uid

import (
	"time"

	"github.com/ringuid/ringuid/ringbuffer"
)

// Stats is a snapshot of a generator. Its numbers are not taken at the same instant.
type Stats struct {
	WorkerID int64     // the worker ID that is stamped now
	Format   Format    // layout, epoch and time unit
	End      time.Time // when the time bits end

	Issued        uint64 // UIDs handed out, and those that were claimed for spans
	RejectedTakes uint64 // how often a take found nothing and had to wait, to pad or to fail

	// Ahead is how far the time of the UID that is next lies ahead of the clock (borrowed
	// time); negative, how far behind.
	Ahead time.Duration

	// Rollbacks is how often a Default generator found that the wall clock had been set back
	// to an earlier time unit.
	Rollbacks uint64

	Rollovers uint64 // changes to another lease

	// What follows is a Cached generator's.

	RejectedPuts   uint64   // runs that found the ring full
	Paddings       Paddings // paddings that put something
	FailedPaddings uint64   // tries to pad that failed
	Dropped        uint64   // UIDs that were dropped because they had grown old
	Fill           uint64   // UIDs that are ready
	FillLevel      float64  // runs that are ready, as a part of the ring: 0 to 1
	LastError      error    // what hinders the padding; nil when nothing does
}

// Paddings counts paddings by what triggered them.
type Paddings struct {
	Initial   uint64 // the constructor
	Immediate uint64 // the fill level fell below the padding factor
	Scheduled uint64 // the schedule interval
	Caller    uint64 // a taker that found the ring empty
}

// Stats returns a snapshot. It does not hinder takers.
func (c *Cached) Stats() Stats {
	if !c.made() {
		return Stats{LastError: errNotMade}
	}
	ring, f := c.ring.Stats(), c.time.format
	st := Stats{
		WorkerID:      c.stamper.current.Load().workerID,
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
		Rollovers:      c.stamper.rollovers.Load(),
		Fill:           ring.Fill,
		FillLevel:      float64(ring.FillRuns) / float64(ring.CapacityRuns),
		LastError:      ring.LastError,
	}
	if ring.Oldest >= 0 {
		st.Ahead = f.Parse(ID(ring.Oldest)).Time.Sub(c.time.now())
	}
	return st
}

// Stats returns a snapshot. It does not hinder takers. After Close it is that of the last
// moment. Issued never falls.
func (d *Default) Stats() Stats {
	if !d.made() {
		return Stats{LastError: errNotMade}
	}
	f := d.time.format
	// In this order a change of unit or lease in between makes the sum less, never more than was
	// issued.
	past := d.past.Load()
	l := d.lease.Load()
	last := l.last.Load()
	issued := uint64(past + l.issuedInUnitOf(last))
	for {
		most := d.reported.Load()
		if issued <= most {
			issued = most
			break
		}
		if d.reported.CompareAndSwap(most, issued) {
			break
		}
	}
	if last == sealedLast {
		last = l.final.Load()
	}
	st := Stats{
		WorkerID:      l.workerID,
		Format:        f,
		End:           f.End(),
		Issued:        issued,
		RejectedTakes: d.rejectedTakes.Load(),
		Rollbacks:     d.rollbacks.Load(),
		Rollovers:     d.rollovers.Load(),
	}
	if st.Issued > 0 {
		// A unit that has begun is neither ahead nor behind: the next UID is now's.
		st.Ahead = max(f.time(last>>d.seqBits).Sub(d.time.now()), 0)
	}
	return st
}
