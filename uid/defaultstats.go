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
