package uid

import (
	"context"
	"time"

	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/ringbuffer"
	"github.com/ringuid/ringuid/workerassign"
)

// start starts a process on a node, if the store and the clock let it.
func (s *simulation) start(n *simHost) {
	assigner, opts := workerassign.Assigner(s.store), append(s.opts, WithClock(n.clock))
	life := &simProcess{host: n, last: -1}
	static := !s.store.recycles && s.brokenInvariant != 1 && n.number%4 == 3 && n.number < staticWorkerIDs
	if static {
		// Static worker IDs lie above those of the store. That the clock is not before what it
		// was when the last process ended is the user's promise.
		if now := n.clock.Now(); now.Before(n.notBefore) {
			n.clock.Step(n.notBefore.Sub(now))
		}
		assigner = workerassign.Static(s.staticID(n))
	}
	core, err := newCore(context.Background(), assigner, opts)
	if err != nil {
		s.record(n, "does not start: %v", err)
		return
	}
	core.leases.SetHooks(leasing.Hooks{
		Go:    func(task func()) { life.tasks = append(life.tasks, task) },
		Pause: func(context.Context, time.Duration) bool { return false },
		Delay: func(context.Context, time.Duration) bool { return true },
	})
	life.clock, life.leases, s.format = core.clock, core.leases, core.cfg.format
	if !s.store.recycles && !static && s.rnd.IntN(3) == 0 {
		// A generator of the default mode has no part of its own to simulate but its word.
		d, err := NewDefault(context.Background(), s.store, opts...)
		if err != nil {
			return
		}
		life.defaultGenerator = d
	} else {
		life.runs = newRunProvider(core)
		if life.ring, err = ringbuffer.New(context.Background(), ringbuffer.Config{Capacity: 2, TakePolicy: Fail}); err != nil {
			panic(err)
		}
	}
	n.process = life
	s.record(n, "starts with worker ID %d, not before %v", core.first.WorkerID(), core.first.First())
}

func (s *simulation) staticID(n *simHost) int64 {
	l, err := NewFormat(s.opts...)
	if err != nil {
		panic(err)
	}
	return l.Layout().MaxWorkerID() - int64(n.number)
}

// crash ends a process where it stands: nothing is given back, what it meant to do is not done.
func (s *simulation) crash(n *simHost) {
	s.record(n, "crashes")
	n.notBefore = n.process.clock.Now().Add(time.Nanosecond)
	if n.process.ring != nil {
		n.process.ring.Close()
		s.rollovers += int64(n.process.runs.changes.Load())
	}
	n.process.leases.Cancel()
	n.process = nil
}

// stop ends a process in order: it gives its leases back.
func (s *simulation) stop(n *simHost) {
	if n.process.ring == nil {
		s.crash(n)
		return
	}
	s.record(n, "stops")
	l := n.process
	l.runAllTasks()
	n.notBefore = l.clock.Now().Add(time.Nanosecond)
	l.ring.Close()
	s.rollovers += int64(l.runs.changes.Load())
	if next := l.leases.Next(); next != nil { // not concurrently with the other one, so that a seed has one outcome
		l.leases.Use()
		l.leases.Retire(next, next.First())
		l.runAllTasks()
	}
	l.leases.Close(l.runs.held, l.runs.used())
	n.process = nil
}

// runAllTasks runs all background tasks of a process.
func (l *simProcess) runAllTasks() {
	for len(l.tasks) > 0 {
		do := l.tasks[0]
		l.tasks = l.tasks[1:]
		do()
	}
}

// runTasks runs some of the background tasks of a process: the store is slow.
func (s *simulation) runTasks(l *simProcess) {
	for range s.rnd.IntN(3) {
		if len(l.tasks) == 0 {
			return
		}
		do := l.tasks[0]
		l.tasks = l.tasks[1:]
		do()
	}
}

// pass lets time pass for a node, unless its clock stands still.
func (s *simulation) pass(n *simHost, d time.Duration) {
	if n.frozen > 0 {
		n.frozen--
		return
	}
	n.clock.Advance(d)
	n.clock.Step(d / 1000 * time.Duration(n.drift))
}

// event lets one thing happen to a node.
func (s *simulation) event(n *simHost) {
	if n.paused > 0 {
		n.paused--
		s.pass(n, time.Duration(s.rnd.IntN(5000))*time.Millisecond)
		return
	}
	if n.process == nil {
		if s.rnd.IntN(3) == 0 {
			s.start(n)
		}
		s.pass(n, time.Duration(s.rnd.IntN(3000))*time.Millisecond)
		return
	}
	s.store.clock.Advance(time.Duration(s.rnd.IntN(2000/len(s.hosts)+1)) * time.Millisecond)
	switch k := s.rnd.IntN(44); {
	case k < 2: // a burst
		s.take(n.process, 1+s.rnd.IntN(600))
	case k < 20:
		s.take(n.process, 1+s.rnd.IntN(60))
	case k < 28:
		s.pass(n, time.Duration(s.rnd.IntN(3000))*time.Millisecond)
	case k < 30: // idle
		s.pass(n, time.Duration(s.rnd.IntN(600))*time.Second)
	case k < 31:
		back := -time.Duration(s.rnd.Int64N(int64(72 * time.Hour)))
		if s.rnd.IntN(2) == 0 {
			back = -time.Duration(s.rnd.IntN(10_000)) * time.Millisecond
		}
		s.record(n, "clock steps by %v", back)
		n.clock.Step(back)
		if l := n.process.runs; s.brokenInvariant == 4 && l != nil {
			l.last = max(l.last-1-int64(-back/s.format.Unit()), l.held.First()-1) // as the original's
		}
	case k < 32:
		on := time.Duration(s.rnd.IntN(20_000)) * time.Millisecond
		s.record(n, "clock steps by %v", on)
		n.clock.Step(on)
	case k < 37:
		s.runTasks(n.process)
	case k < 38:
		s.crash(n)
	case k < 39:
		n.paused = s.rnd.IntN(30)
		s.record(n, "is stopped for a while")
	case k < 40:
		n.frozen = s.rnd.IntN(20)
		s.record(n, "the clock stands still for a while")
	case k < 41:
		s.store.down = !s.store.down
		s.record(n, "the store is down: %v", s.store.down)
	case k < 42:
		s.store.lostReplies = s.rnd.IntN(4)
		s.record(n, "the store's next %d replies are lost", s.store.lostReplies)
	case k < 43:
		s.stop(n)
	default:
		s.store.failover()
		s.record(n, "the store forgets what it told nobody")
	}
}
