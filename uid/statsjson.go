package uid

import (
	"encoding/json"
	"time"
)

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
