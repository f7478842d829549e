package workerassign

import (
	"context"
	"log/slog"
	"time"
)

// An Assigner grants leases on worker IDs. It is safe for concurrent use. A generator may take a
// second lease before it releases the first one, to prepare a change of its worker ID.
//
// A program may implement it, and test that with package assigntest. No method will be added, but Request may get more
// fields.
type Assigner interface {
	// Assign grants a new lease to the generator that r describes. It may block on a store until
	// ctx ends. If ctx ends early, the store may keep a worker ID that no generator uses.
	//
	// An error that wraps ErrWidth is permanent: the generator does not call Assign again. After
	// any other error it tries again, with growing pauses.
	Assign(ctx context.Context, r Request) (Lease, error)
}

// A Request describes the generator that asks for a lease. All fields are optional for Disposable,
// File and Static. Prefix and Divide require MaxWorkerID. Package recycled requires MaxWorkerID and Format.
type Request struct {
	// Now is the generator's clock, so that assigner and generator agree on the time. It is
	// safe for concurrent use and never goes back. nil means time.Now.
	Now func() time.Time

	// MaxWorkerID is the greatest worker ID that the generator's layout can hold; 0 if it is not
	// known. Prefix and Divide pass a smaller value to the assigner that they wrap: the greatest
	// worker ID that fits into the bits that they do not use themselves.
	MaxWorkerID int64

	// Format is the generator's layout, epoch and time unit as text; "" if it is not known.
	// Each wrapper appends a description of what it does to worker IDs. Divide appends
	// "; divided by 2 bits", for example, and Prefix "; prefix 5 in 3 bits". The outermost
	// wrapper comes first.
	//
	// Generators that share a store must have the same Format. Otherwise they may generate equal
	// UIDs with different meanings. The documentation of Divide and Prefix says which formats may
	// be mixed nevertheless. A store can keep the first Format and refuse any other. It must
	// compare the whole text and not parse it.
	Format string

	// ReserveAhead is how far ahead of need the generator reserves time (uid.WithReserveAhead); 0 if it is
	// not known. A generator asks for 1.5 times as much, and asks again when a quarter of that is used. Package recycled
	// uses it to decide how long a slot is kept for a holder that may still be alive (R5).
	ReserveAhead time.Duration

	// Renewal reports that the generator has dropped its leases, because this process may have been copied, with
	// all that an assigner has in memory and in files (uid.Cached.Renew). So the lease must be one that no copy of
	// the process is granted too. An assigner that cannot grant that, because its state is copied with the
	// process, returns an error that wraps ErrRenewal. One that keeps leases for later, as Divide does, gives them
	// up, and does not release them.
	Renewal bool

	// Logger is the generator's logger. nil means slog.Default(). An assigner that has its own
	// logger uses that one instead. An assigner must not call the logger while it holds a lock,
	// because the log handler may call the generator.
	Logger *slog.Logger
}

// Time returns the time that the generator's clock shows.
func (r Request) Time() time.Time {
	if r.Now == nil {
		return time.Now()
	}
	return r.Now()
}

// A Lease is the right to generate UIDs with one worker ID for an interval of UID time. The
// interval is half-open: it begins at NotBefore and ends before the time that Reserve granted. A
// time unit belongs to the interval if its first instant does. A generator calls Reserve and
// Release from one goroutine at a time, and calls neither after Release.
//
// Invariant 1: a worker ID and a time unit belong to at most one lease. Disposable leases never
// share a worker ID. Leases that share a worker ID have disjoint intervals.
//
// A program may implement it. No method will be added, but Grant may get more fields.
type Lease interface {
	// WorkerID returns the worker ID of this lease. It never changes.
	WorkerID() int64

	// NotBefore returns the start of the interval. The generator does not use a time unit that
	// begins earlier. The zero time means that the interval has no start.
	NotBefore() time.Time

	// Reserve asks for UID time up to until, and returns what is granted. A grant remains valid when a later
	// call fails, unless the error wraps ErrVoid. Reserve may block on a store until ctx ends.
	Reserve(ctx context.Context, until time.Time) (Grant, error)

	// Release returns the lease to the assigner. The generator has used no time unit that begins
	// at or after used, and will use none, so a store may grant that time to another lease. UIDs
	// of earlier time units may still be handed out. The zero time means that the generator used
	// no time unit at all. Release may block on a store until ctx ends. Further calls do nothing. An
	// error that wraps ErrVoid says the same as one of Reserve: the generator drops what it has
	// generated with the lease and not returned.
	Release(ctx context.Context, used time.Time) error
}

// A Grant is what Reserve grants. Further fields may be added.
type Grant struct {
	// Until is the end: the generator may use time units that begin before it. It may be earlier than was
	// requested. If it is in the past, nothing new is granted. It may be later than was requested; then the
	// generator may use that time without another call. Unbounded means that there is no limit.
	Until time.Time

	// Horizon is how far beyond the generator's clock a grant of this lease can reach; 0 means that there is
	// no bound. A generator that requires more waits for the clock, and does not ask again before that. It
	// borrows only as much time as such grants allow, see uid.WithMaxBorrow.
	Horizon time.Duration

	// Remaining is how many worker IDs the assigner had left, of Total, when it granted the lease, if it
	// counts worker IDs up and never uses one again, so that they run out. The generator logs a warning before
	// that happens. Total is 0 if that is not known. Prefix and Divide scale both.
	Remaining, Total int64
}

// limited returns the grant with what an assigner with these worker IDs can have left: a user's may say anything.
func (g Grant) limited(maxWorkerID int64) Grant {
	g.Remaining, g.Total = min(max(g.Remaining, 0), maxWorkerID), min(max(g.Total, 0), maxWorkerID)
	return g
}

// Unbounded returns the time by which Grant.Until says that a lease has no end: the last second of
// the year 9999, in UTC.
func Unbounded() time.Time { return time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC) }
