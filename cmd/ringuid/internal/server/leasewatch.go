package server

import (
	"log/slog"
	"sync"
	"time"

	"github.com/ringuid/ringuid/uid"
)

// A leaseWatch notices when the store of worker IDs does not extend the lease, long before UIDs end: the generator stays ready until
// then.
type leaseWatch struct {
	mu    sync.Mutex
	since time.Time     // when the lease was taken into use
	usual time.Duration // the longest time that was left of it, without what was borrowed under load
	state leaseState
}

// leaseState is what a leaseWatch has found, as JSON.
type leaseState struct {
	Extended time.Time `json:"lease_extended,omitzero"` // when the lease was last seen to be extended; zero if it has no end
	Low      bool      `json:"lease_low"`               // less than half of the usual time is left

	until time.Time
}

// note records the state of the generator. It logs when little time is left, and when that has passed.
func (w *leaseWatch) note(log *slog.Logger, now time.Time, st uid.Stats, h uid.Health) {
	w.mu.Lock()
	before := w.state
	if !st.LeaseSince.Equal(w.since) {
		w.since, w.usual = st.LeaseSince, 0
	}
	w.usual = max(w.usual, min(h.For, st.ReserveAhead*3/2))
	if !st.LeaseBounded {
		w.state = leaseState{}
	} else if st.LeaseUntil.After(before.until) {
		w.state.Extended, w.state.until = now.UTC(), st.LeaseUntil
	}
	w.state.Low = st.LeaseBounded && h.For < w.usual/2
	after := w.state
	w.mu.Unlock()
	switch {
	case after.Low && !before.Low:
		log.Warn("the store of worker IDs does not extend the lease; UIDs end when its time is used up",
			"left", h.For.Round(time.Second), "last_extended", now.Sub(after.Extended).Round(time.Second))
	case before.Low && !after.Low:
		log.Info("the store of worker IDs extends the lease again", "left", h.For.Round(time.Second))
	}
}

// last returns what was found last.
func (w *leaseWatch) last() leaseState {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}
