package segment

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// A takeQueue limits the requests that the sequences of a Tags send to their sources. For each source it is a
// semaphore and a breaker:
//
//   - A source has a number of places, one for each call at a time.
//   - The place of a call that has failed stays taken for a pause, which grows to a second and more. The first answer
//     ends all pauses. So a source that is down gets only a few requests, however many tags need one, and when it is
//     back, those that wait are sent as fast as the places allow.
//   - While a source fails and another one works, it has one place. So one that hangs delays one tag at a time.
//
// A request waits until one of its sources has a place. Those of tags for which a call waits are sent first, but every
// fourthTake is the oldest of all, so that none waits forever. The methods are safe for concurrent use.
type takeQueue struct {
	limit   int           // places of each source
	timeout time.Duration // a call that takes longer than this loses its place
	log     *tagsLog
	refused chan struct{} // has an element while no request that waits in pace may be sent

	mu      sync.Mutex // for all that follows, here and in sources and demands; no code of the user runs while it is held
	sources []*takeSource
	waiting list.List // of *demand: all whose requests wait, the oldest first
	awaited list.List // those of them for which a call waits
	sent    int       // requests
	closed  bool
}

// takeSource is a source of a takeQueue, as the requests of all tags have found it.
type takeSource struct {
	name     string
	places   map[*takePlace]bool // those that are taken; true: the call has failed, and the place pauses
	failures int                 // since the last answer
	wanted   int                 // requests that wait and can be sent to it
	since    time.Time           // when the first of them failed
	err      error               // of the last one
	log      seriesLog
}

// takePlace is the place of a call.
type takePlace struct {
	source int
	tag    string
	timer  *time.Timer // for the time of the call, and then for the pause
}

// demand is how many calls wait for a tag of a Tags, and the tag's request, of which there is one at a time. That of
// a tag without a queue, and a nil demand, ignore all calls.
type demand struct {
	queue            *takeQueue
	tag              string
	calls            int
	sources          []int         // that the request can be sent to, the best first; nil: there is none
	waiting, awaited *list.Element // nil: it is not in the list
	place            *takePlace    // set when the request is sent
	sent             chan struct{} // closed then
}

const (
	fourthTake      = 4
	refusedInterval = 5 * time.Millisecond // between two requests that wait in pace

	// overdueTake is how long after its timeout a call that has not returned loses its place, so that a source that
	// ignores its context does not block all tags. maxTryTimeout limits the timeout, so that the sum does not
	// overflow.
	overdueTake   = time.Second
	maxTryTimeout = 1000 * time.Hour

	minPlacePause = 10 * time.Millisecond
	maxPlacePause = time.Second
)

// errOverdue is the error of a call that does not return.
var errOverdue = errors.New("the source has not returned, although its context has ended")

func newTakeQueue(names []string, limit int, timeout time.Duration, log *tagsLog) *takeQueue {
	q := &takeQueue{limit: limit, timeout: min(timeout, maxTryTimeout), log: log, refused: make(chan struct{}, 1)}
	for _, name := range names {
		q.sources = append(q.sources, &takeSource{name: name, places: map[*takePlace]bool{}})
	}
	return q
}

// pace waits before a request for a tag that the source has refused, and that is asked for again by itself, so that
// all of these are one per refusedInterval at most. It returns false if ctx ends before.
func (q *takeQueue) pace(ctx context.Context) bool {
	select {
	case q.refused <- struct{}{}:
		time.AfterFunc(refusedInterval, func() { <-q.refused })
		return true
	case <-ctx.Done():
		return false
	}
}

