package segment

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A takeQueue limits the requests that the sequences of a Tags send to their sources. Each source has a number of
// places, one for each call at a time. A place whose call has failed stays occupied for a pause, which grows to a
// second and more. So a source that is down gets only a few requests, however many tags need one. When the source
// answers, its pauses end at once, and so the requests that wait are sent as fast as the places allow.
//
// Requests of a takeClass that can be sent to the same sources wait in one list, the oldest first. So requests that
// only a source that is down can serve do not delay others. The methods are safe for concurrent use.
type takeQueue struct {
	limit   int           // places of each source
	timeout time.Duration // a call that takes longer than this loses its place
	log     *tagsLog

	mu           sync.Mutex // for the fields below; no code of the user runs while it is held
	sources      []*queueSource
	waiting      [takeClasses]map[string]*list.List // of *queuedTake, by their kind; no list is empty
	requests     uint64
	granted      uint64
	nextHopeless time.Time // no request of the class hopelessTake is sent before
	timer        *time.Timer
	closed       bool
}

// queueSource is a source of a takeQueue, as the requests of all tags have found it.
type queueSource struct {
	name     string
	running  int         // calls that have a place
	pauses   []takePause // places of calls that have failed
	failures int         // since the last answer
	since    time.Time   // when the first of them failed
	err      error       // of the last one

	told   bool // the present series of failures was logged
	logged time.Time
}

// takePause is the pause of a place.
type takePause struct {
	end  time.Time // if no other source works
	late time.Time // if another one does: a server that hangs takes only a small part of the time
}

// takeClass is what decides which request is sent next: the first of the least class, and for every fourthTake the
// one that has waited longest, so that none waits forever.
type takeClass int

const (
	awaitedTake  takeClass = iota // a call waits for the tag
	earlyTake                     // the tag has numbers in memory, or nobody waits for it
	refusedTake                   // the source has refused the tag lately, and a call asks for it again
	hopelessTake                  // the source has refused another range of the tag, and it is asked again by itself
	takeClasses
)

const (
	fourthTake = 4

	// hopelessInterval is the shortest time between two requests of the class hopelessTake.
	hopelessInterval = 5 * time.Millisecond

	// overdueTake is how long after its timeout a call that has not returned loses its place, so that a source that
	// ignores its context does not block all tags.
	overdueTake = time.Second

	// maxTryTimeout limits the timeout of a call here, so that no sum overflows.
	maxTryTimeout = 1000 * time.Hour

	minPlacePause = 10 * time.Millisecond
	maxPlacePause = time.Second
)

// errOverdue is the error of a call that does not return.
var errOverdue = errors.New("the source has not returned, although its context has ended")

// demand is how many calls wait for a tag, and whether its request waits in a queue. A nil demand ignores all calls.
type demand struct {
	calls  atomic.Int64
	queued atomic.Pointer[queuedTake] // the last request, until it is answered
}

// takePlace is the place of a call.
type takePlace struct {
	source  int
	tag     string
	take    *queuedTake
	begin   time.Time
	overdue *time.Timer
	free    bool // whether it was given back, or taken from a call that was overdue; under takeQueue.mu
}

func newTakeQueue(names []string, limit int, timeout time.Duration, log *tagsLog) *takeQueue {
	q := &takeQueue{limit: limit, timeout: timeout, log: log}
	for _, name := range names {
		q.sources = append(q.sources, &queueSource{name: name})
	}
	return q
}

// acquire waits until a request may be sent to one of the candidates, in their order, and returns its place. The
// class is earlyTake, even if a call waits, refusedTake or hopelessTake. The caller must release the place. If ctx
// ends before, acquire returns its cause.
func (q *takeQueue) acquire(ctx context.Context, tag string, d *demand, candidates []candidate, class takeClass) (*takePlace, error) {
	w := &queuedTake{queue: q, demand: d, candidates: candidates, kind: q.kindOf(candidates), tag: tag, since: time.Now(), sent: make(chan struct{})}
	d.queued.Store(w)
	q.mu.Lock()
	if class == earlyTake && d.calls.Load() > 0 { // after queued was set: see demand.enter
		class = awaitedTake
	}
	q.requests++
	w.number = q.requests
	q.push(w, class)
	q.dispatch()
	place := w.place
	q.mu.Unlock()
	if place != nil {
		return place, nil
	}
	select {
	case <-w.sent:
		return w.place, nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.place != nil {
		q.free(w.place)
		q.dispatch()
	} else {
		q.remove(w)
	}
	return nil, context.Cause(ctx)
}

// free frees a place. It returns false if it is free already. The caller must hold the lock.
func (q *takeQueue) free(p *takePlace) bool {
	if p.free {
		return false
	}
	p.free = true
	p.overdue.Stop()
	q.sources[p.source].running--
	return true
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
	var source *sourceError
	switch {
	case err == nil:
		return callAnswered
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), errNotInTime):
		return callUnknown
	case errors.As(err, &source) && source.invalid:
		return callUnknown // the source may not have been asked
	case hopelessTry(err):
		return callAnswered
	}
	return callFailed
}

