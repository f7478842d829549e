package ledger

import (
	"time"

	"golang.org/x/sys/unix"
)

// Monotonic returns a clock that all processes of this machine share.
func Monotonic() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}
