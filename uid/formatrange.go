package uid

import (
	"fmt"
	"time"
)

// Range returns the bounds of a query by time: of the UIDs whose time (Parts.Time, the start of their time unit) is from or
// later, and before to. Both bounds belong to the range:
//
//	SELECT … WHERE id BETWEEN first AND last
//
// A UID belongs to one of two intervals that meet, and never to both, even if the instant at which they meet is not the start
// of a time unit: the unit that contains it belongs to the earlier interval. For an interval that contains no start of a
// unit, or lies before Epoch or after End, first is 1 and last is 0, and the query finds nothing. An interval that reaches
// beyond the first or the last time of the format is cut. If to is before from, or the Format is the zero value, the error wraps ErrOption.
//
// The time of a UID is not the instant of its taking: Default stamps the start of the unit of the call, and Cached may stamp
// a time that lies behind it by up to WithMaxStaleness, or ahead of it by up to the borrow limit (WithMaxBorrow). To find all
// UIDs that were taken between two instants, set from earlier by a time unit, the staleness and the greatest error of
// the clocks, and to later by the borrow limit and that error.
func (f Format) Range(from, to time.Time) (first, last ID, err error) {
	if f.layout.IsZero() {
		return 0, 0, errZeroFormat
	}
	// Compared by seconds and nanoseconds, because Time.Before is wrong for the extreme times that time.Unix can return.
	if s, u := from.Unix(), to.Unix(); u < s || u == s && to.Nanosecond() < from.Nanosecond() {
		return 0, 0, fmt.Errorf("%w: the interval ends at %s, must not end before its start, %s", ErrOption,
			to.UTC().Format(time.RFC3339Nano), from.UTC().Format(time.RFC3339Nano))
	}
	begin := f.base.FirstDelta(from, f.layout.MaxDelta())
	end := f.base.FirstDelta(to, f.layout.MaxDelta()) // the unit after the last one
	if begin >= end {
		return 1, 0, nil
	}
	return ID(f.layout.AllocateUnchecked(begin, 0, 0)),
		ID(f.layout.AllocateUnchecked(end-1, f.layout.MaxWorkerID(), f.layout.MaxSequence())), nil
}
