//go:build !linux

package ledger

import "time"

// Monotonic returns a clock that all processes of this machine share, if nobody sets its clock.
func Monotonic() time.Duration { return time.Duration(time.Now().UnixNano()) }
