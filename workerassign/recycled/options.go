package recycled

import (
	"cmp"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ringuid/ringuid/internal/millis"
	"github.com/ringuid/ringuid/internal/options"
	"github.com/ringuid/ringuid/workerassign"
)

// An Option configures an Assigner. If its value is invalid, Assign returns an error that wraps
// workerassign.ErrOption.
type Option interface{ apply(*config) }

type option func(*config)

func (o option) apply(c *config) { o(c) }

// config is the configuration of an Assigner.
type config struct {
	timeout       time.Duration
	logger        *slog.Logger // nil: the generator's
	err           error        // the error of the first invalid option
	name          string
	workerID      int64 // of WithWorkerID; -1: any
	firstWorkerID int64
	holder        func() (host, process string)
	horizon       time.Duration // H
	fencing       time.Duration // F
	skew          time.Duration // M
	clockBound    time.Duration // B
}

func newConfig() config {
	return config{
		timeout:    workerassign.DefaultTimeout,
		workerID:   -1,
		holder:     describeProcess,
		horizon:    workerassign.DefaultHorizon,
		fencing:    workerassign.DefaultFencing,
		skew:       workerassign.DefaultSkew,
		clockBound: workerassign.DefaultClockBound,
	}
}

// loggerFor returns the logger for a request: the one of WithLogger, else the generator's, else slog.Default().
func (c *config) loggerFor(r workerassign.Request) *slog.Logger {
	return cmp.Or(c.logger, r.Logger, slog.Default())
}

// setError records the error of an invalid option, unless there is one already.
func (c *config) setError(format string, args ...any) {
	options.SetError(&c.err, workerassign.ErrOption, format, args...)
}

// WithTimeout bounds Assign if its context has no deadline. It must be greater than 0. The default is
// workerassign.DefaultTimeout.
func WithTimeout(d time.Duration) Option {
	return option(func(c *config) { options.SetTimeout(&c.timeout, d, c.setError) })
}

// WithLogger sets the logger of the assigner. The default is the generator's logger (workerassign.Request.Logger), or
// slog.Default() if there is none.
func WithLogger(l *slog.Logger) Option {
	return option(func(c *config) { options.SetLogger(&c.logger, l, c.setError) })
}

// check checks options against each other.
func (c *config) check() {
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"horizon", c.horizon}, {"fencing time", c.fencing}, {"skew", c.skew}, {"clock bound", c.clockBound}} {
		if d.value > millis.MaxDuration {
			c.setError("the %s is %v; must be at most %v", d.name, d.value, millis.MaxDuration)
		}
	}
	if c.horizon <= c.clockBound {
		c.setError("the horizon is %v; must be greater than the clock bound, %v", c.horizon, c.clockBound)
	}
	if c.workerID >= 0 && c.workerID < c.firstWorkerID {
		c.setError("the worker ID is %d; must be at least the first worker ID of the pool, %d", c.workerID, c.firstWorkerID)
	}
}

// grace returns how long a slot that was not released is kept for its holder after the end of its grant
// (R5). It covers the clock bound and a step of the store's clock. A wrong guess costs a lease, never a
// duplicate.
func (c *config) grace(p Pool) time.Duration { return c.clockBound + p.Skew }

// freeAt returns when another lease may take a slot (R5), for its record.
func (c *config) freeAt(p Pool, s Slot) time.Time {
	switch {
	case s.Token != "":
		return millis.Up(millis.Later(s.Until, s.Written).Add(c.grace(p)))
	case s.Until.After(p.Floor):
		return s.Until
	}
	return millis.Earlier(s.Until, s.Written) // the next lease begins at the floor
}

// nextFree returns when another lease may take a slot, by the store's clock, if its holder does nothing until
// then (R5).
func (c *config) nextFree(s State, slot Slot) time.Time {
	if slot.Token == "" {
		return slot.Until
	}
	return millis.Later(c.freeAt(s.Pool, slot), s.Pool.Since.Add(c.grace(s.Pool)))
}

// nameNeedsNoGrace reports whether a claimant of the same name may take a slot without grace (R5): its
// former holder, if it were alive, would have extended the slot in time. It would have begun to try when the grant
// reached 1.125 times what it reserves ahead.
//
// What the holder reserves ahead is not in the slot, and a claimant of another version of a service may reserve
// more. So the lesser of two values counts: the claimant's own, and what the holder's last grant shows, which
// reached at least 1.5 times that far beyond the store's clock. The latter is too great if the holder was borrowing
// time. Then the claimant may take the slot of a holder that is alive, which costs that one its lease. It is never a
// duplicate, because the claimant's lease begins at the end of that grant (R3).
func (c *config) nameNeedsNoGrace(p Pool, s Slot, reserveAhead time.Duration) bool {
	shown := s.Until.Sub(s.Written) / 3 * 2
	reserveAhead = min(reserveAhead, shown, millis.MaxDuration)
	return reserveAhead/8*9 > c.clockBound+p.Skew+callTime
}

