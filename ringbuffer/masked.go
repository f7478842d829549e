package ringbuffer

import (
	"errors"

	"github.com/ringuid/ringuid/internal/errmask"
)

// maskRingErrors hides ErrClosed and ErrExhausted in an error of user code, where they are perhaps those of another ring. It returns
// err itself if err wraps neither.
func maskRingErrors(err error) error {
	if errors.Is(err, ErrClosed) || errors.Is(err, ErrExhausted) {
		return errmask.Mask(err, ErrClosed, ErrExhausted)
	}
	return err
}

// maskClosed hides only ErrClosed.
func maskClosed(err error) error {
	if errors.Is(err, ErrClosed) {
		return errmask.Mask(err, ErrClosed)
	}
	return err
}
