package segment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ringuid/ringuid/internal/backoff"
)

// today returns the Sequence of the present day. It waits until the day is open, or, with late, returns that of the
// day before if WithYesterday allows it.
func (d *Daily) today(ctx context.Context, late bool) (*dailySequence, error) {
	if d.work.ctx.Err() != nil {
		return nil, ErrClosed
	}
	now, err := d.now()
	if err != nil {
		return nil, err
	}
	current := d.current.Load()
	switch {
	case current.contains(now):
		return current, nil
	case now.Before(current.start):
		return current, d.checkClock(now, current)
	}
	of := dayOf(now, d.zone)
	start := func() (*opening, error) { return d.startOpening(of) }
	if late && now.Before(current.end.Add(d.cfg.yesterday)) {
		if _, err := start(); err != nil {
			return nil, err
		}
		return d.use(of), nil // the day before, if this one is not open yet
	}
	empty := EmptyError{Tag: dailyTag(d.tag, of.date), Source: d.source.String()}
	if _, err := d.work.await(ctx, d.cfg.maxWait, empty, start); err != nil {
		return nil, err
	}
	return d.use(of), nil
}

// allows reports whether a number of a day may be handed out at a time: up to the day's end, and longer with
// WithYesterday, as long as the next day is not open.
func (d *Daily) allows(s *dailySequence, now time.Time) bool {
	end := s.end
	if d.current.Load() == s {
		end = end.Add(d.cfg.yesterday)
	}
	return now.Before(end)
}

// use makes the next day the current one, if it is open, and returns the current day. After Close it changes nothing.
func (d *Daily) use(of day) *dailySequence {
	d.mu.Lock()
	old := d.current.Load()
	if d.next == nil || d.next.date != of.date || old.date >= of.date {
		d.mu.Unlock()
		return old
	}
	defer d.mu.Unlock()
	if !d.work.run(old.seq.closeFinally) {
		return old // Close closes both
	}
	d.current.Store(d.next)
	d.next = nil
	return d.current.Load()
}

// startOpening returns the result of opening a day, which may still have to come.
func (d *Daily) startOpening(of day) (*opening, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.next != nil && d.next.date == of.date || d.current.Load().date >= of.date {
		return opened(nil), nil
	}
	last := d.opening[of.date]
	if last != nil && (!last.finished() || last.rests()) {
		return last, nil
	}
	o := nextOpening(last)
	if !d.work.run(func() { d.openDay(of, o) }) {
		return nil, ErrClosed
	}
	for date, other := range d.opening {
		if other.finished() {
			delete(d.opening, date)
		}
	}
	d.opening[of.date] = o
	return o, nil
}

// openDay opens a day as the next one.
func (d *Daily) openDay(of day, o *opening) {
	var s *dailySequence
	var now time.Time
	o.err = fmt.Errorf("%w: code of the source has ended the goroutine that opens a day", ErrSource) // if it does
	defer func() {
		o.failed()
		unused := s
		d.mu.Lock()
		switch {
		case d.work.ctx.Err() != nil: // Close has canceled it
		case o.err != nil && d.series.fails():
			d.log.Log(slog.LevelWarn, "segment: a day cannot be opened, trying again", "tag", dailyTag(d.tag, of.date), "err", o.err)
		case o.err == nil && d.series.works():
			d.log.Log(slog.LevelInfo, "segment: a day is open again", "tag", dailyTag(d.tag, of.date))
		}
		if o.err == nil {
			delete(d.opening, of.date)
			// Not if a later day was opened meanwhile, unless the clock was wrong then: it would never be used.
			if d.work.ctx.Err() == nil && d.current.Load().date < of.date && (d.next == nil || d.next.date < of.date || now.Before(d.next.start)) {
				unused, d.next = d.next, s
			}
		}
		d.mu.Unlock()
		close(o.done)
		if unused != nil {
			unused.seq.closeFinally()
		}
	}()
	var err error
	if s, err = d.open(d.work.ctx, of); err == nil {
		now, err = d.now()
	}
	o.err = err
}

// prepareInterval is how often a Daily looks whether the next day begins soon: short, because the clock may be set.
const prepareInterval = 15 * time.Second

// prepare opens each day before it begins, until Close.
func (d *Daily) prepare() {
	for d.work.ctx.Err() == nil {
		d.prepareOnce()
		backoff.Sleep(d.work.ctx, prepareInterval)
	}
}

