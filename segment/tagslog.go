package segment

import (
	"log/slog"
	"sync"
	"time"

	"github.com/ringuid/ringuid/internal/safelog"
)

// A tagsLog writes the log records of a Tags, which may have thousands of tags: one when a source fails and one when
// it works again, and at most one record per second of failures that concern only some tags, with their number. The
// methods are safe for concurrent use, and do not block.
type tagsLog struct {
	queue *safelog.Queue
	work  *background

	mu      sync.Mutex
	failed  tagRecord
	worked  tagRecord
	last    time.Time // when a record of tags was last written
	writing bool      // whether a goroutine writes the records
}

// tagRecord is a record that waits to be written.
type tagRecord struct {
	count       int    // how many tags it is about
	tag, source string // the last one
	err         error
}

// tagsLogInterval is the shortest time between two records of failures of tags.
const tagsLogInterval = time.Second

func newTagsLog(logger *slog.Logger, work *background) *tagsLog {
	return &tagsLog{queue: safelog.NewQueue(logger), work: work}
}

// sourceFailed writes a record of a source that has failed in a call for a tag.
func (l *tagsLog) sourceFailed(source, tag string, err error) {
	l.queue.Log(slog.LevelWarn, "segment: the source has failed, and is tried again", "source", source, "tag", tag, "err", err)
}

// sourceWorks writes a record of the end of a series of failures.
func (l *tagsLog) sourceWorks(source string, failures int, lasted time.Duration) {
	l.queue.Log(slog.LevelInfo, "segment: the source works again", "source", source, "failures", failures, "after", lasted)
}

// tagFailed adds a tag that has begun to fail.
func (l *tagsLog) tagFailed(tag, source string, err error) { l.add(&l.failed, tag, source, err) }

// tagWorks adds a tag that works again.
func (l *tagsLog) tagWorks(tag, source string) { l.add(&l.worked, tag, source, nil) }

// add adds a tag to a record, and has it written as soon as allowed.
func (l *tagsLog) add(r *tagRecord, tag, source string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*r = tagRecord{r.count + 1, tag, source, err}
	if !l.writing {
		l.writing = l.work.run(l.writeLater)
	}
}

// writeLater writes the records that wait, one per interval, until there are none or Close is called.
func (l *tagsLog) writeLater() {
	for {
		l.mu.Lock()
		pause := tagsLogInterval - time.Since(l.last)
		if pause <= 0 {
			if !l.write() {
				l.writing = false
				l.mu.Unlock()
				return
			}
			pause = tagsLogInterval
		}
		l.mu.Unlock()
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-l.work.ctx.Done():
			timer.Stop()
			l.mu.Lock()
			l.writing = false
			l.mu.Unlock()
			return
		}
	}
}

// write writes one of the records that wait, and returns false if there is none. The caller must hold the lock.
func (l *tagsLog) write() bool {
	switch {
	case l.failed.count > 0:
		r := l.failed
		l.failed = tagRecord{}
		l.queue.Log(slog.LevelWarn, "segment: tags have failed, and are tried again", "tags", r.count, "tag", r.tag, "source", r.source, "err", r.err)
	case l.worked.count > 0:
		r := l.worked
		l.worked = tagRecord{}
		l.queue.Log(slog.LevelInfo, "segment: tags work again", "tags", r.count, "tag", r.tag, "source", r.source)
	default:
		return false
	}
	l.last = time.Now()
	return true
}

// close writes what still waits. The handler has logTimeout for it.
func (l *tagsLog) close() {
	l.mu.Lock()
	for l.write() {
	}
	l.mu.Unlock()
	l.queue.Flush(logTimeout)
}
