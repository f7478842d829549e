package uid

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
)

// ErrMove is what a Move's Check returns when new UIDs could collide with, or sort before, old
// ones.
var ErrMove = errors.New("uid: the move is not safe")

// A Move is a change of a live fleet from one format to another: to another layout, epoch or
// time unit, at an instant. UIDs of both stand side by side from then on, in tables and in
// other places, so the new ones must differ from the old ones, and should sort after them.
//
// It is judged by the greatest UID that the old format can have issued and the least that the
// new one can issue, whatever their worker IDs.
type Move struct {
	Old, New Format

	// CutOver is when the fleet begins to make UIDs of the new format, and RollOut how long
	// it goes on to make such of the old one: 0 if all hosts are changed at once.
	CutOver time.Time
	RollOut time.Duration

	// Ahead is how far ahead of the clock the old format's UIDs may be stamped: the sum of
	// what may be borrowed (WithMaxBorrow; an hour where nothing was said, or twice what the
	// ring holds, where that is more: with a boost power of 11 or more) and how far clocks may
	// be wrong. 0 means DefaultMaxBorrow and a minute; a negative one means none.
	Ahead time.Duration

	// Behind is how far behind it the new format's may be: the sum of WithMaxStaleness and how
	// far clocks may be wrong. 0 means DefaultMaxStaleness and a minute; a negative one none.
	Behind time.Duration
}

// MoveReport is what there is to say of a Move.
type MoveReport struct {
	LastOld  ID // no UID of the old format is greater
	FirstNew ID // no UID of the new format is less

	// Safe tells whether FirstNew is greater than LastOld, so that every new UID differs from
	// and sorts after every old one.
	Safe bool

	// LatestEpoch is the latest epoch at which the new layout is safe, as is every earlier
	// one while its time bits last. Zero if there is none.
	LatestEpoch time.Time

	// Widths is the layout with the fewest sequence bits that is safe at the new epoch: the
	// new layout's worker bits, and time bits up to 63 in all. Zero if there is none.
	Widths bitsalloc.Layout
}

// Check judges the move. Where it is not safe the report says what would be, and the error wraps
// ErrMove; of formats that are zero, a negative RollOut, or a cut-over that is before the new
// epoch, after the new time bits' end or not in the years 1 to 9999, the error wraps ErrOption.
func (m Move) Check() (MoveReport, error) {
	if m.Old.layout.IsZero() || m.New.layout.IsZero() {
		return MoveReport{}, fmt.Errorf("%w: a format of the move is the zero value; NewFormat makes one", ErrOption)
	}
	if year := m.CutOver.UTC().Year(); year < 1 || year > 9999 {
		return MoveReport{}, fmt.Errorf("%w: the cut-over is in the year %d, one from 1 to 9999 is needed", ErrOption, year)
	}
	if m.RollOut < 0 {
		return MoveReport{}, fmt.Errorf("%w: the roll-out takes %v, 0 or more is needed", ErrOption, m.RollOut)
	}
	margin := func(d, standard time.Duration) time.Duration {
		if d == 0 {
			d = standard
		}
		return max(d, 0)
	}
	until := m.CutOver.Add(m.RollOut).Add(margin(m.Ahead, DefaultMaxBorrow+time.Minute))
	from := m.CutOver.Add(-margin(m.Behind, DefaultMaxStaleness+time.Minute))
	if d := m.New.delta(m.CutOver); d < 0 || d > m.New.layout.MaxDelta() {
		return MoveReport{}, fmt.Errorf("%w: the cut-over is at %s, which is not from the new format's epoch, %s, up to its end, %s",
			ErrOption, m.CutOver.UTC().Format(time.RFC3339), m.New.epoch.Format(time.RFC3339), m.New.End().Format(time.RFC3339))
	}
	first := max(m.New.delta(from), 0) // no host begins before the epoch
	var r MoveReport
	if last := m.Old.delta(until); last >= 0 { // else the old format has issued nothing
		old := m.Old.layout
		r.LastOld = ID(old.AllocateUnchecked(min(last, old.MaxDelta()), old.MaxWorkerID(), old.MaxSequence()))
	} else {
		r.LastOld = -1
	}
	r.FirstNew = ID(m.New.layout.AllocateUnchecked(first, 0, 0))
	r.Safe = r.FirstNew > r.LastOld
	r.LatestEpoch = m.latestEpoch(r.LastOld, from)
	r.Widths = m.widths(r.LastOld, first)
	if r.Safe {
		return r, nil
	}
	advice := "no epoch and no widths make it so: keep the old format, or make the new one's IDs go elsewhere"
	switch {
	case !r.LatestEpoch.IsZero() && !r.Widths.IsZero():
		advice = fmt.Sprintf("an epoch of %s or earlier makes it so, or the layout %v", r.LatestEpoch.Format(time.RFC3339), r.Widths)
	case !r.LatestEpoch.IsZero():
		advice = fmt.Sprintf("an epoch of %s or earlier makes it so", r.LatestEpoch.Format(time.RFC3339))
	case !r.Widths.IsZero():
		advice = fmt.Sprintf("the layout %v makes it so", r.Widths)
	}
	return r, fmt.Errorf("%w: the first new UID, %d, is not greater than the last old one, %d; %s", ErrMove, r.FirstNew, r.LastOld, advice)
}

// latestEpoch returns the latest whole second at which the new layout's UIDs from an instant
// on are greater than the last old one, and its time bits last beyond the cut-over.
func (m Move) latestEpoch(last ID, from time.Time) time.Time {
	l := m.New.layout
	if last < 0 {
		from = m.CutOver // nothing to be apart from
	}
	needed := int64(last)>>(l.WorkerBits()+l.SequenceBits()) + 1 // the least delta
	if needed > l.MaxDelta() {
		return time.Time{}
	}
	n := m.New.perSecond()
	seconds := (needed + n - 1) / n
	if seconds > from.Unix()-time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC).Unix() {
		return time.Time{} // before any calendar
	}
	f := m.New
	for _, seconds := range []int64{seconds - 1, seconds} { // the first, if from is no whole second
		f.epoch = time.Unix(from.Unix()-seconds, 0).UTC()
		if f.delta(from) >= needed && f.delta(m.CutOver) <= l.MaxDelta() {
			return f.epoch
		}
	}
	return time.Time{}
}

// widths returns the layout of the new worker bits, and the fewest sequence bits, whose UIDs
// from a delta on are greater than the last old one; with all the time bits that are left.
func (m Move) widths(last ID, first int64) bitsalloc.Layout {
	worker := m.New.layout.WorkerBits()
	for sequence := 1; sequence+worker < 63; sequence++ {
		low := sequence + worker
		if first > math.MaxInt64>>low || bits.Len64(uint64(m.New.delta(m.CutOver))) > 63-low {
			break // the time does not fit any more
		}
		if first<<low > int64(last) {
			if l, err := bitsalloc.New(63-low, worker, sequence); err == nil {
				return l
			}
		}
	}
	return bitsalloc.Layout{}
}
