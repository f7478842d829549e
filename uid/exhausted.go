package uid

import (
	"fmt"
	"time"

	"github.com/ringuid/ringuid/ringbuffer"
)

// timeExhaustedError is ErrTimeExhausted with the bound that was reached.
type timeExhaustedError struct {
	format Format
	delta  int64
}

// Error implements error.
func (e *timeExhaustedError) Error() string {
	return fmt.Sprintf("%v: time unit is %d, must be 0 to %d for layout %v, whose time from epoch %s ended at %s; "+
		"choose a later epoch or more time bits (never an epoch at which old UIDs are generated again)",
		ErrTimeExhausted, e.delta, e.format.layout.MaxDelta(), e.format.layout,
		e.format.Epoch().Format(time.RFC3339), e.format.End().Format(time.RFC3339))
}

// Is reports that the error is ErrTimeExhausted, and ErrExhausted for the ring: its provider has no
// more runs.
func (e *timeExhaustedError) Is(target error) bool {
	return target == ErrTimeExhausted || target == ringbuffer.ErrExhausted
}
