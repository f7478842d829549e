package uid

import (
	"fmt"
	"strings"
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
		return 0, fmt.Errorf("%w: time is %s; must be from %s up to %s", ErrRange,
			t.UTC().Format(time.RFC3339Nano), f.Epoch().Format(time.RFC3339), f.End().Format(time.RFC3339))
	}
	id, err := f.layout.Allocate(f.base.Delta(t), workerID, sequence)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrRange, err)
	}
	return ID(id), nil
}

// formatExample is the text of the default format: errors show it as the form.
const formatExample = "1-28-22-13 2026-01-01T00:00:00Z 1s"

var (
	// errZeroFormat is the error of marshalling the zero Format.
	errZeroFormat = fmt.Errorf("%w: the format is the zero value; NewFormat or ParseFormat must create it", ErrOption)

	// errNilFormat is the error of unmarshalling into a nil pointer.
	errNilFormat = fmt.Errorf("%w: the Format to unmarshal into is nil", ErrOption)
)

// String returns the layout, the epoch in UTC and the time unit:
//
//	1-28-22-13 2026-01-01T00:00:00Z 1s
//
// Two formats are equal if and only if their texts are. The zero Format has the text "". A
// generator passes this text to its assigner, as the Format of a workerassign.Request.
func (f Format) String() string {
	b, err := f.AppendText(nil)
	if err != nil {
		return ""
	}
	return string(b)
}

// ParseFormat is the inverse of String. It accepts exactly what String returns for a format that
// is not zero: for example, not an epoch with an offset or a fraction of a second, and not a unit of
// "1000ms". For any other text the error wraps ErrOption and names the part that is wrong.
func ParseFormat(s string) (Format, error) {
	parts := strings.Split(s, " ")
	if len(parts) != 3 {
		return Format{}, fmt.Errorf("%w: format %q must be a layout, an epoch and a time unit with one space between them, as in %q",
			ErrOption, s, formatExample)
	}
	layout, err := bitsalloc.ParseLayout(parts[0])
	if err != nil {
		return Format{}, fmt.Errorf("%w: format %q must be as in %q: %w", ErrOption, s, formatExample, err)
	}
	epoch, err := time.Parse(time.RFC3339, parts[1])
	if err != nil || epoch.UTC().Format(time.RFC3339) != parts[1] {
		return Format{}, fmt.Errorf("%w: format %q must be as in %q: epoch %q must be a whole second in UTC",
			ErrOption, s, formatExample, parts[1])
	}
	unit, err := time.ParseDuration(parts[2])
	if err != nil || unit.String() != parts[2] {
		return Format{}, fmt.Errorf("%w: format %q must be as in %q: time unit %q must be a duration as time.Duration prints it",
			ErrOption, s, formatExample, parts[2])
	}
	base, err := bitsalloc.NewTimeBase(epoch, unit)
	if err != nil {
		return Format{}, fmt.Errorf("%w: format %q must be as in %q: %w", ErrOption, s, formatExample, err)
	}
	return Format{layout: layout, base: base}, nil
}

// AppendText implements encoding.TextAppender: it appends what String returns. For the zero Format
// it returns b and an error that wraps ErrOption.
func (f Format) AppendText(b []byte) ([]byte, error) {
	if f.Layout().IsZero() {
		return b, errZeroFormat
	}
	b, err := f.Layout().AppendText(b)
	if err != nil {
		return b, err
	}
	b = f.Epoch().AppendFormat(append(b, ' '), time.RFC3339)
	return append(append(b, ' '), f.Unit().String()...), nil
}

// MarshalText implements encoding.TextMarshaler. It returns what String returns, so that a format
// is a string in JSON and one line in a configuration file. For the zero Format the error wraps
// ErrOption; a JSON field with the option omitzero leaves it out.
func (f Format) MarshalText() ([]byte, error) {
	if f.Layout().IsZero() {
		return nil, errZeroFormat
	}
	return f.AppendText(nil)
}

// UnmarshalText implements encoding.TextUnmarshaler. It accepts what ParseFormat accepts, and
// leaves the format unchanged if it returns an error.
func (f *Format) UnmarshalText(text []byte) error {
	if f == nil {
		return errNilFormat
	}
	parsed, err := ParseFormat(string(text))
	if err != nil {
		return err
	}
	*f = parsed
	return nil
}

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
		return 0, 0, fmt.Errorf("%w: the interval ends at %s; must not end before its start, %s", ErrOption,
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