// release gives back a place after a call.
func (q *takeQueue) release(p *takePlace, outcome callOutcome, err error) {
	q.mu.Lock()
	had := q.free(p)
	s := q.sources[p.source]
	var record func()
	switch outcome {
	case callAnswered:
		p.take.demand.queued.CompareAndSwap(p.take, nil)
		record = q.answered(s)
	case callFailed:
		record = q.failed(p, had, err)
	}
	q.dispatch()
	q.mu.Unlock()
	if record != nil {
		record()
	}
}

// takeOverdue takes the place from a call that does not return.
func (q *takeQueue) takeOverdue(p *takePlace) {
	q.mu.Lock()
	var record func()
	if q.free(p) {
		record = q.failed(p, true, errOverdue)
		q.dispatch()
	}
	q.mu.Unlock()
	if record != nil {
		record()
	}
}

// answered ends a series of failures. It returns a function that writes a log record, or nil. The caller must hold
// the lock.
func (q *takeQueue) answered(s *queueSource) (record func()) {
	if s.failures == 0 {
		return nil
	}
	if s.told {
		name, failures, lasted := s.name, s.failures, time.Since(s.since)
		record = func() { q.log.sourceWorks(name, failures, lasted) }
	}
	s.pauses, s.failures, s.since, s.err, s.told = nil, 0, time.Time{}, nil, false
	return record
}

// failed records a failure, and lets the place of the call, if it had one, pause. It returns a function that writes a
// log record, or nil. The caller must hold the lock.
func (q *takeQueue) failed(p *takePlace, hadPlace bool, err error) (record func()) {
	s, now := q.sources[p.source], time.Now()
	if s.failures == 0 {
		s.since = now
	}
	if hadPlace {
		pause := withJitter(min(minPlacePause<<min(s.failures/q.limit, 10), maxPlacePause))
		late := pause
		if len(q.sources) > 1 {
			late = max(pause, slowTryPause*now.Sub(p.begin))
		}
		s.pauses = append(s.pauses, takePause{now.Add(pause), now.Add(late)})
	}
	s.failures++
	s.err = err
	if !s.told && (s.logged.IsZero() || now.Sub(s.logged) >= memberLogInterval) {
		s.told, s.logged = true, now
		name := s.name
		record = func() { q.log.sourceFailed(name, p.tag, err) }
	}
	return record
}

// close ends the timer. Requests that wait end with their contexts.
func (q *takeQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	if q.timer != nil {
		q.timer.Stop()
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

// enter is called by a call that begins to wait for the tag.
func (d *demand) enter() {
	if d == nil {
		return
	}
	d.calls.Add(1)
	// acquire stores queued before it reads calls, with the lock. So either it finds this call, or this call finds
	// the request.
	if w := d.queued.Load(); w != nil {
		w.queue.mu.Lock()
		defer w.queue.mu.Unlock()
		if w.element != nil && w.class == earlyTake {
			w.queue.move(w, awaitedTake)
		}
	}
}

// leave is called when the call no longer waits.
func (d *demand) leave() {
	if d != nil {
		d.calls.Add(-1)
	}
}

// outage returns the failures of the first source that the tag's last request was for, if it was not answered and all
// of them fail.
func (d *demand) outage(tag string) (since time.Time, failures int, err error) {
	if d == nil {
		return since, 0, nil
	}
	w := d.queued.Load()
	if w == nil {
		return since, 0, nil
	}
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	if !w.allFail() {
		return since, 0, nil
	}
	s := w.queue.sources[w.candidates[0].source]
	return s.since, s.failures, &turnError{tag, s.err}
}

// turnError is the error of a tag whose request was not answered yet, because the source has failed for other tags.
type turnError struct {
	tag string
	err error // of the last try of another tag
}

// Error implements error.
func (e *turnError) Error() string {
	return fmt.Sprintf("segment: tag %q waits, because the source fails: %v", e.tag, e.err)
}

// Unwrap returns the error of the other tag.
func (e *turnError) Unwrap() error { return e.err }
