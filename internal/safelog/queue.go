// Package safelog writes log records to the user's logger where the user's log handler must not run. It also makes the values of records,
// and their JSON.
package safelog

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"
)

// maxQueued is the greatest number of records that wait in a queue. Further records are dropped and
// counted.
const maxQueued = 64

// A Queue writes log records to a logger in a separate goroutine. Use it where the user's log handler
// must not run: while a lock is held, or in a goroutine that others wait for. So the handler may block,
// and may call the code that logs. The goroutine ends when no records wait. A Queue is safe for
// concurrent use.
type Queue struct {
	logger *slog.Logger

	mu         sync.Mutex
	waiting    []slog.Record
	dropped    int
	writerDone chan struct{} // closed when the goroutine ends; nil while there is none
}

// FlushTimeout is how long a call waits at most for its log records to be written before it returns.
const FlushTimeout = time.Second

// NewQueue returns a queue for l, or for slog.Default() if l is nil.
func NewQueue(l *slog.Logger) *Queue { return &Queue{logger: cmp.Or(l, slog.Default())} }

// Log queues a record with the attributes args, as slog.Logger.Log takes them. It does not block.
func (q *Queue) Log(level slog.Level, msg string, args ...any) {
	if q.logger.Handler() == slog.DiscardHandler {
		return
	}
	r := slog.NewRecord(time.Now(), level, msg, 0)
	r.Add(args...)
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == maxQueued {
		q.dropped++
	} else {
		q.waiting = append(q.waiting, r)
	}
	if q.writerDone == nil {
		q.writerDone = make(chan struct{})
		go q.writeQueued(q.writerDone)
	}
}

// writeQueued writes the waiting records until there are none. A panic of the user's log handler ends the process.
func (q *Queue) writeQueued(done chan struct{}) {
	defer func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.writerDone == done { // the handler has called runtime.Goexit
			q.writerDone = nil
		}
		close(done)
	}()
	for {
		q.mu.Lock()
		records, dropped := q.waiting, q.dropped
		q.waiting, q.dropped = nil, 0
		if len(records) == 0 {
			q.writerDone = nil
			q.mu.Unlock()
			return
		}
		q.mu.Unlock()
		for _, r := range records {
			if ctx := context.Background(); q.logger.Enabled(ctx, r.Level) {
				q.logger.Handler().Handle(ctx, r) // there is no place to report an error of the handler
			}
		}
		if dropped > 0 {
			q.logger.Warn("ringuid: log records were dropped because the log handler is slow", "dropped", dropped)
		}
	}
}

// Flush waits at most d until no records wait, and reports whether that is so.
func (q *Queue) Flush(d time.Duration) bool {
	q.mu.Lock()
	idle := q.writerDone
	q.mu.Unlock()
	if idle == nil {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-idle:
		return true
	case <-timer.C:
		return false
	}
}
