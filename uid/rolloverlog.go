package uid

import (
	"log/slog"
	"math"
	"time"

	"github.com/ringuid/ringuid/internal/leasing"
)

// logInterval is the least time between two log records about the same kind of lease change.
const logInterval = time.Minute

// msgLeaseLost is the log message of both kinds of generator for a lost lease.
const msgLeaseLost = "uid: a lease was not extended; changed to another one"

// rolloverLog logs the lease changes of a Cached generator. It belongs to its run provider.
type rolloverLog struct {
	cfg        config
	rolloverAt time.Time // when a rollover was last logged; at first, when the generator was constructed
	changes    uint64    // the number of lease changes at that time
	lostAt     time.Time // when a lost lease was last logged
	limitedTo  int64     // the least borrow limit that was logged, in units; 0 if none was
	isLimited  bool      // whether one was
	horizon    horizonLog
}

// rolledOver logs a rollover to a lease, with how often rollovers occur and how long the worker IDs
// last at this rate; limit is the borrow limit that was reached. A load above the layout's rate uses them up, and must not do so unnoticed.
func (l *rolloverLog) rolledOver(to *leasing.HeldLease, limit time.Duration, now time.Time, changes uint64) {
	elapsed := now.Sub(l.rolloverAt)
	if elapsed < logInterval && l.changes > 0 {
		return
	}
	perLease := elapsed / time.Duration(changes-l.changes)
	args := []any{"worker_id", to.WorkerID(), "borrow_limit", limit, "rollovers", changes, "per_lease", perLease.Round(time.Millisecond)}
	if remaining, total := to.Remaining(); total > 0 {
		last := time.Duration(math.MaxInt64)
		if perLease < last/time.Duration(remaining+1) {
			last = perLease * time.Duration(remaining)
		}
		args = append(args, "remaining", remaining, "remaining_last", last.Round(time.Second))
	}
	l.cfg.log.Log(slog.LevelWarn, "uid: UID time reached the borrow limit; changed to another worker ID: "+
		"the load is above the layout's rate; a layout with more sequence bits uses up no worker IDs", args...)
	l.rolloverAt, l.changes = now, changes
}

// lost logs that a lease was replaced because it was not extended.
func (l *rolloverLog) lost(by *leasing.HeldLease, now time.Time, changes uint64, err error) {
	if now.Sub(l.lostAt) < logInterval && !l.lostAt.IsZero() {
		return
	}
	l.lostAt = now
	l.cfg.log.Log(slog.LevelWarn, msgLeaseLost, "worker_id", by.WorkerID(),
		"rollovers", changes, "err", err)
}

// logRenewed logs that a lease was replaced because Renew was called.
func logRenewed(cfg *config, by *leasing.HeldLease) {
	cfg.log.Log(slog.LevelInfo, "uid: a lease was dropped by Renew; changed to another one", "worker_id", by.WorkerID())
}

// limited logs that the borrow limit is less than what the user wants, because of the lease's horizon: less than the option, if that
// was used, or too little for a rollover. It logs this once, and again if a later lease reduces the limit further.
func (l *rolloverLog) limited(h *leasing.HeldLease, limit int64, rollsOver bool) {
	unit := l.cfg.format.Unit()
	if rollsOver == l.cfg.rollover && (!l.cfg.borrowSet || limit >= int64(l.cfg.borrow/unit)) {
		l.horizon.note(&l.cfg, h)
		return
	}
	if l.isLimited && limit >= l.limitedTo {
		return
	}
	l.isLimited, l.limitedTo = true, limit
	horizon, _ := h.Horizon()
	l.cfg.log.Log(slog.LevelWarn, "uid: the borrow limit is reduced, because grants of the lease do not reach further; "+
		"for a greater one, raise the horizon of the pool or reserve less ahead; without rollover, a generator at the limit continues at the layout's rate",
		"borrow_limit", time.Duration(limit)*unit, "configured", l.cfg.borrow, "horizon", time.Duration(horizon)*unit,
		"reserve_ahead", l.cfg.reserve, "ring_time", l.cfg.ringTime(), "rollover", rollsOver)
}

// horizonLog logs leases whose horizon is too short for what is to be reserved ahead. It is not safe for concurrent use.
type horizonLog struct {
	least    int64 // the shortest horizon that was logged, in units
	isLogged bool  // whether one was
}

// note logs the horizon of a lease if it is too short: once, and again if that of a later lease is shorter.
func (l *horizonLog) note(cfg *config, h *leasing.HeldLease) {
	horizon, _ := h.Horizon()
	if h.CoversReserve() || l.isLogged && horizon >= l.least {
		return
	}
	l.isLogged, l.least = true, horizon
	cfg.log.Log(slog.LevelWarn, "uid: grants of the lease do not reach as far as time is reserved ahead, so UIDs stop earlier in an outage of the store; "+
		"raise the horizon of the pool to 1.5 times that and a time unit, or reserve less ahead",
		"horizon", time.Duration(horizon)*cfg.format.Unit(), "reserve_ahead", cfg.reserve)
}
