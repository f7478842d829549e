package segment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ringuid/ringuid/internal/safelog"
	"github.com/ringuid/ringuid/ringbuffer"
)

// provider requests ranges from the sources of a Sequence. The ring calls NextRun in one goroutine at a time.
type provider struct {
	tag     string
	sources []*member // one, or the stripes of a Group
	cfg     *config
	ring    func() ringbuffer.Stats
	turn    int        // the member to begin with
	limit   int64      // all numbers are less than this; 0: no limit
	initial int64      // the size of the first ranges, and no range is longer than maxStep then; 0: the tag's own step
	create  *TagConfig // of a tag that a member does not have, if nothing was received from it; nil: it is not created
	queue   *takeQueue // for the requests of all tags of a Tags, which also writes the log; nil: this is the only tag
	demand  *demand    // nil without a queue

	step     int64 // the tag's own step
	last     int64 // the size of the last range
	measured measurement
	recent   recent

	log *safelog.Queue // nil with a queue

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
	FailingSince time.Time
	Tries        int
	LastError    error
	Hopeless     bool // waiting does not cure LastError
}

// NextRun implements ringbuffer.Provider.
func (p *provider) NextRun(ctx context.Context) (ringbuffer.Run, error) {
	r, run, err := p.take(ctx, p.size())
	if err == errNoTurn {
		if p.opened() {
			return ringbuffer.Run{}, &ringbuffer.NotYetError{}
		}
		return ringbuffer.Run{}, err // a Sequence without a range must not be made: it has no encoding
	}
	if err != nil {
		// A call that Close or the caller has canceled is no failure of the source. One that WithMaxWait has ended is.
		if ctx.Err() == nil || errors.Is(context.Cause(ctx), errNotInTime) {
			p.failed(err)
		}
		return ringbuffer.Run{}, err
	}
	p.arrived(r)
	return run, nil
}

// size returns the size of the next range, 0 for the tag's own step.
func (p *provider) size() int64 {
	stats := p.ring()
	p.measured.request(stats)
	if stats.Taken == 0 {
		return p.initial // New fills the ring
	}
	state := StepState{Step: p.step, Last: p.last, Elapsed: p.measured.elapsed, Taken: p.measured.taken, Recent: p.recent.count(stats.Taken), Capacity: p.cfg.capacity}
	greatest := p.cfg.maxStep
	if p.initial == 0 {
		greatest = max(greatest, p.step)
	}
	return min(max(p.cfg.policy.Size(state), 1), greatest)
}

// errNoTurn is the error of take if ctx has ended before the queue has let the request through.
var errNoTurn = errors.New("segment: the request has waited for its turn")

// take asks the members until one returns a range, each at most once.
func (p *provider) take(ctx context.Context, size int64) (Range, ringbuffer.Run, error) {
	order := p.order()
	if p.queue != nil {
		p.mu.Lock()
		refused := p.state.Hopeless
		p.mu.Unlock()
		if refused && !p.queue.pace(ctx) {
			return Range{}, ringbuffer.Run{}, errNoTurn
		}
		defer p.demand.end()
	}
	for len(order) > 0 {
		n, r, run, err := p.askOne(ctx, order, size)
		if err == nil || err == errNoTurn || ctx.Err() != nil {
			return r, run, err
		}
		order = slices.DeleteFunc(slices.Clone(order), func(other int) bool { return other == n }) // the queue may still read the former
	}
	return Range{}, ringbuffer.Run{}, p.lastErrors()
}

// order returns the members in the order in which they are asked: in turn, first those that have not failed lately, then the others.
func (p *provider) order() []int {
	now := time.Now()
	var order, resting []int
	for i := range p.sources {
		n := (p.turn + i) % len(p.sources)
		if now.Before(p.sources[n].retryAt) {
			resting = append(resting, n)
		} else {
			order = append(order, n)
		}
	}
	p.turn = (p.turn + 1) % len(p.sources)
	return append(order, resting...)
}

// askOne asks the first member of an order or, for a tag of a Tags, the one that the queue chooses of it. It returns which one. The
// place in the queue is given back also if the source panics.
func (p *provider) askOne(ctx context.Context, order []int, size int64) (n int, r Range, run ringbuffer.Run, err error) {
	if p.queue == nil {
		n = order[0]
		if r, run, err = p.ask(ctx, p.sources[n], size); err == nil {
			p.logMembers()
		}
		return n, r, run, err
	}
	place := p.queue.acquire(ctx, p.demand, order)
	if place == nil {
		return 0, r, run, errNoTurn
	}
	outcome := callUnknown
	defer func() { p.queue.release(place, outcome, err) }()
	m := p.sources[place.source]
	r, run, err = p.ask(ctx, m, size)
	outcome = outcomeOf(ctx, err)
	p.logTag(m, err)
	return place.source, r, run, err
}

// logTag reports to the log of a Tags that the tag begins to fail or works again, for reasons that concern only this
// tag. If its first range has not arrived, the caller gets the error.
func (p *provider) logTag(m *member, err error) {
	switch {
	case err == nil && m.log.works():
		p.queue.log.tagWorks(p.tag, m.name)
	case err != nil && hopelessTry(err) && p.opened() && m.log.fails():
		p.queue.log.tagFailed(p.tag, m.name, err)
	}
}

// lastErrors returns the errors of the last try of each member.
func (p *provider) lastErrors() error {
	if len(p.sources) == 1 {
		return p.sources[0].err
	}
	errs := make([]error, len(p.sources))
	for i, m := range p.sources {
		errs[i] = m.err
	}
	return errors.Join(errs...)
}

