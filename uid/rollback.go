package uid

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// ErrClockBack is returned by a Default generator whose RollbackPolicy does not ride out a step
// back of the wall clock, while the clock is behind.
var ErrClockBack = errors.New("uid: the wall clock has moved back")

// A RollbackPolicy says what a Default generator does when the wall clock is set back to an
// earlier time unit: RideOut, WaitOut or Refuse. None makes a UID come again; what they differ in is
// whether UIDs may have times that the wall clock has not shown yet.
type RollbackPolicy struct {
	name  string
	ride  bool
	bound time.Duration
}

// RideOut goes on at the pace of the monotonic clock, as if the step had not been. A lead of 10 s at
// most is worked off, by at most 500 ppm. It is the default.
func RideOut() RollbackPolicy { return RollbackPolicy{name: "ride it out", ride: true} }

// WaitOut stamps UIDs with the wall clock's time. While that is behind the last UID's, by no
// more than the bound, Next waits; beyond it, Next returns an error that wraps ErrClockBack.
func WaitOut(bound time.Duration) RollbackPolicy {
	return RollbackPolicy{name: "wait it out", bound: bound}
}

// Refuse stamps UIDs with the wall clock's time. While that is behind the last UID's, Next
// returns an error that wraps ErrClockBack, as the original's does.
func Refuse() RollbackPolicy { return RollbackPolicy{name: "refuse"} }

// WithRollback says what a Default generator does when the wall clock is set back; a Cached one
// rides it out, whatever is said here. Each episode is counted in Stats and logged once. The
// default is RideOut. WaitOut and Refuse read the wall clock at each Next, which makes it about
// two and a half times slower.
func WithRollback(p RollbackPolicy) Option {
	return func(c *config) {
		switch {
		case p.name == "":
			c.fail("the rollback policy is the zero value; RideOut, WaitOut and Refuse make one")
		case p.bound < 0:
			c.fail("waiting for the clock by at most %v, 0 or more is needed", p.bound)
		default:
			c.rollback = p
		}
	}
}

// noteStep counts steps back that are ridden out: each that takes the wall clock a unit further
// behind than it was before.
func (d *Default) noteStep(behind time.Duration) {
	for {
		counted := d.counted.Load()
		change := behind - time.Duration(counted)
		if change < d.time.format.unit && change > -d.time.format.unit {
			return
		}
		if !d.counted.CompareAndSwap(counted, int64(behind)) {
			continue
		}
		if change > 0 {
			d.report(behind)
		}
		return
	}
}

// report counts and logs an episode.
func (d *Default) report(behind time.Duration) {
	d.rollbacks.Add(1)
	d.cfg.log.Log(slog.LevelWarn, "uid: the wall clock was set back", "behind", behind, "policy", d.cfg.rollback.name)
}

// clockBack is called when the wall clock is behind the last UID's unit. It waits, and the caller
// looks again, or returns an error.
func (d *Default) clockBack(ctx context.Context, unit int64) error {
	if d.isClosed() {
		return ErrClosed
	}
	// A second look: one wrong reading is no step.
	r, err := d.time.read()
	if err != nil {
		return err
	}
	elapsed := min(r.elapsed, r.wall)
	if d.time.unitAt(elapsed) >= unit {
		return nil
	}
	behind := d.time.away(unit, elapsed)
	if d.isBack.CompareAndSwap(false, true) {
		d.report(behind)
	}
	if bound := d.cfg.rollback.bound; behind > bound {
		return fmt.Errorf("%w: it is %v behind the last UID's time, at most %v is waited out; is more than one program setting the clock?",
			ErrClockBack, behind, bound)
	}
	d.rejectedTakes.Add(1)
	// Not longer than a second: the clock may be set again.
	return d.sleep(ctx, min(behind, time.Second))
}
