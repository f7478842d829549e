package uid

import (
	"context"
	"errors"
	"time"

	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/ringbuffer"
	"github.com/ringuid/ringuid/workerassign"
)

// start starts a process on a host, if the store and the clock allow it.
func (s *simulation) start(h *simHost) {
	assigner, opts := workerassign.Assigner(s.store), append(s.opts, WithClock(h.clock))
	process := &simProcess{host: h, last: -1}
	static := !s.store.recycles && s.brokenInvariant != 1 && h.number%4 == 3 && h.number < staticWorkerIDs
	if static {
		// Static worker IDs are greater than those of the store. The user guarantees that the clock shows
		// no earlier time than when the last process ended.
		if now := h.clock.Now(); now.Before(h.notBefore) {
			h.clock.Step(h.notBefore.Sub(now))
		}
		assigner = workerassign.Static(s.staticID(h))
	}
	core, err := newTestCore(context.Background(), assigner, opts...)
	if err != nil {
		s.record(h, "does not start: %v", err)
		return
	}
	core.leases.SetHooks(leasing.Hooks{
		Go:    func(task func()) { process.tasks = append(process.tasks, task) },
		Pause: func(context.Context, time.Duration) bool { return false },
		Delay: func(context.Context, time.Duration) bool { return true },
	})
	process.clock, process.leases, s.format = core.clock, core.leases, core.cfg.format
	if !s.store.recycles && !static && s.rnd.IntN(3) == 0 {
		// A Default generator whose lease has no end starts no background tasks, so none are simulated. It keeps no lease: a crash would
		// not end the goroutine.
		plain, err := newTestCore(context.Background(), s.store, opts...)
		if err != nil {
			return
		}
		process.defaultGenerator = newDefaultOn(plain)
	} else {
		process.runs = newRunProvider(core)
		if process.ring, err = ringbuffer.New(context.Background(), ringbuffer.Config{Capacity: 2, TakePolicy: Fail}); err != nil {
			panic(err)
		}
	}
	h.process = process
	s.record(h, "starts with worker ID %d, not before %v", core.first.WorkerID(), core.first.First())
}

func (s *simulation) staticID(h *simHost) int64 {
	l, err := NewFormat(accepted[FormatOption](s.opts)...)
	if err != nil {
		panic(err)
	}
	return l.Layout().MaxWorkerID() - int64(h.number)
}

// crash ends a process at once: it releases nothing, and its background tasks do not run.
func (s *simulation) crash(h *simHost) {
	s.record(h, "crashes")
	h.notBefore = h.process.clock.Now().Add(time.Nanosecond)
	if h.process.ring != nil {
		h.process.ring.Close()
		s.rollovers += int64(h.process.runs.changes.Load())
	}
	h.process.leases.Cancel()
	h.process = nil
}

// stop ends a process in order: it releases its leases.
func (s *simulation) stop(h *simHost) {
	if h.process.ring == nil {
		s.crash(h)
		return
	}
	s.record(h, "stops")
	p := h.process
	p.runAllTasks()
	h.notBefore = p.clock.Now().Add(time.Nanosecond)
	p.ring.Close()
	s.rollovers += int64(p.runs.changes.Load())
	if next := p.leases.Next(); next != nil { // not concurrently with the lease in use, so that a seed has one result
		p.leases.Use()
		p.leases.Retire(next, next.First())
		p.runAllTasks()
	}
	l := p.runs.current.Load()
	reached, ok := p.ring.Reached()
	p.leases.Close(l.held, l.usedAtClose(reached, ok, p.runs.cfg.format.layout))
	h.process = nil
}

// renew drops the leases of a process, as Renew does. Static worker IDs refuse another one, so those processes end.
func (s *simulation) renew(h *simHost) {
	p := h.process
	if p.ring == nil {
		return
	}
	s.record(h, "renews its lease")
	p.ring.Drop(func() { p.leases.Drop(nil, leasing.ErrRenewed) })
	if s.pad(p) {
		s.fail(6, "a run follows at once, although no lease was taken yet")
	}
	p.runAllTasks()
	s.pad(p)
	if err := p.leases.WhyNoNext(); errors.Is(err, workerassign.ErrRenewal) {
		s.crash(h)
	}
}

// runAllTasks runs all background tasks of a process.
func (p *simProcess) runAllTasks() {
	for len(p.tasks) > 0 {
		task := p.tasks[0]
		p.tasks = p.tasks[1:]
		task()
	}
}

// runTasks runs some of the background tasks of a process, because the store is slow.
func (s *simulation) runTasks(p *simProcess) {
	for range s.rnd.IntN(3) {
		if len(p.tasks) == 0 {
			return
		}
		task := p.tasks[0]
		p.tasks = p.tasks[1:]
		task()
	}
}

// pass lets time pass on a host, unless its clock stands still.
func (s *simulation) pass(h *simHost, d time.Duration) {
	if h.frozen > 0 {
		h.frozen--
		return
	}
	h.clock.Advance(d)
	h.clock.Step(d / 1000 * time.Duration(h.drift))
}

// event simulates one event on a host.
func (s *simulation) event(h *simHost) {
	if h.paused > 0 {
		h.paused--
		s.pass(h, time.Duration(s.rnd.IntN(5000))*time.Millisecond)
		return
	}
	if h.process == nil {
		if s.rnd.IntN(3) == 0 {
			s.start(h)
		}
		s.pass(h, time.Duration(s.rnd.IntN(3000))*time.Millisecond)
		return
	}
	s.store.clock.Advance(time.Duration(s.rnd.IntN(2000/len(s.hosts)+1)) * time.Millisecond)
	switch k := s.rnd.IntN(45); {
	case k < 2: // a burst
		s.take(h.process, 1+s.rnd.IntN(600))
	case k < 20:
		s.take(h.process, 1+s.rnd.IntN(60))
	case k < 28:
		s.pass(h, time.Duration(s.rnd.IntN(3000))*time.Millisecond)
	case k < 30: // idle
		s.pass(h, time.Duration(s.rnd.IntN(600))*time.Second)
	case k < 31:
		back := -time.Duration(s.rnd.Int64N(int64(72 * time.Hour)))
		if s.rnd.IntN(2) == 0 {
			back = -time.Duration(s.rnd.IntN(10_000)) * time.Millisecond
		}
		s.record(h, "clock steps by %v", back)
		h.clock.Step(back)
		if runs := h.process.runs; s.brokenInvariant == 4 && runs != nil {
			l := runs.current.Load()
			l.stamped.Store(max(l.stamped.Load()-1-int64(-back/s.format.Unit()), l.held.First()-1)) // as the original does
		}
	case k < 32:
		forward := time.Duration(s.rnd.IntN(20_000)) * time.Millisecond
		s.record(h, "clock steps by %v", forward)
		h.clock.Step(forward)
	case k < 37:
		s.runTasks(h.process)
	case k < 38:
		s.crash(h)
	case k < 39:
		h.paused = s.rnd.IntN(30)
		s.record(h, "is paused")
	case k < 40:
		h.frozen = s.rnd.IntN(20)
		s.record(h, "the clock stands still")
	case k < 41:
		s.store.down = !s.store.down
		s.record(h, "the store is down: %v", s.store.down)
	case k < 42:
		s.store.lostReplies = s.rnd.IntN(4)
		s.record(h, "the store's next %d replies are lost", s.store.lostReplies)
	case k < 43:
		s.stop(h)
	case k < 44:
		s.renew(h)
	default:
		s.store.failover()
		s.record(h, "the store loses the writes that it did not acknowledge")
	}
}
