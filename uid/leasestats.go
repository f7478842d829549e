package uid

import (
	"time"

	"github.com/ringuid/ringuid/internal/leasing"
)

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
