package uid

import "context"

// A Generator generates UIDs. All methods are safe for concurrent use.
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

	// Parse splits a UID of this generator's format into its parts. It does not fail.
	Parse(id ID) Parts

	// Format returns the layout, the epoch and the time unit of this generator's UIDs.
	Format() Format

	// Stats returns a snapshot of counters and state. It does not block Next.
	Stats() Stats

	// Health reports whether Next returns a UID now, and for how long it will if the assigner's store
	// cannot be reached. It does not block, and takes no UID.
	Health() Health

	// Close ends the generator and releases its lease: Next returns ErrClosed, waiting calls return,
	// and no goroutine runs on, unless the error wraps ErrBusy. It may be called more than once.
	Close() error
}
