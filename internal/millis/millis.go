// Package millis has times and durations of whole milliseconds: the resolution of what stores keep.
package millis

import "time"

// MaxDuration is the greatest duration of a pool, so that sums of them do not overflow.
const MaxDuration = 365 * 24 * time.Hour

// Up returns t rounded up to a whole millisecond, in UTC.
func Up(t time.Time) time.Time {
	down := Down(t)
	if down.Before(t) {
		return down.Add(time.Millisecond)
	}
	return down
}

// Down returns t rounded down to a whole millisecond, in UTC.
func Down(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()).UTC() }

// UpDuration returns d rounded up to a whole millisecond.
func UpDuration(d time.Duration) time.Duration {
	if down := d.Truncate(time.Millisecond); down < d {
		return down + time.Millisecond
	}
	return d
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Earlier returns the earlier of two times.
func Earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
