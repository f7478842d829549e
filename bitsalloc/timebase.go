package bitsalloc

import (
	"fmt"
	"time"
)

// MinUnit is the shortest time unit.
const MinUnit = time.Millisecond

// TimeBase says how time is counted: in units from an epoch. A time unit is identified by its
// delta, which is the number of units from the epoch to its start. NewTimeBase returns a TimeBase.
//
// TimeBase is a value: two are equal (==) when their epochs and units are, and it is safe for
// concurrent use. The zero TimeBase counts nothing: all its deltas are 0.
type TimeBase struct {
	epoch time.Time // in UTC, a whole second, without a monotonic reading
	unit  time.Duration
}

// NewTimeBase returns the time base of an epoch and a time unit.
//
// The epoch must be a whole second in the years 1 to 9999, and not the zero time; otherwise the error
// wraps ErrEpoch. It is kept in UTC, so that hosts in different time zones agree. The unit must be a
// second, or divide a second and be at least MinUnit; otherwise the error wraps ErrUnit.
func NewTimeBase(epoch time.Time, unit time.Duration) (TimeBase, error) {
	switch year := epoch.UTC().Year(); {
	case epoch.IsZero():
		return TimeBase{}, fmt.Errorf("%w: it is the zero time", ErrEpoch)
	case year < 1 || year > 9999:
		return TimeBase{}, fmt.Errorf("%w: the year of %s must be 1 to 9999", ErrEpoch, epoch.UTC().Format(time.RFC3339))
	case epoch.Nanosecond() != 0:
		return TimeBase{}, fmt.Errorf("%w: %s must be a whole second", ErrEpoch, epoch.Format(time.RFC3339Nano))
	case unit < MinUnit || unit > time.Second || time.Second%unit != 0:
		return TimeBase{}, fmt.Errorf("%w: %v must be a second, or divide a second and be at least %v", ErrUnit, unit, MinUnit)
	}
	return TimeBase{epoch: time.Unix(epoch.Unix(), 0).UTC(), unit: unit}, nil
}

// IsZero reports whether the time base is the zero value.
func (b TimeBase) IsZero() bool { return b.unit == 0 }

// Epoch returns the instant that delta 0 starts at, in UTC.
func (b TimeBase) Epoch() time.Time { return b.epoch }

// Unit returns the length of a time unit.
func (b TimeBase) Unit() time.Duration { return b.unit }

// UnitsPerSecond returns the number of time units in a second.
func (b TimeBase) UnitsPerSecond() int64 {
	if b.IsZero() {
		return 0
	}
	return int64(time.Second / b.unit)
}

// Delta returns the delta of the time unit that contains t. It is negative before the epoch.
// It does not overflow for times within 292 million years of the epoch.
func (b TimeBase) Delta(t time.Time) int64 {
	if b.IsZero() {
		return 0
	}
	return (t.Unix()-b.epoch.Unix())*b.UnitsPerSecond() + int64(t.Nanosecond())/int64(b.unit)
}

// Time returns the start of a time unit, in UTC.
func (b TimeBase) Time(delta int64) time.Time {
	n := b.UnitsPerSecond()
	if n == 0 {
		return b.epoch
	}
	return time.Unix(b.epoch.Unix()+delta/n, delta%n*int64(b.unit)).UTC()
}

// FirstDelta returns the delta of the first time unit that starts at t or later, within 0 to
// maxDelta+1: 0 for a t before the epoch, and maxDelta+1 for a t after the start of unit maxDelta.
// It is correct for every t.
func (b TimeBase) FirstDelta(t time.Time, maxDelta int64) int64 {
	// Compared by seconds and nanoseconds, because Time.After is wrong for the extreme times that
	// time.Unix can return.
	last := b.Time(maxDelta)
	switch seconds, nanos := t.Unix(), t.Nanosecond(); {
	case b.IsZero() || seconds < b.epoch.Unix():
		return 0
	case seconds > last.Unix() || seconds == last.Unix() && nanos > last.Nanosecond():
		return maxDelta + 1
	}
	d := b.Delta(t)
	if b.Time(d).Before(t) {
		d++
	}
	return d
}
