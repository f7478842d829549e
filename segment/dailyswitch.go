package segment

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// today returns the Sequence of the present day. It waits until the day is open.
func (d *Daily) today(ctx context.Context) (*dailySequence, error) {
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
		if current.start.Sub(now) > maxClockBack {
			return nil, fmt.Errorf("%w: it shows %v, and numbers of %d, which began at %v, were handed out: set the clock, or restart after that time",
				ErrClockBack, now.In(d.zone), current.date, current.start)
		}
		return current, nil
	}
	of := dayOf(now, d.zone)
	o, err := d.startOpening(of)
	var s *dailySequence
	if err == nil {
		s, err = d.await(ctx, of, o)
	}
	if err != nil {
		if now.Before(current.end.Add(d.cfg.yesterday)) && d.work.ctx.Err() == nil {
			return current, nil
		}
		return nil, err
	}
	return s, nil
}

// yesterdayOf returns how long after its end the numbers of a day are allowed.
func (d *Daily) yesterdayOf(s *dailySequence) time.Duration {
	if d.current.Load() != s {
		return 0 // the next day is open
	}
	return d.cfg.yesterday
}

// await waits until a day is open and in use.
func (d *Daily) await(ctx context.Context, of day, o *opening) (*dailySequence, error) {
	limited, cancel := context.WithTimeoutCause(ctx, d.cfg.maxWait, fmt.Errorf("%w: within %v", errNotInTime, d.cfg.maxWait))
	defer cancel()
	if _, err := o.wait(limited, d.work.ctx.Done()); err != nil {
		if limited.Err() != nil && errors.Is(err, context.Cause(limited)) {
			err = &EmptyError{Tag: dailyTag(d.tag, of.date), Source: d.describe(), Wait: err}
		}
		return nil, err
	}
	return d.use(of), nil
}

// describe returns the description of the source.
func (d *Daily) describe() string {
	name, err := describe(d.source)
	if err != nil {
		return "the source"
	}
	return name
}

// use makes the next day the current one, if it is open, and returns the current day.
func (d *Daily) use(of day) *dailySequence {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.next != nil && d.next.date == of.date && d.current.Load().date < of.date {
		old := d.current.Load()
		d.current.Store(d.next)
		d.next = nil
		d.work.run(func() { old.seq.Close() })
	}
	return d.current.Load()
}

// startOpening returns the result of opening a day, which may still have to come.
func (d *Daily) startOpening(of day) (*opening, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if o := d.opening[of.date]; o != nil {
		return o, nil
	}
	o := &opening{done: make(chan struct{})}
	if d.next != nil && d.next.date == of.date || d.current.Load().date >= of.date {
		close(o.done)
		return o, nil
	}
	if f := d.failed[of.date]; f.err != nil && time.Now().Before(f.retryAt) {
		return nil, f.err
	}
	if !d.work.run(func() { d.openDay(of, o) }) {
		return nil, ErrClosed
	}
	d.opening[of.date] = o
	return o, nil
}

// openDay opens a day as the next one.
func (d *Daily) openDay(of day, o *opening) {
	var s *dailySequence
	finished := false
	defer func() {
		if !finished {
			o.err = fmt.Errorf("%w: code of the source has ended the goroutine that opens a day", ErrSource)
		}
		var unused *dailySequence
		d.mu.Lock()
		delete(d.opening, of.date)
		clear(d.failed)
		switch {
		case o.err != nil:
			d.failed[of.date] = dailyFailure{o.err, time.Now().Add(unknownPause)}
		case d.work.ctx.Err() != nil || d.current.Load().date >= of.date:
			unused = s
		default:
			unused, d.next = d.next, s
		}
		d.mu.Unlock()
		if unused != nil {
			unused.seq.Close()
		}
		close(o.done)
	}()
	s, o.err = d.open(d.work.ctx, of)
	finished = true
}

// prepare opens each day before it begins, until Close.
func (d *Daily) prepare() {
	for {
		d.prepareOnce()
		// Short, because the clock may be set.
		timer := time.NewTimer(15 * time.Second)
		select {
		case <-timer.C:
		case <-d.work.ctx.Done():
			timer.Stop()
			return
		}
	}
}

// prepareOnce opens the next day if it begins soon.
func (d *Daily) prepareOnce() {
	current := d.current.Load()
	now, err := d.now()
	if err != nil || now.Before(current.end.Add(-prepareAhead)) || !now.Before(current.end) {
		return
	}
	d.startOpening(dayOf(current.end, d.zone)) // if it fails, the next call tries again
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
		return Health{Err: err}
	}
	current := d.current.Load()
	if d.work.ctx.Err() != nil || now.Before(current.end.Add(d.cfg.yesterday)) {
		return current.seq.Health()
	}
	d.mu.Lock()
	next, failed := d.next, d.failed[dayOf(now, d.zone).date].err
	d.mu.Unlock()
	switch {
	case next != nil && next.contains(now):
		return next.seq.Health()
	case failed != nil:
		return Health{Err: failed, Cause: failed}
	}
	return Health{Err: fmt.Errorf("%w: the day of %v is not open yet", ErrEmpty, now.In(d.zone))}
}

// Close ends the Daily: calls return ErrClosed, and no goroutine runs on, unless the error wraps ErrBusy because the source
// or a policy still runs after CloseTimeout. It may be called more than once. Close of a nil Daily does nothing.
func (d *Daily) Close() error {
	if d == nil || d.work == nil {
		return nil
	}
	ended := d.work.close()
	err := d.current.Load().seq.Close()
	select {
	case <-ended:
	case <-time.After(CloseTimeout):
		return fmt.Errorf("%w: the source, in a call that opens a day", ErrBusy)
	}
	d.mu.Lock()
	next := d.next
	d.next = nil
	d.mu.Unlock()
	err = errors.Join(err, d.current.Load().seq.Close())
	if next != nil {
		err = errors.Join(err, next.seq.Close())
	}
	return err
}
