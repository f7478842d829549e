package uid

// A Generator generates UIDs. All methods are safe for concurrent use.
type Generator interface {
	// Next returns a UID that no other call returns. The implementation says what it waits for, if
	// anything, and which errors it returns. After Close it returns ErrClosed. When it returns an
	// error, there is no UID.
	Next() (ID, error)

	// NextN fills dst with UIDs from the front, in increasing order unless the lease changes in
	// between. It returns how many it filled in: len(dst), or fewer and an error.
	NextN(dst []ID) (int, error)

	// Parse splits a UID of this generator's format into its parts.
	Parse(id ID) Parts

	// Close ends the generator and releases its lease: Next returns ErrClosed, waiting calls return,
	// and no goroutine runs on. It may be called more than once.
	Close() error
}
