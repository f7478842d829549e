package server

import (
	"sync"
	"time"
)

// maxLogged is how many failures are logged in a second.
const maxLogged = 10

// A logLimiter limits how many failures are logged, so that clients cannot fill the disk.
type logLimiter struct {
	mu         sync.Mutex
	second     int64
	logged     int
	suppressed int
}

// allow reports whether a failure may be logged now, and how many were not since the last one that was.
func (l *logLimiter) allow(now time.Time) (suppressed int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if second := now.Unix(); second != l.second {
		l.second, l.logged = second, 0
	}
	if l.logged >= maxLogged {
		l.suppressed++
		return 0, false
	}
	l.logged++
	suppressed, l.suppressed = l.suppressed, 0
	return suppressed, true
}
