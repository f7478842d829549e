package uid

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
)

// A Move is a change of a live fleet from one format to another, at an instant: to another layout,
// epoch or time unit. From then on, tables and other places contain UIDs of both formats, so the new UIDs
// must differ from the old ones, and should sort after them.
//
// Check compares the greatest UID that the old format can have issued with the least one that the new
// format can issue, for all worker IDs.
type Move struct {
	Old, New Format

	// CutOver is when the fleet begins to generate UIDs of the new format. RollOut is how long some
	// hosts still generate UIDs of the old format after that: 0 if all hosts change at once.
	CutOver time.Time
	RollOut time.Duration

	// Ahead is how far ahead of the clock UIDs of the old format may be stamped: the borrow limit
	// (WithMaxBorrow; by default an hour, or twice the time of a full ring if that is more, with a
	// boost power of 11 or more) plus the greatest error of the clocks. 0 means DefaultMaxBorrow plus a
	// minute; a negative value means none.
	Ahead time.Duration

	// Behind is how far behind the clock UIDs of the new format may be stamped: the bound of
	// WithMaxStaleness plus the greatest error of the clocks. 0 means DefaultMaxStaleness plus a
	// minute; a negative value means none.
	Behind time.Duration
}

// MoveReport is the result of checking a Move.
type MoveReport struct {
	LastOld  ID // no UID of the old format is greater
	FirstNew ID // no UID of the new format is less

	// Safe reports whether FirstNew is greater than LastOld, so that every new UID differs from every
	// old one and sorts after it.
	Safe bool

	// LatestEpoch is the latest epoch at which the new layout is safe. Every earlier one is safe too,
	// until its time bits end. It is the zero time if there is none.
	LatestEpoch time.Time

	// SafeLayout is the safe layout with the fewest sequence bits at the new epoch. It has the new layout's
	// worker bits, and as many time bits as fit. It is the zero Layout if there is none.
	SafeLayout bitsalloc.Layout
}

// Check checks the move. If it is not safe, the error wraps ErrMove, and the report says what would be
// safe. The error wraps ErrOption if a format is the zero value, if RollOut is negative, or if the
// cut-over is before the new epoch, after the end of the new time bits, or not in the years 1 to 9999.
func (m Move) Check() (MoveReport, error) {
	if m.Old.layout.IsZero() || m.New.layout.IsZero() {
		return MoveReport{}, fmt.Errorf("%w: a format of the move is the zero value; create it with NewFormat", ErrOption)
	}
	if year := m.CutOver.UTC().Year(); year < 1 || year > 9999 {
		return MoveReport{}, fmt.Errorf("%w: the year of the cut-over is %d; must be 1 to 9999", ErrOption, year)
	}
	if m.RollOut < 0 {
		return MoveReport{}, fmt.Errorf("%w: the roll-out is %v; must be 0 or more", ErrOption, m.RollOut)
	}
	margin := func(d, byDefault time.Duration) time.Duration {
		if d == 0 {
			d = byDefault
		}
		return max(d, 0)
	}
	until := m.CutOver.Add(m.RollOut).Add(margin(m.Ahead, DefaultMaxBorrow+time.Minute))
	from := m.CutOver.Add(-margin(m.Behind, DefaultMaxStaleness+time.Minute))
	if d := m.New.base.Delta(m.CutOver); d < 0 || d > m.New.layout.MaxDelta() {
		return MoveReport{}, fmt.Errorf("%w: the cut-over is %s; must be from the new format's epoch, %s, up to its end, %s",
			ErrOption, m.CutOver.UTC().Format(time.RFC3339), m.New.Epoch().Format(time.RFC3339), m.New.End().Format(time.RFC3339))
	}
	first := max(m.New.base.Delta(from), 0) // no host starts before the epoch
	var r MoveReport
	if last := m.Old.base.Delta(until); last >= 0 { // otherwise the old format has issued nothing
		old := m.Old.layout
		r.LastOld = ID(old.AllocateUnchecked(min(last, old.MaxDelta()), old.MaxWorkerID(), old.MaxSequence()))
	} else {
		r.LastOld = -1
	}
	r.FirstNew = ID(m.New.layout.AllocateUnchecked(first, 0, 0))
	r.Safe = r.FirstNew > r.LastOld
	r.LatestEpoch = m.latestEpoch(r.LastOld, from)
	r.SafeLayout = m.widths(r.LastOld, first)
	if r.Safe {
		return r, nil
	}
	advice := "no epoch and no widths make it safe: keep the old format, or store the new UIDs separately"
	switch {
	case !r.LatestEpoch.IsZero() && !r.SafeLayout.IsZero():
		advice = fmt.Sprintf("an epoch of %s or earlier makes it safe, or the layout %v", r.LatestEpoch.Format(time.RFC3339), r.SafeLayout)
	case !r.LatestEpoch.IsZero():
		advice = fmt.Sprintf("an epoch of %s or earlier makes it safe", r.LatestEpoch.Format(time.RFC3339))
	case !r.SafeLayout.IsZero():
		advice = fmt.Sprintf("the layout %v makes it safe", r.SafeLayout)
	}
	return r, fmt.Errorf("%w: the first new UID, %d, is not greater than the last old one, %d; %s", ErrMove, r.FirstNew, r.LastOld, advice)
}

// latestEpoch returns the latest whole second which, as the epoch, makes the new layout's UIDs from an
// instant on greater than the last old one, and whose time bits do not end before the cut-over.
func (m Move) latestEpoch(last ID, from time.Time) time.Time {
	l := m.New.layout
	if last < 0 {
		from = m.CutOver // there is no old UID
	}
	least := int64(last)>>(l.WorkerBits()+l.SequenceBits()) + 1 // the least delta that is greater
	if least > l.MaxDelta() {
		return time.Time{}
	}
	n := m.New.base.UnitsPerSecond()
	seconds := (least + n - 1) / n
	if seconds > from.Unix()-time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC).Unix() {
		return time.Time{} // before the year 1
	}
	for _, seconds := range []int64{seconds - 1, seconds} { // the first one, if from is not a whole second
		base, err := bitsalloc.NewTimeBase(time.Unix(from.Unix()-seconds, 0), m.New.Unit())
		if err == nil && base.Delta(from) >= least && base.Delta(m.CutOver) <= l.MaxDelta() {
			return base.Epoch()
		}
	}
	return time.Time{}
}

// widths returns the layout with the new worker bits, the fewest sequence bits, and the remaining bits
// for the time, whose UIDs from a delta on are greater than the last old one.
func (m Move) widths(last ID, first int64) bitsalloc.Layout {
	worker := m.New.layout.WorkerBits()
	for low := worker + 1; low < 63; low++ {
		if first > math.MaxInt64>>low || bits.Len64(uint64(m.New.base.Delta(m.CutOver))) > 63-low {
			break // the time does not fit
		}
		if first<<low > int64(last) {
			if l, err := bitsalloc.New(63-low, worker, low-worker); err == nil {
				return l
			}
		}
	}
	return bitsalloc.Layout{}
}