// acquire waits until the request of a tag may be sent to one of the sources, which must not be changed later, and
// returns its place, which the caller must release. If ctx ends before, it returns nil. Then the caller ends the
// request, or acquires a place for another try.
func (q *takeQueue) acquire(ctx context.Context, d *demand, sources []int) *takePlace {
	q.mu.Lock()
	sent := make(chan struct{})
	d.sources, d.place, d.sent = sources, nil, sent
	d.waiting = q.waiting.PushBack(d)
	for _, source := range sources {
		q.sources[source].wanted++
	}
	d.setAwaited()
	q.dispatch()
	q.mu.Unlock()
	select {
	case <-sent:
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if ctx.Err() == nil {
		return d.place
	}
	q.remove(d)
	if d.place != nil { // since the same moment
		q.free(d.place)
		q.dispatch()
	}
	return nil
}

// end ends the request, whether or not it was sent.
func (d *demand) end() {
	d.queue.mu.Lock()
	defer d.queue.mu.Unlock()
	d.sources, d.place, d.sent = nil, nil, nil
}

// add adds 1 when a call begins to wait for the tag, and -1 when it no longer waits.
func (d *demand) add(calls int) {
	if d == nil || d.queue == nil {
		return
	}
	d.queue.mu.Lock()
	defer d.queue.mu.Unlock()
	d.calls += calls
	d.setAwaited()
}

// waits reports whether a call waits for the tag.
func (d *demand) waits() bool {
	if d == nil || d.queue == nil {
		return false
	}
	d.queue.mu.Lock()
	defer d.queue.mu.Unlock()
	return d.calls > 0
}

// setAwaited lets a request be in awaited if a call waits for it. The caller must hold the lock.
func (d *demand) setAwaited() {
	awaited := d.waiting != nil && d.calls > 0
	switch {
	case awaited && d.awaited == nil:
		d.awaited = d.queue.awaited.PushBack(d)
	case !awaited && d.awaited != nil:
		d.queue.awaited.Remove(d.awaited)
		d.awaited = nil
	}
}

// remove removes a request that waits. The caller must hold the lock.
func (q *takeQueue) remove(d *demand) {
	if d.waiting != nil {
		q.waiting.Remove(d.waiting)
		for _, source := range d.sources {
			q.sources[source].wanted--
		}
		d.waiting = nil
		d.setAwaited()
	}
}

// dispatch sends the requests for which there is a place. The caller must hold the lock.
func (q *takeQueue) dispatch() {
	for !q.closed && slices.ContainsFunc(q.sources, func(s *takeSource) bool { return s.wanted > 0 && q.hasPlace(s) }) {
		var d *demand
		var source int
		if q.sent%fourthTake != fourthTake-1 {
			d, source = q.first(&q.awaited)
		}
		if d == nil {
			d, source = q.first(&q.waiting)
		}
		if d == nil {
			return
		}
		q.remove(d)
		q.sent++
		p := &takePlace{source: source, tag: d.tag}
		p.timer = time.AfterFunc(q.timeout+overdueTake, func() { q.release(p, callFailed, errOverdue) })
		q.sources[source].places[p] = false
		d.place = p
		close(d.sent)
	}
}

// first returns the first request of a list that can be sent, and to which source, or nil. The caller must hold the
// lock.
func (q *takeQueue) first(l *list.List) (*demand, int) {
	for e := l.Front(); e != nil; e = e.Next() {
		d := e.Value.(*demand)
		for _, source := range d.sources {
			if q.hasPlace(q.sources[source]) {
				return d, source
			}
		}
	}
	return nil, 0
}

// hasPlace reports whether a source has a free place. The caller must hold the lock.
func (q *takeQueue) hasPlace(s *takeSource) bool {
	if s.failures > 0 && slices.ContainsFunc(q.sources, func(s *takeSource) bool { return s.failures == 0 }) {
		return len(s.places) == 0
	}
	return len(s.places) < q.limit
}

// callOutcome is what the result of a call says of its source.
type callOutcome int

const (
	callUnknown  callOutcome = iota // nothing, for example because the call was canceled
	callAnswered                    // the source works
	callFailed                      // the source does not work
)

// outcomeOf returns what an error of a call says of its source.
func outcomeOf(ctx context.Context, err error) callOutcome {
	switch {
	case err == nil:
		return callAnswered
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), errNotInTime):
		return callUnknown
	case errors.Is(err, ErrTag) || errors.Is(err, ErrOption):
		return callUnknown // the request was invalid, so the source may not have been asked
	case hopelessTry(err):
		return callAnswered
	}
	return callFailed
}

