package uid

import (
	"log/slog"

	"github.com/ringuid/ringuid/internal/safelog"
)

// LogValue implements slog.LogValuer. The group has the keys id, time, worker_id, sequence and
// delta.
func (p Parts) LogValue() slog.Value {
	return slog.GroupValue(
		slog.Attr{Key: "id", Value: slog.StringValue(p.ID.String())},
		safelog.Time("time", p.Time),
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