// callTime is the longest time that one call of a store is assumed to take.
const callTime = 10 * time.Second

// WithName makes the assigner prefer the slot that the given name had last, if that slot is free: a host or a pod then
// has the same worker ID after a restart. If the slot is not free yet, because the restart was quick or followed a crash,
// Assign takes another one and does not wait. Use WithWorkerID if the worker ID must be the same.
// Two generators must not have one name at the same time. If they do, each has a slot of its own, and the worker IDs
// are not stable.
//
// If the holder crashed, a generator of the same name does not wait for the grace after the end of the last grant,
// provided that both reserve enough ahead: 1.125 times that (uid.WithReserveAhead) must exceed the clock bound, the
// skew and 10 seconds.
func WithName(name string) Option {
	return option(func(c *config) {
		if name == "" || len(name) > maxNameLength {
			c.setError("the name has %d bytes; must have 1 to %d", len(name), maxNameLength)
			return
		}
		if !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
			c.setError("the name is %q; must be valid UTF-8 without zero bytes", name)
			return
		}
		c.name = name
	})
}

// maxNameLength is the greatest length of a name: a store may have a column for it.
const maxNameLength = 128

// WithWorkerID makes the assigner lease the slot of one worker ID only, for example that of the ordinal of a
// StatefulSet pod (see workerassign.StatefulSetOrdinal). Two claimants of one worker ID cannot both have it: the
// second waits until the slot becomes free, or Assign returns a *SlotHeldError. If the holder crashed,
// the slot becomes free at the end of its last grant and a grace (the sum of clock bound and skew). So keep
// grants short: use a borrow limit of seconds (uid.WithMaxBorrow), and reserve less ahead
// (uid.WithReserveAhead). With WithName too, a holder that crashed and has the same name again may not have to
// wait for the grace: see there.
//
// The pool contains all slots from its first worker ID up to this one: Assign adds those that are missing, 32
// in one write, so a great worker ID costs time once. Other generators of the pool without WithWorkerID may
// take any of these slots, also this one. So do not mix both kinds in one pool. A generator cannot change to another worker ID
// at its borrow limit: use uid.WithRollover(false), otherwise it tries to, and logs that its own slot is held.
func WithWorkerID(workerID int64) Option {
	return option(func(c *config) {
		options.Set(&c.workerID, workerID, workerID >= 0, c.setError, "the worker ID is %d; must be at least 0", workerID)
	})
}

// WithFirstWorkerID sets the first worker ID of a pool that does not exist yet: to keep it apart from
// worker IDs that others use, for example disposable ones. The default is 0. All assigners of a pool
// must have the same value.
func WithFirstWorkerID(workerID int64) Option {
	return option(func(c *config) {
		options.Set(&c.firstWorkerID, workerID, workerID >= 0, c.setError, "the first worker ID is %d; must be at least 0", workerID)
	})
}

// WithHorizon sets the horizon H of a pool that does not exist yet: no grant reaches further beyond the
// store's clock. If the pool exists, Assign refuses a smaller one, because the floor follows from it if the pool is
// lost. It must be greater than the clock bound. The default is workerassign.DefaultHorizon, 75 s. For full
// borrowing it must be at least the sum of the clock bound, the generator's borrow limit, 1.5 times what
// it reserves ahead, and one time unit; a generator with a greater borrow limit reduces it, and logs
// that. After a failover of a store that can lose writes, new leases begin later by F + H + M.
func WithHorizon(d time.Duration) Option {
	return option(func(c *config) { c.horizon = d })
}

// WithFencing sets, for a pool that does not exist yet, how long an old primary of the store may go on
// acknowledging writes until it is fenced (F). If the pool exists, Assign refuses a smaller one, on any store. It must
// be at least 0. The default is workerassign.DefaultFencing, 30 s. There is no failover that it matters for in a store that
// loses no acknowledged writes.
func WithFencing(d time.Duration) Option {
	return option(func(c *config) {
		options.Set(&c.fencing, d, d >= 0, c.setError, "the fencing time is %v; must be at least 0", d)
	})
}

// WithSkew sets, for a pool that does not exist yet, the greatest difference between the clocks of two
// servers of the store, including steps of one (M). If the pool exists, Assign refuses a smaller one. It must be at
// least 0. The default is workerassign.DefaultSkew, 5 s.
func WithSkew(d time.Duration) Option {
	return option(func(c *config) {
		options.Set(&c.skew, d, d >= 0, c.setError, "the skew is %v; must be at least 0", d)
	})
}

// WithClockBound sets by how much this host's clock may differ from the store's (B). If it differs by
// more, Assign returns an error that wraps ErrClockSkew. It must be greater than 0. The default is
// workerassign.DefaultClockBound, 5 s.
func WithClockBound(d time.Duration) Option {
	return option(func(c *config) {
		options.Set(&c.clockBound, d, d > 0, c.setError, "the clock bound is %v; must be greater than 0", d)
	})
}
