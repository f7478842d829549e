package segment

import "time"

// A day is one date of a time zone. Most days have 24 hours; the days on which a zone's offset changes have more or
// fewer.
type day struct {
	date       int64     // year*10000 + month*100 + day
	start, end time.Time // the day is all times from start up to, but not including, end
}

// dateOf returns the date of a time.
func dateOf(t time.Time) int64 {
	y, m, d := t.Date()
	return int64(y)*10000 + int64(m)*100 + int64(d)
}

// dayOf returns the day of a time in a zone. If a zone's clocks are set back over midnight, so that a date comes a
// second time, the first midnight begins the next day.
func dayOf(t time.Time, zone *time.Location) day {
	t = t.In(zone)
	start := t.Add(-49 * time.Hour) // no day has more than 48 hours
	for {
		end := nextDate(start)
		if end.After(t) {
			return day{date: dateOf(start), start: start, end: end}
		}
		start = end
	}
}

// nextDate returns the first time after t at which the date is a later one than at t.
func nextDate(t time.Time) time.Time {
	date := dateOf(t)
	for {
		h, m, s := t.Clock()
		sinceMidnight := time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(s)*time.Second + time.Duration(t.Nanosecond())
		midnight := t.Add(24*time.Hour - sinceMidnight) // if the offset does not change before
		_, change := t.ZoneBounds()
		if change.IsZero() || midnight.Before(change) {
			if dateOf(midnight) > date {
				return midnight
			}
			t = midnight // the clocks were set back over midnight before
			continue
		}
		if dateOf(change) > date { // the clocks are set forward over midnight, or change at midnight
			return change
		}
		t = change
	}
}
