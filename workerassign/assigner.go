package workerassign

import (
	"context"
	"log/slog"
	"time"
)

// An Assigner grants leases on worker IDs. It is safe for concurrent use. A generator may take a
// second lease while it holds one, ahead of a rollover, and releases the first after that.
type Assigner interface {
	// Assign grants a new lease to the generator that r describes. It may block on a store;
	// ctx bounds it, and cancelling it leaves at most a worker ID that nobody uses.
	//
	// An error that wraps ErrWidth is final: a generator does not ask again. After any other
	// error it does, with growing pauses.
	Assign(ctx context.Context, r Request) (Lease, error)
}

// A Request is what a generator says of itself when it asks for a lease. The zero value says
// nothing, and is enough for the assigners of this package but Prefix and Divide.
type Request struct {
	// Now is the generator's clock, so that assigner and generator agree on the time. It is
	// safe for concurrent use and never goes back. nil means time.Now.
	Now func() time.Time

	// MaxWorkerID is the greatest worker ID that the generator's layout holds; 0 if it is not
	// known. Prefix and Divide ask the inner assigner with the greatest that fits in the bits
	// that they leave to it.
	MaxWorkerID int64

	// Format is the generator's layout, epoch and time unit as text; "" if it is not known.
	// Each wrapper appends what it does to worker IDs: "; divided by 2 bits" and "; prefix 5
	// in 3 bits" are Divide's and Prefix's words, the outermost first.
	//
	// Generators that share a store must have the same Format, except where Divide and Prefix
	// say that two may be mixed: else equal UIDs may have different meanings. A store can
	// remember the first Format and refuse another one. It must compare the whole text and
	// not take it apart.
	Format string

	// Logger is the generator's. An assigner that was given a logger of its own uses that. nil
	// means slog.Default(). An assigner must not call it under a lock: its handler may take
	// UIDs.
	Logger *slog.Logger
}

// now returns the time on the clock of the request.
func (r Request) now() time.Time {
	if r.Now == nil {
		return time.Now()
	}
	return r.Now()
}

// A Lease is the right to stamp UIDs with one worker ID over a span of UID time: the span
// is half-open, from NotBefore up to, but not including, the time that Reserve granted.
// A time unit belongs to the span when its first instant does. A generator calls Reserve and
// Release one at a time, and nothing after Release.
//
// Invariant 1: a worker ID and a time unit belong to one lease at most. Disposable leases
// never share a worker ID; leases that share one have disjoint spans.
type Lease interface {
	// WorkerID is the worker ID of this lease, the same for its whole life.
	WorkerID() int64

	// NotBefore is the start of the span: no unit that begins before it may be stamped.
	// The zero time means that the span has no start.
	NotBefore() time.Time

	// Reserve asks that UID time may run up to until, and returns how far it may run now:
	// units that begin before the returned time may be stamped. The answer may lie before
	// until, and even in the past, which grants nothing new; a time beyond until grants
	// that much without asking again, and Unbounded says that there is no bound. A grant
	// stays good when a later call fails. Reserve may block on a store; ctx bounds it.
	Reserve(ctx context.Context, until time.Time) (time.Time, error)

	// Release gives the lease back. No unit that begins at or after used was stamped with it,
	// and none will be, so a store may give that time to another lease; UIDs that were stamped
	// before may still be handed out. The zero time says that nothing was stamped. Release may
	// block on a store; ctx bounds it. Calling it again does nothing.
	Release(ctx context.Context, used time.Time) error
}

// A CountingLease is a Lease of an assigner that counts worker IDs up and never uses one
// again, so that they run out. A generator warns of that in advance.
type CountingLease interface {
	Lease

	// Remaining returns how many worker IDs the assigner has left if most is the greatest that
	// there may be, and how many there are in all; all is 0 where that is not known.
	Remaining(most int64) (remaining, all int64)
}

// Unbounded is the time that Reserve returns when UID time may run as far as the layout
// carries it: the last second of the year 9999, in UTC.
func Unbounded() time.Time { return time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC) }
