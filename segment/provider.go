package segment

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/ringbuffer"
)

// provider requests ranges from the sources of a Sequence. The ring calls NextRun in one goroutine at a time.
type provider struct {
	tag     string
	sources []*member // one, or the stripes of a Group
	cfg     *config
	taken   func() uint64 // how many numbers were taken of the ring so far
	turn    int           // the member to begin with
	limit   int64         // all numbers are less than this; 0: no limit

	step        int64     // the tag's own step
	last        int64     // the size of the last range
	lastArrived time.Time // when it arrived
	lastTaken   uint64    // p.taken at that time

	mu    sync.Mutex // for the fields below; no code of the user runs while it is held
	state sourceState
	enc   encoding // of the numbers in the ring; set with the first range
}

// sourceState is what Stats and errors tell of the source.
type sourceState struct {
	Ranges       uint64 // how many arrived
	FailedTries  uint64
	Step, Last   int64
	AtLeast      int64 // the end of all that was received
	Rate         float64
	RateAt       time.Time
	FailingSince time.Time
	Tries        int
	LastError    error
}

// member is one source, with what was received from it.
type member struct {
	source  Source
	name    string
	end     atomic.Int64 // the end of what was received
	failed  int          // failures since the last success
	retryAt time.Time
	err     error // of the last try
}

// sourceError is an error of the source with its context.
type sourceError struct {
	tag    string
	source string
	err    error
}

// Error implements error.
func (e *sourceError) Error() string {
	return fmt.Sprintf("segment: tag %q: %s: %v", e.tag, e.source, e.err)
}

// Unwrap returns the source's error, without the errors that only a Sequence may report.
func (e *sourceError) Unwrap() error { return mask(e.err) }

// NextRun implements ringbuffer.Provider.
func (p *provider) NextRun(ctx context.Context) (ringbuffer.Run, error) {
	size, err := p.size()
	if err != nil {
		p.failed(err)
		return ringbuffer.Run{}, err
	}
	r, err := p.take(ctx, size)
	if err != nil {
		if ctx.Err() == nil {
			p.failed(err)
		}
		return ringbuffer.Run{}, err
	}
	return p.arrived(r)
}

// size returns the size of the next range, 0 for the tag's own step.
func (p *provider) size() (size int64, err error) {
	if p.taken() == 0 {
		return 0, nil // New fills the ring
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: the step policy panicked: %v\n%s", ErrOption, v, debug.Stack())
		}
	}()
	state := StepState{Step: p.step, Last: p.last, Elapsed: time.Since(p.lastArrived), Taken: p.taken() - p.lastTaken, Capacity: p.cfg.capacity}
	return min(max(p.cfg.policy.Size(state), 1), max(p.cfg.maxStep, p.step)), nil
}

// The pauses before a stripe that has failed is asked again, if others work. A pause is also at least slowTryPause times as
// long as the try took, so that a server that hangs takes only a small part of the time.
const (
	minMemberPause = 100 * time.Millisecond
	maxMemberPause = 5 * time.Second
	slowTryPause   = 10
)

// take asks the members in turn until one returns a range: first those that have not failed lately, then the others.
func (p *provider) take(ctx context.Context, size int64) (Range, error) {
	first := p.turn
	p.turn = (p.turn + 1) % len(p.sources)
	now := time.Now()
	tried := make([]bool, len(p.sources))
	for _, resting := range []bool{false, true} {
		for i := range p.sources {
			n := (first + i) % len(p.sources)
			m := p.sources[n]
			if tried[n] || !resting && m.failed > 0 && now.Before(m.retryAt) {
				continue
			}
			tried[n] = true
			begin := time.Now()
			r, err := p.ask(ctx, m, size)
			if err == nil {
				m.failed, m.err = 0, nil
				return r, nil
			}
			if ctx.Err() != nil {
				return Range{}, err
			}
			m.err = err
			end := time.Now()
			m.retryAt = end.Add(max(min(minMemberPause<<min(m.failed, 10), maxMemberPause), slowTryPause*end.Sub(begin)))
			m.failed++
		}
	}
	errs := make([]error, len(p.sources))
	for i, m := range p.sources {
		errs[i] = m.err
	}
	if len(errs) == 1 {
		return Range{}, errs[0]
	}
	return Range{}, errors.Join(errs...)
}

