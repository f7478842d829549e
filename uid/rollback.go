package uid

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/internal/unitclock"
)

// A RollbackPolicy says what a Default generator does when the wall clock is set back to an earlier
// time unit: RideOut, WaitOut or Refuse. No policy allows a duplicate UID. They differ in whether UIDs
// may have times that the wall clock has not reached yet.
type RollbackPolicy struct {
	name  string
	ride  bool
	bound time.Duration
}

// RideOut returns the default policy: the generator continues at the pace of the monotonic clock, as
// if there had been no step. A lead of at most 10 s over the wall clock is then reduced, by at most
// 500 ppm.
func RideOut() RollbackPolicy { return RollbackPolicy{name: "ride out", ride: true} }

// WaitOut returns a policy that stamps UIDs with the wall clock's time. While that is behind the last
// UID's time by no more than the bound, Next waits. If it is further behind, Next returns an error
// that wraps ErrClockBack.
func WaitOut(bound time.Duration) RollbackPolicy {
	return RollbackPolicy{name: "wait out", bound: bound}
}

// Refuse returns a policy that stamps UIDs with the wall clock's time. While that is behind the last
// UID's time, Next returns an error that wraps ErrClockBack, as Baidu's UidGenerator does.
func Refuse() RollbackPolicy { return RollbackPolicy{name: "refuse"} }

// rollbackWatch counts and logs the steps back of the wall clock that a generator meets, and waits for
// the wall clock if the policy of a Default says so.
type rollbackWatch struct {
	policy RollbackPolicy
	clock  *unitclock.Clock
	waiter *waiter
	log    *safelog.Queue

	rollbacks atomic.Uint64 // the number of steps back
	counted   atomic.Int64  // how far the wall clock was behind when the last step was counted
	isBack    atomic.Bool   // the wall clock is behind, and takers wait for it or are refused
}

// note counts steps back under the policy RideOut: each one that takes the wall clock a unit further behind
// than before.
func (w *rollbackWatch) note(behind time.Duration) {
	unit := w.clock.TimeBase().Unit()
	for {
		counted := w.counted.Load()
		change := behind - time.Duration(counted)
		if change < unit && change > -unit {
			return
		}
		if !w.counted.CompareAndSwap(counted, int64(behind)) {
			continue
		}
		if change > 0 {
			w.report(behind)
		}
		return
	}
}

// report counts and logs a step back.
func (w *rollbackWatch) report(behind time.Duration) {
	w.rollbacks.Add(1)
	w.log.Log(slog.LevelWarn, "uid: the wall clock was set back", "behind", behind, "policy", w.policy.name)
}

// caughtUp records that the wall clock has reached the last UID's unit.
func (w *rollbackWatch) caughtUp() {
	if w.isBack.Load() {
		w.isBack.Store(false)
	}
}

// wait is called when the wall clock is behind the last UID's unit. It waits, and the caller reads the
// clock again, or it returns an error.
func (w *rollbackWatch) wait(ctx context.Context, unit int64) error {
	if w.waiter.isClosed() {
		return ErrClosed
	}
	// Read the clock again: a single wrong reading is not a step.
	r := w.clock.Read()
	elapsed := min(r.Elapsed, r.Wall)
	if w.clock.UnitAt(elapsed) >= unit {
		return nil
	}
	behind := w.clock.Until(unit, elapsed)
	if w.isBack.CompareAndSwap(false, true) {
		w.report(behind)
	}
	if bound := w.policy.bound; behind > bound {
		return fmt.Errorf("%w: it is %v behind the last UID's time, and the policy waits for at most %v; check whether more than one program sets the clock",
			ErrClockBack, behind, bound)
	}
	// At most a second, because the clock may be set again.
	return w.waiter.sleep(ctx, min(behind, time.Second))
}
