package uid

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
	last := l.last.Load()
	issued := uint64(past + l.issuedInUnitOf(last))
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
	if last == sealed {
		last = l.final.Load()
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
	if st.Issued > 0 {
		// A unit that has started is neither ahead nor behind: the next UID has the current time.
		st.Ahead = max(f.base.Time(last>>d.seqBits).Sub(d.clock.Now()), 0)
	}
	return st
}
