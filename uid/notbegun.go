package uid

import (
	"fmt"
	"time"
)

// notBegunError is the reason why a generator waits for a lease that begins later: its worker ID was
// granted to another lease up to then, or the assigner's store may have lost such a grant. It is ErrLease.
type notBegunError struct {
	workerID int64
	begins   time.Time
}

// Error implements error.
func (e *notBegunError) Error() string {
	return fmt.Sprintf("%v: worker ID %d must not be used before %s; the generator waits for that",
		ErrLease, e.workerID, e.begins.UTC().Format(time.RFC3339Nano))
}

// Is implements what errors.Is looks for.
func (e *notBegunError) Is(target error) bool { return target == ErrLease }

// notBegun returns the error for a lease whose first unit has not started.
func (c *core) notBegun(workerID, firstUnit int64) error {
	return &notBegunError{workerID: workerID, begins: c.cfg.format.base.Time(firstUnit)}
}
