package workerassign

import (
	"context"
	"time"
)

// An Assigner grants leases on worker IDs. It is safe for concurrent use. A generator may take a
// second lease while it holds one, ahead of a rollover, and gives the first back after that.
type Assigner interface {
	// Assign grants a new lease. It may block on a store; ctx bounds it, and cancelling it
	// leaves at most a worker ID that nobody uses.
	Assign(ctx context.Context) (Lease, error)
}

// A ClockedAssigner is an Assigner whose leases depend on the time. A generator that finds
// one calls AssignAt with its own clock, so that the two agree on what "now" is; now must
// be safe for concurrent use and must not go back.
type ClockedAssigner interface {
	Assigner
	AssignAt(ctx context.Context, now func() time.Time) (Lease, error)
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
	// The zero time means that there is no floor.
	NotBefore() time.Time

	// Reserve asks that UID time may run up to until, and returns how far it may run now:
	// units that begin before the returned time may be stamped. The answer may lie before
	// until, and even in the past, which grants nothing new; a time beyond until grants
	// that much without asking again, and Unbounded says that there is no bound. A grant
	// stays good when a later call fails. Reserve may block on a store; ctx bounds it.
	Reserve(ctx context.Context, until time.Time) (time.Time, error)

	// Release gives the lease back. Nothing may be stamped with it afterwards; UIDs that
	// were stamped before may still be handed out. Calling it again is harmless.
	Release(ctx context.Context) error
}

// A CountingLease is a Lease of an assigner that counts worker IDs up and never uses one
// again, so that they come to an end. A generator warns of that.
type CountingLease interface {
	Lease

	// Left returns how many worker IDs the assigner has left if most is the greatest that
	// there may be, and how many there are in all; all is 0 where that is not known.
	Left(most int64) (left, all int64)
}

// Unbounded is the time that Reserve returns when UID time may run as far as the layout
// carries it: the last second of the year 9999, in UTC.
func Unbounded() time.Time { return time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC) }
