package ringbuffer

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// A Trigger is what made the ring be padded.
type Trigger int

// The triggers.
const (
	Initial   Trigger = iota // New
	Immediate                // the fill level fell below the padding factor
	Scheduled                // the interval
	Caller                   // a taker that found the ring empty
	triggers
)

// String returns the trigger's name.
func (t Trigger) String() string {
	switch t {
	case Initial:
		return "initial"
	case Immediate:
		return "immediate"
	case Scheduled:
		return "scheduled"
	case Caller:
		return "caller"
	}
	return "unknown"
}

const (
	minRetry = time.Millisecond      // the shortest time between two tries
	failBase = 10 * time.Millisecond // the time after a first failure; doubled by each more
	failMax  = time.Second           // the longest time after a failure
	maxRetry = time.Second           // the longest after a *NotYetError: what was waited for may come earlier
	restTime = 10 * time.Millisecond // how long takers stand in for a padder that was needed
	logPause = time.Minute           // how long after one episode's log lines others are not logged
)

// Kick asks the padder to fill the ring now, even if it is waiting to ask its provider
// again: a provider calls it when what hindered it has passed. It never blocks.
func (r *Ring) Kick() {
	select {
	case r.kick <- struct{}{}:
	default: // one is under way
	}
}

// wakePadder asks the padder to fill the ring, unless it is waiting to ask its provider
// again: takers of an empty ring do not drive a failing provider. It never blocks.
func (r *Ring) wakePadder() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// pad is the padder: it fills the ring when it is woken, when the interval is over, and
// when the time of a retry has come, until the ring closes. No failure ends it.
func (r *Ring) pad(wait time.Duration) {
	var tick <-chan time.Time
	if r.cfg.Interval > 0 {
		ticker := time.NewTicker(r.cfg.Interval)
		defer ticker.Stop()
		tick = ticker.C
	}
	retry := time.NewTimer(wait) // or the end of a rest
	defer retry.Stop()
	trigger := Initial
	for {
		wake := r.wake
		switch {
		case wait > 0:
			wake = nil
		case !r.resting.Load():
			retry.Stop()
		}
		needed := true
		select {
		case <-r.ctx.Done():
			return
		case <-wake:
			trigger = Immediate
		case <-r.kick:
			trigger = Immediate
		case <-tick:
			trigger = Scheduled
			needed = false
			if r.cfg.OnSchedule != nil {
				r.cfg.OnSchedule()
			}
			r.dropStale()
		case <-retry.C: // of what the trigger was
			needed = r.tail.Load() != r.rested
		}
		r.resting.Store(false)
		wait, _ = r.fill(r.ctx, trigger)
		if wait > 0 {
			retry.Reset(wait)
		} else if needed && r.cfg.Assist {
			r.rested = r.tail.Load()
			r.resting.Store(true)
			retry.Reset(restTime)
		}
	}
}

// lowered is called by the taker that took the fill level below the threshold, to the run
// of that number. It wakes the padder, or puts a run in its place while it rests, and
// also where it was woken and did not come before the ring is at its last run.
//
// Waking a thread costs some thousand times what a take does, and a ring that is drained fast
// is at its threshold thousands of times a second; so the padder, once it was woken, is not
// woken again for a while.
func (r *Ring) lowered(run uint64) {
	if !r.resting.Load() {
		r.wakePadder()
		if !r.cfg.Assist || r.tail.Load() != run {
			return
		}
	}
	select {
	case r.putLock <- struct{}{}:
		if r.padOne(r.ctx) == nil {
			r.counts.paddings[Immediate].Add(1)
		}
		<-r.putLock
	default: // another is at it
	}
}

