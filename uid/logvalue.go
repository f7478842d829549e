package uid

import "log/slog"

// LogValue implements slog.LogValuer: an ID is logged as the string that it is in JSON.
func (id ID) LogValue() slog.Value { return slog.StringValue(id.String()) }

// LogValue implements slog.LogValuer. The group has the keys id, time, worker_id, sequence and
// delta.
func (p Parts) LogValue() slog.Value {
	return slog.GroupValue(
		slog.Attr{Key: "id", Value: p.ID.LogValue()},
		slog.Time("time", p.Time),
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
		slog.Time("end", st.End),
		slog.Time("lease_since", st.LeaseSince),
		slog.Time("lease_until", st.LeaseUntil),
		slog.Bool("lease_bounded", st.LeaseBounded),
		slog.Uint64("lost_leases", st.LostLeases),
		slog.Uint64("issued", st.Issued),
		slog.Uint64("rejected_takes", st.RejectedTakes),
		slog.Duration("ahead", st.Ahead),
		slog.Uint64("rollbacks", st.Rollbacks),
		slog.Uint64("rollovers", st.Rollovers),
		slog.Uint64("rejected_puts", st.RejectedPuts),
		{Key: "paddings", Value: slog.GroupValue(
			slog.Uint64("initial", st.Paddings.Initial),
			slog.Uint64("immediate", st.Paddings.Immediate),
			slog.Uint64("scheduled", st.Paddings.Scheduled),
			slog.Uint64("caller", st.Paddings.Caller),
		)},
		slog.Uint64("failed_paddings", st.FailedPaddings),
		slog.Uint64("dropped", st.Dropped),
		slog.Uint64("fill", st.Fill),
		slog.Float64("fill_level", st.FillLevel),
	}
	if st.LastError != nil {
		attrs = append(attrs, slog.Any("last_error", st.LastError))
	}
	return slog.GroupValue(attrs...)
}