// release gives back a place: after a call, when the call is overdue, and when the pause is over.
func (q *takeQueue) release(p *takePlace, outcome callOutcome, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch pauses, taken := q.sources[p.source].places[p]; {
	case outcome == callUnknown:
		q.free(p)
	case outcome == callAnswered:
		q.free(p)
		q.answered(q.sources[p.source])
	case taken && !pauses: // otherwise the call was overdue, and has failed before
		q.failed(p, err)
	}
	q.dispatch()
}

// free frees a place, unless that was done before. The caller must hold the lock.
func (q *takeQueue) free(p *takePlace) {
	p.timer.Stop()
	delete(q.sources[p.source].places, p)
}

// answered ends a series of failures and all pauses. The caller must hold the lock.
func (q *takeQueue) answered(s *takeSource) {
	for p, pauses := range s.places {
		if pauses {
			q.free(p)
		}
	}
	if s.log.works() {
		q.log.sourceWorks(s.name, s.failures, time.Since(s.since))
	}
	s.failures, s.since, s.err = 0, time.Time{}, nil
}

// failed lets the place of a call that has failed pause. The caller must hold the lock.
func (q *takeQueue) failed(p *takePlace, err error) {
	if q.closed { // no timer begins any more
		q.free(p)
		return
	}
	s := q.sources[p.source]
	pause := withJitter(min(minPlacePause<<min(s.failures/q.limit, 10), maxPlacePause))
	p.timer.Stop()
	p.timer = time.AfterFunc(pause, func() { q.release(p, callUnknown, nil) })
	s.places[p] = true
	if s.failures == 0 {
		s.since = time.Now()
	}
	s.failures++
	s.err = err
	if s.log.fails() {
		q.log.sourceFailed(s.name, p.tag, err)
	}
}

// withJitter returns d to 1.5 d, so that requests that have failed at the same time are not tried again at the same
// time.
func withJitter(d time.Duration) time.Duration { return d + rand.N(d/2+1) }

// close ends the sending of requests, and the timers. Requests that wait end with their contexts.
func (q *takeQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, s := range q.sources {
		for p := range s.places {
			p.timer.Stop()
		}
	}
}

// states returns the state of each source.
func (q *takeQueue) states() []SourceState {
	q.mu.Lock()
	defer q.mu.Unlock()
	states := make([]SourceState, len(q.sources))
	for i, s := range q.sources {
		states[i] = SourceState{Source: s.name, FailingSince: s.since, LastError: s.err}
	}
	return states
}

// outage returns the failures of the first source of the tag's request, if there is one and all its sources fail: the
// source may have failed for other tags only.
func (d *demand) outage() (since time.Time, failures int, err error) {
	if d == nil || d.queue == nil {
		return since, 0, nil
	}
	works := func(source int) bool { return d.queue.sources[source].failures == 0 }
	d.queue.mu.Lock()
	defer d.queue.mu.Unlock()
	if d.sources == nil || slices.ContainsFunc(d.sources, works) {
		return since, 0, nil
	}
	s := d.queue.sources[d.sources[0]]
	return s.since, s.failures, &turnError{d.tag, s.err}
}

// turnError is the error of outage. Its text, which calls code of the user, is made when it is asked for.
type turnError struct {
	tag string
	err error
}

// Error implements error.
func (e *turnError) Error() string {
	return fmt.Sprintf("segment: tag %q waits, because the source fails: %v", e.tag, e.err)
}

// Unwrap returns the error of the source.
func (e *turnError) Unwrap() error { return e.err }
