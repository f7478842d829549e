package uid

import (
	"log/slog"
	"time"
)

// timeAttr returns an attribute for a time. If the year has more than four digits, the value is text:
// slog.JSONHandler writes such a time as invalid JSON.
func timeAttr(key string, t time.Time) slog.Attr {
	if year := t.Year(); year < 0 || year > 9999 {
		return slog.String(key, t.Format(time.RFC3339Nano))
	}
	return slog.Time(key, t)
}

// LogValue implements slog.LogValuer. The group has the keys id, time, worker_id, sequence and
// delta.
func (p Parts) LogValue() slog.Value {
	return slog.GroupValue(
		slog.Attr{Key: "id", Value: slog.StringValue(p.ID.String())},
		timeAttr("time", p.Time),
		slog.Int64("worker_id", p.WorkerID),
		slog.Int64("sequence", p.Sequence),
		slog.Int64("delta", p.Delta),
	)
}

// LogValue implements slog.LogValuer. The group has the keys layout (as text), epoch and unit. That
// of the zero Format is empty, and handlers leave it out.
func (f Format) LogValue() slog.Value {
	if f.Layout().IsZero() {
		return slog.GroupValue()
	}
	return slog.GroupValue(
		slog.String("layout", f.Layout().String()),
		slog.Time("epoch", f.Epoch()),
		slog.Duration("unit", f.Unit()),
	)
}

// LogValue implements slog.LogValuer. The group has a key for each field, in snake case, as in JSON:
// worker_id, rejected_takes, fill_level. The format and the paddings are groups within it.
// last_error is left out if there is none.
func (st Stats) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.Int64("worker_id", st.WorkerID),
		{Key: "format", Value: st.Format.LogValue()},
		timeAttr("end", st.End),
		timeAttr("lease_since", st.LeaseSince),
		timeAttr("lease_until", st.LeaseUntil),
		slog.Bool("lease_bounded", st.LeaseBounded),
		slog.Int64("worker_ids_remaining", st.WorkerIDsRemaining),
		slog.Int64("worker_ids_total", st.WorkerIDsTotal),
		slog.Duration("reserve_ahead", st.ReserveAhead),
		slog.Uint64("lost_leases", st.LostLeases),
		slog.Uint64("issued", st.Issued),
		slog.Uint64("rejected_takes", st.RejectedTakes),
		slog.Duration("ahead", st.Ahead),
		slog.Uint64("rollbacks", st.Rollbacks),
		slog.Uint64("rollovers", st.Rollovers),
		{Key: "paddings", Value: slog.GroupValue(
			slog.Uint64("initial", st.Paddings.Initial),
			slog.Uint64("immediate", st.Paddings.Immediate),
			slog.Uint64("scheduled", st.Paddings.Scheduled),
			slog.Uint64("caller", st.Paddings.Caller),
		)},
		slog.Uint64("failed_paddings", st.FailedPaddings),
		timeAttr("last_failure", st.LastFailure),
		slog.Uint64("dropped", st.Dropped),
		slog.Uint64("fill", st.Fill),
		slog.Float64("fill_level", st.FillLevel),
		slog.Duration("borrowed", st.Borrowed),
		slog.Duration("borrow_limit", st.BorrowLimit),
	}
	if st.LastError != nil {
		attrs = append(attrs, slog.Any("last_error", st.LastError))
	}
	return slog.GroupValue(attrs...)
}
