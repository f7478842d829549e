package segment

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/internal/safelog"
)

// maxDigits is the greatest number of digits behind the date of a daily number.
const maxDigits = 10

// ErrClockBack is the error of a Daily whose clock shows a time long before the day that is in use.
var ErrClockBack = errors.New("segment: the clock went back")

// A Daily hands out numbers that begin with the date and begin again each day: with 6 digits, 20261121000001 is the
// first number of 21 November 2026. The numbers of each day are those of a tag of its own, which a Daily creates:
// DailyTag returns its name. All methods are safe for concurrent use. NewDaily returns one.
//
// A call that begins on a day returns a number of that day, or of the next one if it has to wait, but never one of
// the day before, unless WithYesterday allows it. Days are those of the time zone, also when its clocks change. If
// the clock of the host is set back to the day before, by at most two hours, the numbers keep the later date.
type Daily struct {
	source Creator
	tag    string
	digits int
	scale  int64 // 10^digits
	zone   *time.Location
	cfg    dailyConfig
	work   *background

	current atomic.Pointer[dailySequence]

	mu      sync.Mutex         // for the fields below; no code of the user runs while it is held
	next    *dailySequence     // prepared, for the day after the current one
	opening map[int64]*opening // of dates: those that run, and the last one that has failed
	series  seriesLog          // of failures to open a day

	log *safelog.Queue
}

// dailySequence is the Sequence of a day.
type dailySequence struct {
	day
	base int64 // date * scale
	seq  *Sequence
}

// errDailyNotMade is the error of methods of a Daily that NewDaily has not made.
var errDailyNotMade = fmt.Errorf("%w: the Daily must be created by NewDaily", ErrOption)

// DailyTag returns the name of the tag of a day: "orders.20261121" for the tag "orders".
func DailyTag(tag string, year int, month time.Month, dayOfMonth int) string {
	return dailyTag(tag, int64(year)*10000+int64(month)*100+int64(dayOfMonth))
}

func dailyTag(tag string, date int64) string { return fmt.Sprintf("%s.%08d", tag, date) }

const (
	// maxClockBack is how far the clock may be set back over midnight.
	maxClockBack = 2 * time.Hour

	// prepareAhead is how long before a day its tag is created and its first ranges are requested.
	prepareAhead = 10 * time.Minute

	// unusedBefore is how long before a day nobody has created its tag, if no clock is more than unusedBefore - prepareAhead ahead.
	unusedBefore = 3 * time.Hour
)

// NewDaily returns a Daily of a tag, with so many digits behind the date: 1 to 10. The zone decides when a day
// begins. It must be the same in all processes, as the number of digits; it must not be time.Local, which depends on
// the host, unless that is UTC. NewDaily requests the first ranges of the present day, and creates its tag if
// necessary. The sources of stripes must be Creators, too. NewDaily returns the errors of New. ctx limits only NewDaily.
// The caller must call Close.
//
// Before the first day, call CreateTag of the source once, as the example does: a Daily creates no tag in a new file
// or in an empty store, because the store may have lost its data. A table does not require it. On a Group, call
// CreateTag of the Group: see Stripe.
//
// No range is longer than a hundredth of a day's numbers, or than the step of WithDailyStep if that is greater,
// whatever WithMaxStep and the tag's own step say. A source that continues beyond a gap after a failover, such as
// that of Redis, must have a gap that is much less than a day's numbers: otherwise none are left after a failover. On
// Redis one failover skips up to 101 gaps, if the pool was not used for minutes. With 9 digits and a gap of 100,000,
// dozens of failovers on one day leave enough. No clock may be more than 2 hours and 50 minutes ahead: a tag that a host
// with such a clock has created may be lost in a failover, and then created again. After a failover in the last three hours of a day, the next day begins
// beyond the gap, too.
//
// On Redis, also create the tags of the present and of the next day before the first day (DailyTag), with a
// TagConfig{Start: 1}. Otherwise they begin beyond the gap, because the store cannot know that they did not exist.
func NewDaily(ctx context.Context, src Creator, tag string, digits int, zone *time.Location, opts ...DailyOption) (*Daily, error) {
	cfg, err := newDailyConfig(opts)
	if err != nil {
		return nil, err
	}
	if _, err := membersOf(src); err != nil {
		return nil, err
	}
	if err := checkCreator(src, "a Daily"); err != nil {
		return nil, err
	}
	switch {
	case digits < 1 || digits > maxDigits:
		return nil, fmt.Errorf("%w: the number of digits is %d; must be 1 to %d", ErrOption, digits, maxDigits)
	case zone == nil:
		return nil, fmt.Errorf("%w: the time zone is nil; must not be nil", ErrOption)
	case zone == time.Local && !isUTC(zone):
		return nil, fmt.Errorf("%w: the time zone is time.Local, which depends on the host; must be one of time.LoadLocation or time.UTC", ErrOption)
	}
	if err := CheckTag(dailyTag(tag, 99991231)); err != nil {
		return nil, err
	}
	d := &Daily{source: src, tag: tag, digits: digits, scale: int64(math.Pow10(digits)), zone: zone, cfg: cfg, work: newBackground(),
		opening: map[int64]*opening{}, log: safelog.NewQueue(cfg.logger)}
	if d.cfg.step > d.scale-1 {
		return nil, fmt.Errorf("%w: the step of daily tags is %d; must be 1 to %d, which is how many numbers a day has with %d digits",
			ErrOption, d.cfg.step, d.scale-1, digits)
	}
	if d.cfg.step == 0 {
		d.cfg.step = max(min(DefaultStep, d.scale/100), 1)
	}
	d.cfg.maxStep = max(min(d.cfg.maxStep, d.scale/100), d.cfg.step) // so that a burst does not use up the day
	now, err := d.now()
	if err != nil {
		return nil, err
	}
	first, err := d.open(ctx, dayOf(now, zone))
	if err != nil {
		return nil, err
	}
	d.current.Store(first)
	d.work.run(d.prepare)
	return d, nil
}

