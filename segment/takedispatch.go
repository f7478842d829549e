package segment

import (
	"math/rand/v2"
	"time"
)

// dispatch sends the requests for which there is a place. The caller must hold the lock.
func (q *takeQueue) dispatch() {
	if q.closed {
		return
	}
	now := time.Now()
	for {
		w, source := q.next(now)
		if w == nil {
			break
		}
		q.remove(w)
		q.granted++
		if w.class == hopelessTake {
			q.nextHopeless = now.Add(hopelessInterval)
		}
		q.sources[source].running++
		p := &takePlace{source: source, tag: w.tag, take: w, begin: now}
		p.overdue = time.AfterFunc(min(q.timeout, maxTryTimeout)+overdueTake, func() { q.takeOverdue(p) })
		w.place = p
		close(w.sent)
	}
	q.setTimer(now)
}

// next returns the request that is sent next, and to which source, or nil.
func (q *takeQueue) next(now time.Time) (next *queuedTake, to int) {
	if !q.anyFree(now) {
		return nil, 0
	}
	oldest := q.granted%fourthTake == fourthTake-1
	for class := range takeClasses {
		w, source := q.nextOf(class, now, oldest)
		switch {
		case w == nil:
		case !oldest:
			return w, source
		case next == nil || w.since.Before(next.since):
			next, to = w, source
		}
	}
	return next, to
}

// nextOf returns the oldest request of a class for which a source has a place, and that source, or nil. If oldest is
// not set, requests for which nobody waits any more are moved to another class. With it they are not, because a tag
// whose calls come and go would then never be the one that has waited longest.
func (q *takeQueue) nextOf(class takeClass, now time.Time, oldest bool) (next *queuedTake, to int) {
	if class == hopelessTake && now.Before(q.nextHopeless) {
		return nil, 0
	}
	for _, l := range q.waiting[class] {
		for e := l.Front(); e != nil; {
			w := e.Value.(*queuedTake)
			e = e.Next()
			if class == awaitedTake && !oldest && w.demand.calls.Load() == 0 {
				q.move(w, earlyTake) // nobody waits any more
				continue
			}
			source, ok := q.sourceFor(w, now)
			if ok && (next == nil || w.since.Before(next.since) || w.since.Equal(next.since) && w.number < next.number) {
				next, to = w, source
			}
			break // the others of this kind can be sent to the same sources
		}
	}
	return next, to
}

// sourceFor returns the source that a request is sent to: the first candidate with a free place. One that the tag's
// last request to it has failed is only used if all others fail.
func (q *takeQueue) sourceFor(w *queuedTake, now time.Time) (source int, ok bool) {
	allFail := w.allFail()
	works := false
	for _, c := range w.candidates {
		if !c.resting {
			s := q.sources[c.source]
			if q.places(s, now, allFail) > 0 {
				return c.source, true
			}
			works = works || s.failures == 0
		}
	}
	if works {
		return 0, false
	}
	for _, c := range w.candidates {
		if c.resting && q.places(q.sources[c.source], now, allFail) > 0 {
			return c.source, true
		}
	}
	return 0, false
}

// allFail reports whether all sources that a request can be sent to fail. The caller must hold the lock.
func (w *queuedTake) allFail() bool {
	for _, c := range w.candidates {
		if w.queue.sources[c.source].failures == 0 {
			return false
		}
	}
	return true
}

// places returns how many places of a source are free.
func (q *takeQueue) places(s *queueSource, now time.Time, allFail bool) int {
	n := q.limit - s.running
	for _, p := range s.pauses {
		if now.Before(p.when(allFail)) {
			n--
		}
	}
	return n
}

// when returns when the pause ends.
func (p takePause) when(allFail bool) time.Time {
	if allFail {
		return p.end
	}
	return p.late
}

// anyFree reports whether a source may have a free place, and forgets pauses that have ended.
func (q *takeQueue) anyFree(now time.Time) bool {
	free := false
	for _, s := range q.sources {
		kept := s.pauses[:0]
		for _, p := range s.pauses {
			if now.Before(p.late) {
				kept = append(kept, p)
			}
		}
		s.pauses = kept
		free = free || q.places(s, now, true) > 0
	}
	return free
}

// setTimer lets dispatch run when a pause ends, if requests wait.
func (q *takeQueue) setTimer(now time.Time) {
	var at time.Time
	earlier := func(t time.Time) {
		if t.After(now) && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	if len(q.waiting[hopelessTake]) > 0 {
		earlier(q.nextHopeless)
	}
	waiting := 0
	for class := range q.waiting {
		waiting += len(q.waiting[class])
	}
	if waiting > 0 {
		for _, s := range q.sources {
			for _, p := range s.pauses {
				earlier(p.end)
				earlier(p.late)
			}
		}
	}
	switch {
	case at.IsZero():
		if q.timer != nil {
			q.timer.Stop()
		}
	case q.timer == nil:
		q.timer = time.AfterFunc(at.Sub(now), q.wake)
	default:
		q.timer.Reset(at.Sub(now))
	}
}

// wake is called by the timer.
func (q *takeQueue) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dispatch()
}

// withJitter returns d to 1.5 d, so that requests that have failed at the same time are not tried again at the same
// time.
func withJitter(d time.Duration) time.Duration { return d + rand.N(d/2+1) }
