package segment

import (
	"sync"
	"testing"
	"time"
	_ "time/tzdata" // so that the test does not depend on the host

	"github.com/ringuid/ringuid/internal/testkit"
)

// The days of zones, compared with a simple search, which looks at each minute.
func TestDayOf(t *testing.T) {
	testkit.WithoutRace(t)
	for zone, years := range map[string][2]int{
		"UTC":                  {2020, 2022},
		"Europe/Berlin":        {2020, 2024},
		"America/Sao_Paulo":    {1985, 2020}, // changes at midnight
		"Asia/Beirut":          {1985, 2025}, // changes at midnight
		"Africa/Cairo":         {1985, 2025}, // changes at midnight
		"America/Havana":       {2000, 2025}, // changes at 00:00 and 01:00
		"America/St_Johns":     {1985, 2013}, // changes at 00:01
		"Pacific/Apia":         {2010, 2013}, // has no 30 December 2011
		"Pacific/Kwajalein":    {1992, 1995}, // has no 21 August 1993
		"Antarctica/Troll":     {2010, 2024}, // changes by two hours
		"Australia/Lord_Howe":  {2015, 2024}, // changes by half an hour
		"Asia/Gaza":            {2010, 2024},
		"America/Scoresbysund": {2022, 2026},
		"Asia/Pyongyang":       {2014, 2019}, // changed by half an hour at midnight
	} {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			loc, err := time.LoadLocation(zone)
			if err != nil {
				t.Fatal(err)
			}
			if !testkit.IsFull() {
				years[0] = max(years[0], years[1]-6)
			}
			checkDays(t, loc, time.Date(years[0], 1, 1, 12, 0, 0, 0, time.UTC), time.Date(years[1], 1, 1, 12, 0, 0, 0, time.UTC))
		})
	}
}

// The days in the years when zones were set back over a date, or by odd offsets.
func TestDayOfOldTimes(t *testing.T) {
	for zone, year := range map[string]int{"Pacific/Kwajalein": 1969, "America/Juneau": 1867, "Asia/Manila": 1844, "Europe/Amsterdam": 1937, "Africa/Monrovia": 1972} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		checkDays(t, loc, time.Date(year-1, 12, 1, 12, 0, 0, 0, time.UTC), time.Date(year+1, 2, 1, 12, 0, 0, 0, time.UTC))
	}
}

// checkDays compares dayOf with the days between two times, which it finds by looking at each minute. Unless
// the tests run in full size, it looks only at each hour while the offset does not change.
func checkDays(t *testing.T, loc *time.Location, from, to time.Time) {
	t.Helper()
	// The greatest date so far decides: a date that comes a second time belongs to the day that has begun.
	date := dateOf(from.In(loc))
	start := time.Time{}
	previous := from
	for now := from; now.Before(to); {
		local := now.In(loc)
		if d := dateOf(local); d > date {
			// The day has begun after the minute before.
			begin := previous.Add(time.Second)
			for dateOf(begin.Add(time.Minute).In(loc)) <= date {
				begin = begin.Add(time.Minute)
			}
			for dateOf(begin.In(loc)) <= date {
				begin = begin.Add(time.Second)
			}
			if !start.IsZero() {
				for _, at := range []time.Time{start, start.Add(time.Nanosecond), start.Add(begin.Sub(start) / 2), begin.Add(-time.Hour), begin.Add(-time.Minute), begin.Add(-time.Nanosecond)} {
					if at.Before(start) {
						continue
					}
					got := dayOf(at, loc)
					if got.date != date || !got.start.Equal(start) || !got.end.Equal(begin) {
						t.Fatalf("dayOf(%v) in %v = %d from %v to %v; want %d from %v to %v", at, loc, got.date, got.start, got.end, date, start.In(loc), begin.In(loc))
					}
				}
			}
			date, start = d, begin
		}
		previous, now = now, now.Add(time.Minute)
		_, offset := local.Zone()
		if _, later := local.Add(time.Hour).Zone(); later == offset && !testkit.IsFull() {
			now = previous.Add(time.Hour)
		}
	}
}

// A skipped day does not exist, and the day before ends when the next one begins.
func TestDayOfSkippedDay(t *testing.T) {
	loc, err := time.LoadLocation("Pacific/Apia")
	if err != nil {
		t.Fatal(err)
	}
	d := dayOf(time.Date(2011, 12, 29, 15, 0, 0, 0, loc), loc)
	if next := dayOf(d.end, loc); d.date != 20111229 || next.date != 20111231 || !next.start.Equal(d.end) {
		t.Errorf("after %+v comes %+v", d, next)
	}
}

// Days follow from the wall clock, even if the host was suspended and the monotonic clock stood still.
func TestDayOfHasNoMonotonicClock(t *testing.T) {
	now := time.Now()
	d := dayOf(now, time.UTC)
	for _, at := range []time.Time{d.start, d.end} {
		if at != at.Round(0) {
			t.Errorf("%v has a reading of the monotonic clock", at)
		}
	}
}

// The first and the last years, and all zones at once.
func TestDayOfBounds(t *testing.T) {
	var wg sync.WaitGroup
	for _, at := range []time.Time{time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9998, 12, 31, 23, 59, 59, 0, time.UTC)} {
		wg.Go(func() {
			if d := dayOf(at, time.UTC); d.date != dateOf(at) || !d.end.After(at) || d.start.After(at) {
				t.Errorf("dayOf(%v) = %+v", at, d)
			}
		})
	}
	wg.Wait()
}

func BenchmarkDayOf(b *testing.B) {
	loc, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		b.Fatal(err)
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, loc)
	for b.Loop() {
		dayOf(now, loc)
	}
}