// prepareOnce opens the present day, if no call has, and the next day if it begins soon. If that fails, the next look
// tries again, and the next call.
func (d *Daily) prepareOnce() {
	now, err := d.now()
	if err != nil {
		return
	}
	present, soon := dayOf(now, d.zone), dayOf(now.Add(prepareAhead), d.zone)
	d.forgetAhead(now, soon)
	d.startOpening(present)
	if soon.date != present.date && d.use(present).date == present.date {
		d.startOpening(soon)
	}
}

// forgetAhead forgets what a clock that was ahead has opened, or failed to open: the store may lose the tag of such a day
// meanwhile, and create it again. It keeps a prepared day if the clock was set back by a little.
func (d *Daily) forgetAhead(now time.Time, soon day) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for date, o := range d.opening {
		if date > soon.date && o.finished() {
			delete(d.opening, date)
		}
	}
	if next := d.next; next != nil && next.start.Sub(now) > prepareAhead+maxClockBack && d.work.run(next.seq.closeFinally) {
		d.next = nil
	}
}

// Stats returns the statistics of the day that is in use.
func (d *Daily) Stats() Stats {
	if d == nil || d.work == nil {
		return Stats{}
	}
	return d.current.Load().seq.Stats()
}

// Health returns whether there are numbers of the present day. It does not block.
func (d *Daily) Health() Health {
	if d == nil || d.work == nil {
		return Health{Err: errDailyNotMade}
	}
	now, err := d.now()
	if err != nil {
		return Health{Err: err, Known: true}
	}
	d.mu.Lock()
	current, next, o := d.current.Load(), d.next, d.opening[dayOf(now, d.zone).date]
	d.mu.Unlock()
	if d.work.ctx.Err() != nil {
		return current.seq.Health()
	}
	if err := d.checkClock(now, current); err != nil {
		return Health{Err: err, Known: true}
	}
	var h Health
	switch {
	case next != nil && next.contains(now):
		return next.seq.Health()
	case now.Before(current.end.Add(d.cfg.yesterday)):
		h = current.seq.Health()
	case o != nil && o.lastError() != nil:
		h = Health{Err: o.lastError(), Known: true}
	default:
		h = Health{Err: fmt.Errorf("%w: the day of %v is not open yet", ErrEmpty, now.In(d.zone)), Known: true}
	}
	if since, err := d.failing(current); h.LastError == nil {
		h.FailingSince, h.LastError = since, err
	}
	return h
}

// failing returns since when a later day than the current one cannot be opened, and why.
func (d *Daily) failing(current *dailySequence) (since time.Time, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for date, o := range d.opening {
		if e := o.lastError(); date > current.date && e != nil {
			since, err = o.since, e
		}
	}
	return since, err
}

// checkClock returns an error if a time is too long before the day that is in use.
func (d *Daily) checkClock(now time.Time, current *dailySequence) error {
	if current.start.Sub(now) > maxClockBack {
		return fmt.Errorf("%w: it shows %v, and the day %d, which began at %v, is in use: set the clock, or, if it is right now, restart the process",
			ErrClockBack, now.In(d.zone), current.date, current.start)
	}
	return nil
}

// Close ends the Daily: calls return ErrClosed, and no goroutine runs on, unless the error wraps ErrBusy because the
// source or a policy still runs after 5 seconds. It may be called more than once. Close of a nil Daily does
// nothing.
func (d *Daily) Close() error {
	if d == nil || d.work == nil {
		return nil
	}
	ended := d.work.close()
	// From now on no day becomes the next one, and none but the next one becomes the current one.
	d.mu.Lock()
	open := []*dailySequence{d.current.Load()}
	if d.next != nil {
		open = append(open, d.next)
	}
	d.mu.Unlock()
	errs := make([]error, len(open)+1)
	var wg sync.WaitGroup
	for i, s := range open {
		wg.Go(func() { errs[i] = s.seq.Close() })
	}
	select {
	case <-ended:
	case <-time.After(closeTimeout):
		errs[len(open)] = fmt.Errorf("%w: the clock, or the source, in a call for another day", ErrBusy)
	}
	wg.Wait()
	d.log.Flush(logTimeout)
	return errors.Join(errs...)
}
