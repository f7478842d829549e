package safelog

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// queueLimit is how many records wait at most. Beyond it they are dropped and counted.
const maxQueued = 64

// A Queue writes records to a logger in a goroutine of its own, so that it may be called where
// the user's handler must not run: under a lock, or by a goroutine that others wait for. A
// handler may so call back into what logs. The goroutine ends when nothing waits to be written.
// It is safe for concurrent use.
type Queue struct {
	logger *slog.Logger

	mu         sync.Mutex
	waiting    []slog.Record
	dropped    int
	writerDone chan struct{} // closed when the goroutine ends; nil while there is none
}

// NewQueue returns a queue for l, or for slog.Default() if l is nil.
func NewQueue(l *slog.Logger) *Queue { return &Queue{logger: Wrap(l)} }

// Log queues a record with the attributes args, as slog.Logger.Log takes them. It does not block.
func (q *Queue) Log(level slog.Level, msg string, args ...any) {
	if q.logger.Handler() == (handler{slog.DiscardHandler}) {
		return
	}
	r := slog.NewRecord(time.Now(), level, msg, 0)
	r.Add(args...)
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == maxQueued {
		q.dropped++
		return
	}
	q.waiting = append(q.waiting, r)
	if q.writerDone == nil {
		q.writerDone = make(chan struct{})
		go q.writeQueued()
	}
}

// write writes what waits until there is nothing.
func (q *Queue) writeQueued() {
	ended := false
	defer func() {
		if !ended { // the handler has called runtime.Goexit; what it was given with that record is lost
			go q.writeQueued()
		}
	}()
	for {
		q.mu.Lock()
		records, dropped := q.waiting, q.dropped
		q.waiting, q.dropped = nil, 0
		if len(records) == 0 {
			close(q.writerDone)
			q.writerDone = nil
			q.mu.Unlock()
			ended = true
			return
		}
		q.mu.Unlock()
		for _, r := range records {
			if ctx := context.Background(); q.logger.Enabled(ctx, r.Level) {
				q.logger.Handler().Handle(ctx, r) // an error of a handler is its own
			}
		}
		if dropped > 0 {
			q.logger.Warn("ringuid: log records were dropped because the log handler is slow", "dropped", dropped)
		}
	}
}

// Flush waits until everything queued so far is written, for d at most, and reports whether it is.
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
