package uid

import (
	"fmt"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
)

// Format says how UIDs are read: the layout, the epoch and the time unit. It is a value, which can be
// compared by ==, and is safe for concurrent use. NewFormat and ParseFormat return a Format. To generate
// UIDs of a Format, pass its parts to WithLayout, WithEpoch and WithTimeUnit.
type Format struct {
	layout bitsalloc.Layout
	base   bitsalloc.TimeBase
}

// Layout returns the widths of the fields.
func (f Format) Layout() bitsalloc.Layout { return f.layout }

// Epoch returns the instant that time counts from, in UTC.
func (f Format) Epoch() time.Time { return f.base.Epoch() }

// Unit returns the time unit.
func (f Format) Unit() time.Duration { return f.base.Unit() }

// End returns the first instant that the time bits cannot represent, or the last instant of the year
// 9999, if that is earlier.
func (f Format) End() time.Time { return f.layout.End(f.base) }

// Parse splits a UID into its parts. It does not fail: for a number that no generator of this format
// generates, it returns what the bits contain. The zero Format returns only the ID.
func (f Format) Parse(id ID) Parts {
	if f.layout.IsZero() {
		return Parts{ID: id}
	}
	delta, workerID, sequence := f.layout.Split(int64(id))
	return Parts{ID: id, Time: f.base.Time(delta), WorkerID: workerID, Sequence: sequence, Delta: delta}
}

// Compose returns the UID that has the given parts: for old data, and for the bounds of a query by
// time. The time is rounded down to its unit. If it is before Epoch, or not before End, or if another
// part does not fit, the error wraps ErrRange. Compose may return a UID that a generator also returns.
func (f Format) Compose(t time.Time, workerID, sequence int64) (ID, error) {
	if t.Before(f.Epoch()) || !t.Before(f.End()) {
		return 0, fmt.Errorf("%w: time is %s, must be from %s up to %s", ErrRange,
			t.UTC().Format(time.RFC3339Nano), f.Epoch().Format(time.RFC3339), f.End().Format(time.RFC3339))
	}
	id, err := f.layout.Allocate(f.base.Delta(t), workerID, sequence)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrRange, err)
	}
	return ID(id), nil
}