// ask calls a source, and checks what it returns.
func (p *provider) ask(ctx context.Context, m *member, size int64) (r Range, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the source panicked: %v\n%s", v, debug.Stack())
		}
		if err != nil {
			err = &sourceError{p.tag, m.name, err}
		}
	}()
	if p.limit > 0 && m.end.Load() >= p.limit { // further ranges would be useless too
		return Range{}, fmt.Errorf("%w: the numbers must be less than %d", ErrExhausted, p.limit)
	}
	tryCtx, cancel := context.WithTimeout(ctx, p.cfg.tryTimeout)
	defer cancel()
	if r, err = m.source.Take(tryCtx, Request{Tag: p.tag, Size: size, AtLeast: m.end.Load()}); err != nil {
		return Range{}, err
	}
	if r.Stride == 0 {
		r.Stride = 1
	}
	if r, err = p.check(r, m.end.Load(), size); err != nil {
		if errors.Is(err, ErrExhausted) {
			m.end.Store(r.First) // beyond the limit
		}
		return Range{}, err
	}
	m.end.Store(r.end())
	return r, nil
}

// check returns a range without the number 0, or an error that wraps ErrSource if the range is wrong.
func (p *provider) check(r Range, atLeast, size int64) (Range, error) {
	switch {
	case r.First < 0 || r.Length < 1 || r.Stride < 1 || r.Step < 0 || r.Length-1 > (MaxNumber-r.First)/r.Stride:
		return r, fmt.Errorf("%w: it returned a range of %d numbers from %d with stride %d and step %d", ErrSource, r.Length, r.First, r.Stride, r.Step)
	case r.First < atLeast:
		return r, fmt.Errorf("%w: it returned a range from %d, although numbers below %d were received before", ErrSource, r.First, atLeast)
	case size > 0 && r.Length > size:
		return r, fmt.Errorf("%w: it returned a range of %d numbers, although %d were requested", ErrSource, r.Length, size)
	}
	if p.enc.stride != 0 && r.Stride != p.enc.stride {
		return r, fmt.Errorf("%w: it returned a range with stride %d, and with stride %d before", ErrSource, r.Stride, p.enc.stride)
	}
	if p.limit > 0 && r.end() > p.limit {
		if r.First >= p.limit {
			return r, fmt.Errorf("%w: the numbers must be less than %d", ErrExhausted, p.limit)
		}
		r.Length = (p.limit-1-r.First)/r.Stride + 1
	}
	if r.First == 0 {
		if r.Length == 1 {
			return r, fmt.Errorf("%w: it returned only the number 0, which is not handed out", errOnlyZero)
		}
		r.First, r.Length = r.First+r.Stride, r.Length-1
	}
	return r, nil
}

// errOnlyZero is the error of a range that has only the number 0. The next try returns another range.
var errOnlyZero = errors.New("segment: an empty range")

// end returns the number after the last one, at most math.MaxInt64.
func (r Range) end() int64 { return r.First + (r.Length-1)*r.Stride + 1 }

// arrived records a range and returns its run.
func (p *provider) arrived(r Range) (ringbuffer.Run, error) {
	if p.enc.stride == 0 {
		p.mu.Lock()
		p.enc = newEncoding(r.Stride)
		p.mu.Unlock()
	}
	run, err := p.enc.run(r)
	if err != nil {
		err = &sourceError{p.tag, "the source", err}
		p.failed(err)
		return run, err
	}
	now, taken := time.Now(), p.taken()
	state := StepState{Elapsed: now.Sub(p.lastArrived), Taken: taken - p.lastTaken}
	if r.Step > 0 {
		p.step = r.Step
	} else if p.step == 0 {
		p.step = r.Length // the source keeps no step
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.lastArrived.IsZero() {
		p.state.Rate, p.state.RateAt = state.rate(), now
	}
	p.last, p.lastArrived, p.lastTaken = r.Length, now, taken
	p.state.Ranges++
	p.state.Step, p.state.Last = p.step, p.last
	p.state.AtLeast = max(p.state.AtLeast, r.end())
	p.state.FailingSince, p.state.Tries, p.state.LastError = time.Time{}, 0, nil
	return run, nil
}

// failed records that a try has failed.
func (p *provider) failed(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state.FailingSince.IsZero() {
		p.state.FailingSince = time.Now()
	}
	p.state.Tries++
	p.state.FailedTries++
	p.state.LastError = err
}

// encoding returns the encoding of the numbers in the ring.
func (p *provider) encoding() encoding {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.enc
}

// description returns the descriptions of the sources.
func (p *provider) description() string {
	names := make([]string, len(p.sources))
	for i, m := range p.sources {
		names[i] = m.name
	}
	return strings.Join(names, ", ")
}

// snapshot returns the state.
func (p *provider) snapshot() sourceState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}
