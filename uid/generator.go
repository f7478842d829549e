package uid

import (
	"context"
	"iter"
	"time"

	"github.com/ringuid/ringuid/ringbuffer"
)

// A Generator generates UIDs. All methods are safe for concurrent use. It is for programs that use a generator of either kind, and not
// for other implementations: a later version may have more methods.
type Generator interface {
	// Next returns a UID that no other call returns, of this generator or of another one of the
	// fleet. What it waits for, and which errors it returns, depends on the implementation; waiting is
	// unbounded. After Close it returns ErrClosed. With an error the ID is 0.
	Next() (ID, error)

	// NextContext is like Next, but waits no longer than until ctx ends: then the error wraps that of
	// ctx. If there is a UID without waiting, ctx is not checked.
	NextContext(ctx context.Context) (ID, error)

	// NextN fills dst with UIDs from the front, in increasing order unless the lease changes in
	// between. It returns how many it filled in: len(dst), or fewer and an error.
	NextN(dst []ID) (int, error)

	// NextNContext is like NextN, but waits no longer than until ctx ends.
	NextNContext(ctx context.Context, dst []ID) (int, error)

	// All returns an iterator over UIDs. It does not end by itself: the loop must break, or the iterator yields an error as its last
	// element, which is an error of Next, or that of ctx soon after ctx ended.
	All(ctx context.Context) iter.Seq2[ID, error]

	// Parse splits a UID of this generator's format into its parts. It does not fail.
	Parse(id ID) Parts

	// Format returns the layout, the epoch and the time unit of this generator's UIDs.
	Format() Format

	// Stats returns a snapshot of counters and state. It does not block Next.
	Stats() Stats

	// Health reports whether Next returns a UID now, and for how long it will if the assigner's store
	// cannot be reached. It does not block, and takes no UID.
	Health() Health

	// Renew replaces the generator's lease, for a process that may have been copied while it ran: see Cached.Renew. A call that
	// begins after Renew has returned gets no UID of the former lease, whether or not Renew has failed.
	Renew(ctx context.Context) error

	// Close ends the generator and releases its lease: Next returns ErrClosed, waiting calls return,
	// and no goroutine runs on, unless the error wraps ErrBusy, or the log handler hangs. It may be called more than once.
	Close() error
}

// A Clock reports the time. It is for tests, which may implement it, and must be safe for concurrent use. No method will be added.
//
// The time of a generator never goes back, whatever its Clock does. To tolerate a step back, the
// generator requires a clock that does not step: the monotonic reading that the times of time.Now
// contain, or what a method Monotonic() time.Duration of the Clock returns. Without either, the
// generator's time stands still until the Clock has caught up.
//
// A step forward of more than an hour against the monotonic clock is followed only if it lasts for
// about a second, by the monotonic clock. So a single wrong reading does not exhaust the time bits. A
// Clock without a monotonic clock is followed at once, and so is every Clock when the generator is
// constructed.
//
// No method of a Clock is called under a lock, so it may call the generator. A panic of one is a panic of the call that
// has read the clock, or ends the process if a goroutine of the generator has. The generator stays whole.
type Clock interface {
	Now() time.Time
}

// The defaults of the options.
const (
	DefaultBoostPower       = 3
	DefaultPaddingFactor    = ringbuffer.DefaultPaddingFactor
	DefaultScheduleInterval = time.Second
	DefaultMaxStaleness     = 3 * time.Second
	DefaultMaxBorrow        = time.Hour
	DefaultReserveAhead     = 30 * time.Second
)

// MaxBoostPower is the greatest boost power.
const MaxBoostPower = 16

// DefaultEpoch returns the default epoch, 2026-01-01T00:00:00Z.
func DefaultEpoch() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// noCopy, as a field, lets `go vet` find copies of a struct: it takes whatever has these methods
// for a lock.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}
