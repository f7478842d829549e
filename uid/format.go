package uid

import (
	"fmt"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
)

// Format says how UIDs are read: the layout, the epoch and the time unit. It is a value,
// safe for concurrent use; NewFormat makes one.
type Format struct {
	layout bitsalloc.Layout
	epoch  time.Time // UTC, a whole second, without a monotonic reading
	unit   time.Duration
}

// NewFormat returns the format that generators made with the same options have: for those
// who read UIDs without making any. Options that are not about the format are checked and
// otherwise ignored.
func NewFormat(opts ...Option) (Format, error) {
	cfg, err := newConfig(opts)
	return cfg.format, err
}

// Layout returns the widths of the fields.
func (f Format) Layout() bitsalloc.Layout { return f.layout }

// Epoch returns the instant that time counts from, in UTC.
func (f Format) Epoch() time.Time { return f.epoch }

// Unit returns the time unit.
func (f Format) Unit() time.Duration { return f.unit }

// End returns the first instant that the time bits cannot carry any more.
func (f Format) End() time.Time { return f.layout.End(f.epoch, f.unit) }

// Parse takes a UID apart. It does not fail: of a number that no generator of this format
// makes, it returns what its bits say. The zero Format has no fields but the ID.
func (f Format) Parse(id ID) Parts {
	if f.layout.IsZero() {
		return Parts{ID: id}
	}
	delta, workerID, sequence := f.layout.Split(int64(id))
	return Parts{ID: id, Time: f.time(delta), WorkerID: workerID, Sequence: sequence, Delta: delta}
}

// Compose makes a UID of its parts: for filling in old data, and for the bounds of a query
// by time. The time is cut to its unit. A part that does not fit is an error that wraps
// ErrRange. Nothing keeps it from making a UID that a generator makes too.
func (f Format) Compose(t time.Time, workerID, sequence int64) (ID, error) {
	if t.Before(f.epoch) || !t.Before(f.End()) {
		return 0, fmt.Errorf("%w: time %s is not from %s up to %s", ErrRange,
			t.UTC().Format(time.RFC3339Nano), f.epoch.Format(time.RFC3339), f.End().Format(time.RFC3339))
	}
	id, err := f.layout.Allocate(f.delta(t), workerID, sequence)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrRange, err)
	}
	return ID(id), nil
}

// perSecond is the number of units a second: a unit is a second or a part of one.
func (f Format) perSecond() int64 { return int64(time.Second / f.unit) }

// delta returns the unit that t lies in, negative before the epoch. It does not overflow
// for any time that a clock shows.
func (f Format) delta(t time.Time) int64 {
	return (t.Unix()-f.epoch.Unix())*f.perSecond() + int64(t.Nanosecond())/int64(f.unit)
}

// time returns the start of a unit.
func (f Format) time(delta int64) time.Time {
	n := f.perSecond()
	return time.Unix(f.epoch.Unix()+delta/n, delta%n*int64(f.unit)).UTC()
}

// ceil returns the first unit that does not begin before t: 0 for what is before the epoch, and
// the unit after the last for what is beyond the time bits.
func (f Format) ceil(t time.Time) int64 {
	// By seconds and nanoseconds, because After is wrong for times as far off as time.Unix makes.
	most := f.layout.MaxDelta()
	last := f.time(most)
	switch seconds, nanos := t.Unix(), t.Nanosecond(); {
	case seconds < f.epoch.Unix():
		return 0
	case seconds > last.Unix() || seconds == last.Unix() && nanos > last.Nanosecond():
		return most + 1
	}
	d := f.delta(t)
	if f.time(d).Before(t) {
		d++
	}
	return d
}