// ask calls a source, and checks what it returns.
func (p *provider) ask(ctx context.Context, m *member, size int64) (r Range, run ringbuffer.Run, err error) {
	begin := time.Now()
	tryCtx, cancel := context.WithTimeout(ctx, p.cfg.tryTimeout)
	defer cancel()
	if r, run, err = p.askUntilPositive(tryCtx, m, size); err == nil {
		m.succeed()
		return r, run, nil
	}
	err = &sourceError{p.tag, m.name, err}
	if ctx.Err() == nil {
		m.fail(err, begin)
	}
	return Range{}, ringbuffer.Run{}, err
}

// askUntilPositive calls the source of m until it returns a range with a number greater than 0: at most twice,
// because a second range that begins at 0 is an error.
func (p *provider) askUntilPositive(ctx context.Context, m *member, size int64) (Range, ringbuffer.Run, error) {
	for {
		if p.limit > 0 && m.end.Load() >= p.limit { // further ranges would be useless too
			return Range{}, ringbuffer.Run{}, fmt.Errorf("%w: the numbers must be less than %d", ErrExhausted, p.limit)
		}
		request := Request{Tag: p.tag, Size: size, AtLeast: m.end.Load()}
		r, err := m.source.Take(ctx, request)
		if p.create != nil && request.AtLeast == 0 && errors.Is(err, ErrNoTag) {
			r, err = createAndTake(ctx, m.source.(Creator), request, *p.create) // NewTags or NewDaily has checked it
		}
		if err != nil {
			return Range{}, ringbuffer.Run{}, err
		}
		if r.Stride == 0 {
			r.Stride = 1
		}
		if err := p.check(r, m.end.Load(), size); err != nil {
			return Range{}, ringbuffer.Run{}, err
		}
		m.end.Store(r.end())
		if p.limit > 0 {
			if r.First >= p.limit {
				return Range{}, ringbuffer.Run{}, fmt.Errorf("%w: the numbers must be less than %d", ErrExhausted, p.limit)
			}
			r.Length = min(r.Length, (p.limit-1-r.First)/r.Stride+1)
		}
		if r.First == 0 {
			if r.Length == 1 {
				continue
			}
			r.First, r.Length = r.Stride, r.Length-1
		}
		run, err := newEncoding(r.Stride).run(r)
		return r, run, err
	}
}

// check returns an error that wraps ErrSource if the range is wrong.
func (p *provider) check(r Range, atLeast, size int64) error {
	limit := cmp.Or(size, r.Step, MaxStep)
	switch {
	case r.First < 0 || r.First > MaxNumber || r.Length < 1 || r.Stride < 1 || r.Length-1 > (MaxNumber-r.First)/r.Stride:
		return fmt.Errorf("%w: it returned a range of %d numbers from %d with stride %d; must be at least 1 number with a stride of at least 1, from 0 to %d",
			ErrSource, r.Length, r.First, r.Stride, int64(MaxNumber))
	case r.Step < 0 || r.Step > MaxStep:
		return fmt.Errorf("%w: it returned a range with step %d; must be 0 (it keeps none) to %d", ErrSource, r.Step, int64(MaxStep))
	case r.First < atLeast:
		return fmt.Errorf("%w: it returned a range from %d, although numbers below %d were received before", ErrSource, r.First, atLeast)
	case r.Length > limit:
		return fmt.Errorf("%w: it returned a range of %d numbers, although %d were requested", ErrSource, r.Length, limit)
	case p.enc.stride != 0 && r.Stride != p.enc.stride:
		return fmt.Errorf("%w: it returned a range with stride %d, and with stride %d before", ErrSource, r.Stride, p.enc.stride)
	}
	return nil
}

// end returns the number after the last one, at most math.MaxInt64.
func (r Range) end() int64 { return r.First + (r.Length-1)*r.Stride + 1 }

// arrived records a range.
func (p *provider) arrived(r Range) {
	rate, known := p.measured.arrival(p.ring().Taken)
	if r.Step > 0 {
		p.step = r.Step
	} else if p.step == 0 {
		p.step = r.Length // the source keeps no step
	}
	p.last = r.Length
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.enc.stride == 0 {
		p.enc = newEncoding(r.Stride)
	}
	if known {
		p.state.Rate = rate
	}
	p.state.Ranges++
	p.state.Step, p.state.Last = p.step, p.last
	p.state.AtLeast = max(p.state.AtLeast, r.end())
	p.state.FailingSince, p.state.Tries, p.state.LastError, p.state.Hopeless = time.Time{}, 0, nil, false
}

// failed records that a try has failed.
func (p *provider) failed(err error) {
	hopeless := hopelessTry(err)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state.FailingSince.IsZero() {
		p.state.FailingSince = time.Now()
	}
	p.state.Tries++
	p.state.FailedTries++
	p.state.LastError, p.state.Hopeless = err, hopeless
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

// opened reports whether a range has arrived.
func (p *provider) opened() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state.Ranges > 0
}

// snapshot returns the state. If the last try has succeeded, and the next request waits because the sources fail for
// other tags, it has their failures.
func (p *provider) snapshot() sourceState {
	p.mu.Lock()
	s := p.state
	p.mu.Unlock()
	if s.LastError == nil {
		s.FailingSince, s.Tries, s.LastError = p.demand.outage()
	}
	return s
}
