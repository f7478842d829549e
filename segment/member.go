package segment

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// member is one source, with what was received from it.
type member struct {
	source  Source
	name    string
	end     atomic.Int64 // the end of what was received
	failed  int          // failures since the last success
	retryAt time.Time    // before that, other members are asked first; the zero time if the last try has succeeded
	err     error        // of the last try

	failing atomic.Pointer[SourceState] // set if the last try has failed
	log     seriesLog
}

// SourceState is one source of a Sequence: a stripe of a Group, or the only one.
type SourceState struct {
	Source       string    // its description
	End          int64     // the number after the greatest one that was received from it
	FailingSince time.Time // when the present series of failures began; the zero time if the last try succeeded
	LastError    error     // the error of the last try; nil if it succeeded
}

// Sources returns the state of each source, in their order in the Group. A stripe that fails while others serve is
// not an error of the Sequence: it is only seen here and in the log.
func (s *Sequence) Sources() []SourceState {
	if s == nil || s.provider == nil {
		return nil
	}
	states := make([]SourceState, len(s.provider.sources))
	for i, m := range s.provider.sources {
		if f := m.failing.Load(); f != nil {
			states[i] = *f
		}
		states[i].Source, states[i].End = m.name, m.end.Load()
	}
	return states
}

// The pauses before a stripe that has failed is asked again, if others work. A pause is also at least slowTryPause
// times as long as the try took, so that a server that hangs takes only a small part of the time.
const (
	minMemberPause = 100 * time.Millisecond
	maxMemberPause = 5 * time.Second
	slowTryPause   = 10
)

// fail records that a try, which has begun at the given time, has failed.
func (m *member) fail(err error, begin time.Time) {
	now := time.Now()
	m.err = err
	m.retryAt = now.Add(max(min(minMemberPause<<min(m.failed, 10), maxMemberPause), slowTryPause*now.Sub(begin)))
	m.failed++
	state := &SourceState{FailingSince: now, LastError: err}
	if previous := m.failing.Load(); previous != nil {
		state.FailingSince = previous.FailingSince
	}
	m.failing.Store(state)
}

// succeed records that a try has succeeded.
func (m *member) succeed() {
	m.failed, m.err, m.retryAt = 0, nil, time.Time{}
	if m.failing.Load() != nil {
		m.failing.Store(nil)
	}
}

// seriesLog decides which series of failures are logged, and their ends.
type seriesLog struct {
	told   bool      // the present series was logged
	logged time.Time // when a series was last logged
}

// seriesLogInterval is the shortest time between two series of failures that are logged.
const seriesLogInterval = time.Minute

// fails reports whether to log a failure.
func (l *seriesLog) fails() bool {
	if l.told || !l.logged.IsZero() && time.Since(l.logged) < seriesLogInterval {
		return false
	}
	l.told, l.logged = true, time.Now()
	return true
}

// works reports whether to log a success.
func (l *seriesLog) works() bool {
	told := l.told
	l.told = false
	return told
}

// logMembers logs which stripes have failed or work again, when a stripe has returned a range. If none does, the ring
// logs it.
func (p *provider) logMembers() {
	if len(p.sources) == 1 || p.queue != nil {
		return
	}
	for _, m := range p.sources {
		switch failing := m.failing.Load(); {
		case failing == nil && m.log.works():
			p.log.Log(slog.LevelInfo, "segment: the stripe works again", "source", m.name)
		case failing != nil && m.log.fails():
			p.log.Log(slog.LevelWarn, "segment: a stripe has failed, and is tried again", "source", m.name, "err", failing.LastError)
		}
	}
}

// membersOf returns the sources of a Sequence: the members of a Group, or src itself.
func membersOf(src Source) ([]*member, error) {
	if src == nil {
		return nil, fmt.Errorf("%w: the source is nil; must not be nil", ErrOption)
	}
	sources := []Source{src}
	if g, ok := src.(*Group); ok { // not a type that embeds a Group, and may have a Take of its own
		var err error
		if sources, err = g.members(); err != nil {
			return nil, err
		}
	}
	members := make([]*member, len(sources))
	for i, s := range sources {
		members[i] = &member{source: s, name: s.String()}
	}
	return members, nil
}

// Sources returns the state of each source, in their order in the Group, as the requests of all tags have found it: a
// source fails from the first request that it does not answer to the next one that it answers. End is 0, because each
// tag has its own. A tag that all sources refuse, for example with ErrNoTag, is seen in Health if it is in memory. That one
// source refuses a tag while others serve is only in the log.
func (t *Tags) Sources() []SourceState {
	if t == nil || t.work == nil {
		return nil
	}
	return t.queue.states()
}

// Sources returns the state of each source, in their order in the Group, for the day that is in use. End is a number
// of that day, without its date. When the numbers of the day are used up, End is greater than each of them. When the
// next day begins and cannot be opened, the sources have the errors of that.
func (d *Daily) Sources() []SourceState {
	if d == nil || d.work == nil {
		return nil
	}
	current := d.current.Load()
	states := current.seq.Sources()
	since, err := d.failing(current)
	if err == nil {
		return states
	}
	errs := []error{err}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		errs = several.Unwrap() // of each source: see provider.lastErrors
	}
	for i := range states {
		if states[i].LastError == nil && i < len(errs) {
			states[i].FailingSince, states[i].LastError = since, errs[i]
		}
	}
	return states
}
