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

// appendTime appends an attribute for a time, unless it is the zero time.
func appendTime(attrs []slog.Attr, key string, t time.Time) []slog.Attr {
	if t.IsZero() {
		return attrs
	}
	return append(attrs, timeAttr(key, t))
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