// isUTC reports whether a zone's times are UTC, always.
func isUTC(zone *time.Location) bool {
	epoch := time.Unix(0, 0).In(zone)
	_, offset := epoch.Zone()
	start, end := epoch.ZoneBounds()
	return offset == 0 && start.IsZero() && end.IsZero()
}

// Tag returns the tag that NewDaily got, without a date.
func (d *Daily) Tag() string {
	if d == nil {
		return ""
	}
	return d.tag
}

// now returns the time of the clock, if it is in the years that have a date.
func (d *Daily) now() (time.Time, error) {
	now := d.cfg.now()
	if y := now.In(d.zone).Year(); y < 1 || y > 9998 {
		return now, fmt.Errorf("%w: the clock shows %v; must be in the years 1 to 9998", ErrOption, now)
	}
	return now, nil
}

// open returns the Sequence of a day. It creates the tag of the day if it does not exist.
func (d *Daily) open(ctx context.Context, of day) (*dailySequence, error) {
	seq, err := newSequence(ctx, d.source, dailyTag(d.tag, of.date), d.cfg.config, func(p *provider) {
		p.limit, p.initial = d.scale, d.cfg.step // whatever step a tag has that was created by hand
		p.create = &TagConfig{Start: 1, Step: d.cfg.step, UnusedBefore: of.start.Add(-unusedBefore)}
	})
	if err != nil {
		return nil, err
	}
	return &dailySequence{day: of, base: of.date * d.scale, seq: seq}, nil
}

// Next returns the next number of the present day. If none is in memory, it waits as Sequence.Next does. If the day
// has no numbers left, the error wraps ErrExhausted. With an error the number is 0.
func (d *Daily) Next() (int64, error) { return d.NextContext(context.Background()) }

// NextContext is like Next, but waits no longer than until ctx ends.
func (d *Daily) NextContext(ctx context.Context) (int64, error) {
	if d != nil && d.work != nil {
		if s := d.current.Load(); s.contains(d.cfg.now()) {
			if v, ok := s.seq.ring.TryTake(); ok {
				return s.base + s.seq.enc.decode(v), nil
			}
		}
	}
	r, err := d.Claim(ctx, 1)
	return r.First, err
}

// contains reports whether a time is on the day.
func (s *dailySequence) contains(t time.Time) bool { return t.Before(s.end) && !t.Before(s.start) }

// NextN fills dst with numbers of the present day. If the day ends meanwhile, the rest are numbers of the next one. It
// returns how many it filled in: len(dst), or fewer and an error of Next.
func (d *Daily) NextN(dst []int64) (int, error) { return d.NextNContext(context.Background(), dst) }

// NextNContext is like NextN, but waits no longer than until ctx ends.
func (d *Daily) NextNContext(ctx context.Context, dst []int64) (int, error) {
	return fill(dst, func(n int64) (Range, error) { return d.Claim(ctx, n) })
}

// All returns an iterator over the numbers of Next. It ends as Sequence.All does.
func (d *Daily) All(ctx context.Context) iter.Seq2[int64, error] { return all(ctx, d.NextContext) }

// Claim takes up to n numbers of the present day. It is Sequence.Claim.
func (d *Daily) Claim(ctx context.Context, n int64) (Range, error) {
	if d == nil || d.work == nil {
		return Range{}, errDailyNotMade
	}
	for late := true; ; {
		s, err := d.today(ctx, late)
		if err != nil {
			return Range{}, err
		}
		now, err := d.now()
		if err != nil {
			return Range{}, err
		}
		var r Range
		if now.Before(s.end) || !late {
			r, err = s.seq.Claim(ctx, n)
		} else if r, late = s.seq.tryClaim(n); !late { // of yesterday only what is in memory
			continue // wait for the present day
		}
		if d.work.ctx.Err() != nil {
			return Range{}, ErrClosed
		}
		now, clockErr := d.now()
		switch {
		case clockErr != nil:
			return Range{}, clockErr // the numbers are a gap
		case !d.allows(s, now):
			continue // the day has ended while the call waited
		case err != nil && s.seq.closed.Load():
			continue
		case err != nil:
			return Range{}, err
		}
		r.First += s.base
		return r, nil
	}
}

// Parse splits a number of this Daily into its date and its number on that day. The error wraps ErrOption if it is
// none.
func (d *Daily) Parse(number int64) (year int, month time.Month, dayOfMonth int, n int64, err error) {
	if d == nil || d.work == nil {
		return 0, 0, 0, 0, errDailyNotMade
	}
	date, n := number/d.scale, number%d.scale
	t := time.Date(int(date/10000), time.Month(date/100%100), int(date%100), 0, 0, 0, 0, time.UTC)
	if n == 0 || date < 10101 || date > 99991231 || dateOf(t) != date {
		return 0, 0, 0, 0, fmt.Errorf("%w: %d is no daily number with %d digits behind the date", ErrOption, number, d.digits)
	}
	return t.Year(), t.Month(), t.Day(), n, nil
}