// fill puts runs until the ring is full or the provider has none. It returns how long to
// wait before another try, 0 for until somebody asks, and the error unless it was a
// *NotYetError.
func (r *Ring) fill(ctx context.Context, trigger Trigger) (time.Duration, error) {
	for first := true; ; first = false {
		select {
		case r.putLock <- struct{}{}:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
		err := r.padOne(ctx)
		<-r.putLock // so that a taker who pads has its turn between two runs
		if err == nil {
			if first {
				r.counts.paddings[trigger].Add(1)
			}
			continue
		}
		if err == errNoRoom {
			return 0, nil
		}
		if notYet := (*NotYetError)(nil); errors.As(err, &notYet) {
			return min(max(notYet.After, minRetry), maxRetry), nil
		}
		if errors.Is(err, ErrExhausted) || errors.Is(err, ErrClosed) {
			return 0, err
		}
		return r.retryAfter(), err
	}
}

// retryAfter is how long to wait after as many failures as there were in this episode.
func (r *Ring) retryAfter() time.Duration {
	n := r.counts.episode.Load()
	return min(failBase<<min(max(n-1, 0), 16), failMax)
}

// failed keeps what the provider said. The caller holds the put lock.
func (r *Ring) failed(err error) {
	if errors.Is(err, ErrExhausted) {
		r.ended.Store(&err)
		r.empty.Store(&EmptyError{Cause: err})
		r.fresh.broadcast() // who waits has nothing more to wait for
		r.cfg.Logger.LogAttrs(r.ctx, slog.LevelError, "ringbuffer: the provider is exhausted", slog.Any("err", err))
		return
	}
	r.empty.Store(&EmptyError{Cause: err})
	if isNotYet(err) {
		return
	}
	if r.ctx.Err() != nil {
		return // closing, which is no failure
	}
	r.counts.failedPaddings.Add(1)
	r.fresh.broadcast() // who waits within Pad returns the error
	if r.counts.episode.Add(1) == 1 {
		r.logged = false
	}
	// A provider that fails and works by turns is not logged each time.
	now := time.Now()
	if r.logged || now.Sub(r.loggedAt) < logPause {
		return
	}
	r.logged, r.loggedAt = true, now
	attrs := []slog.Attr{slog.Any("err", err)}
	if p := (*PanicError)(nil); errors.As(err, &p) {
		attrs = append(attrs, slog.String("stack", string(p.Stack)))
	}
	r.cfg.Logger.LogAttrs(r.ctx, slog.LevelWarn, "ringbuffer: padding failed, trying again", attrs...)
}

// worked ends an episode of failures. The caller holds the put lock.
func (r *Ring) worked() {
	if r.emptyError().Cause == nil {
		return
	}
	r.empty.Store(new(EmptyError))
	if n := r.counts.episode.Swap(0); n > 0 && r.logged {
		r.cfg.Logger.LogAttrs(r.ctx, slog.LevelInfo, "ringbuffer: padding works again", slog.Int64("failures", n))
	}
}

// dropStale drops runs from the front of the ring, for as long as they or some behind them are
// stale. It is a taker like any other, one that takes all that is left of a run, so it needs no
// lock.
func (r *Ring) dropStale() {
	if r.cfg.Stale == nil {
		return
	}
	for stale := r.current.Load().number; ; { // all before it are dropped
		s := r.current.Load()
		if !s.spent() {
			if int64(stale-s.number) <= 0 && !r.cfg.Stale(s.first) {
				if stale = r.lastStale(s); stale == s.number {
					return
				}
			}
			r.counts.dropped.Add(s.drain())
		}
		if !r.advance(s) {
			return
		}
	}
}

// lastStale returns the number of a stale run behind the run s, or that of s. Where runs rise
// there is none unless s is stale itself; but a provider may have set back, and then the first
// after that may be.
func (r *Ring) lastStale(s *slot) uint64 {
	stale, before := s.number, s.first
	for n := s.number + 1; ; n++ {
		next := r.slots[n&r.mask].Load()
		if next == nil || next.number != n {
			return stale // the end, or takers have come far meanwhile
		}
		if next.first < before && r.cfg.Stale(next.first) {
			stale = n
		}
		before = next.first
	}
}
