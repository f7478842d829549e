package uid

import (
	"context"
	"time"

	"github.com/ringuid/ringuid/internal/leasing"
	"github.com/ringuid/ringuid/ringbuffer"
	"github.com/ringuid/ringuid/workerassign"
)

// start starts a process on a node, if the store and the clock let it.
func (s *simulation) start(n *simNode) {
	assigner, opts := workerassign.Assigner(s.store), append(s.opts, WithClock(n.clock))
	life := &simLife{node: n, last: -1}
	static := !s.store.spans && s.broken != 1 && n.number%4 == 3 && n.number < simStatics
	if static {
		// Static worker IDs lie above those of the store. That the clock is not before what it
		// was when the last process ended is the user's promise.
		if now := n.clock.Now(); now.Before(n.least) {
			n.clock.Step(n.least.Sub(now))
		}
		assigner = workerassign.Static(s.staticID(n))
	}
	core, err := newCore(context.Background(), assigner, opts)
	if err != nil {
		s.note(n, "does not start: %v", err)
		return
	}
	core.leases.SetHooks(leasing.Hooks{
		Go:    func(task func()) { life.tasks = append(life.tasks, task) },
		Pause: func(context.Context, time.Duration) bool { return false },
		Delay: func(context.Context, time.Duration) bool { return true },
	})
	life.clock, life.leases, s.f = core.clock, core.leases, core.cfg.format
	if !s.store.spans && !static && s.rng.IntN(3) == 0 {
		// A generator of the default mode has no part of its own to simulate but its word.
		d, err := NewDefault(context.Background(), s.store, opts...)
		if err != nil {
			return
		}
		life.plain = d
	} else {
		life.runs = newRunProvider(core)
		if life.ring, err = ringbuffer.New(context.Background(), ringbuffer.Config{Capacity: 2, TakePolicy: Fail}); err != nil {
			panic(err)
		}
	}
	n.life = life
	s.note(n, "starts with worker ID %d, not before %v", core.first.WorkerID(), core.first.First())
}

func (s *simulation) staticID(n *simNode) int64 {
	l, err := NewFormat(s.opts...)
	if err != nil {
		panic(err)
	}
	return l.Layout().MaxWorkerID() - int64(n.number)
}

// crash ends a process where it stands: nothing is given back, what it meant to do is not done.
func (s *simulation) crash(n *simNode) {
	s.note(n, "crashes")
	n.least = n.life.clock.Now().Add(time.Nanosecond)
	if n.life.ring != nil {
		n.life.ring.Close()
		s.rollovers += int64(n.life.runs.changes.Load())
	}
	n.life.leases.Cancel()
	n.life = nil
}

// stop ends a process in order: it gives its leases back.
func (s *simulation) stop(n *simNode) {
	if n.life.ring == nil {
		s.crash(n)
		return
	}
	s.note(n, "stops")
	l := n.life
	l.runAllTasks()
	n.least = l.clock.Now().Add(time.Nanosecond)
	l.ring.Close()
	s.rollovers += int64(l.runs.changes.Load())
	if next := l.leases.Next(); next != nil { // not concurrently with the other one, so that a seed has one outcome
		l.leases.Use()
		l.leases.Retire(next, next.First())
		l.runAllTasks()
	}
	l.leases.Close(l.runs.held, l.runs.used())
	n.life = nil
}

// runAllTasks runs all background tasks of a process.
func (l *simLife) runAllTasks() {
	for len(l.tasks) > 0 {
		do := l.tasks[0]
		l.tasks = l.tasks[1:]
		do()
	}
}

// runTasks runs some of the background tasks of a process: the store is slow.
func (s *simulation) runTasks(l *simLife) {
	for range s.rng.IntN(3) {
		if len(l.tasks) == 0 {
			return
		}
		do := l.tasks[0]
		l.tasks = l.tasks[1:]
		do()
	}
}

// pass lets time pass for a node, unless its clock stands still.
func (s *simulation) pass(n *simNode, d time.Duration) {
	if n.frozen > 0 {
		n.frozen--
		return
	}
	n.clock.Advance(d)
	n.clock.Step(d / 1000 * time.Duration(n.drift))
}

// event lets one thing happen to a node.
func (s *simulation) event(n *simNode) {
	if n.paused > 0 {
		n.paused--
		s.pass(n, time.Duration(s.rng.IntN(5000))*time.Millisecond)
		return
	}
	if n.life == nil {
		if s.rng.IntN(3) == 0 {
			s.start(n)
		}
		s.pass(n, time.Duration(s.rng.IntN(3000))*time.Millisecond)
		return
	}
	s.store.clock.Advance(time.Duration(s.rng.IntN(2000/len(s.nodes)+1)) * time.Millisecond)
	switch k := s.rng.IntN(44); {
	case k < 2: // a burst
		s.take(n.life, 1+s.rng.IntN(600))
	case k < 20:
		s.take(n.life, 1+s.rng.IntN(60))
	case k < 28:
		s.pass(n, time.Duration(s.rng.IntN(3000))*time.Millisecond)
	case k < 30: // idle
		s.pass(n, time.Duration(s.rng.IntN(600))*time.Second)
	case k < 31:
		back := -time.Duration(s.rng.Int64N(int64(72 * time.Hour)))
		if s.rng.IntN(2) == 0 {
			back = -time.Duration(s.rng.IntN(10_000)) * time.Millisecond
		}
		s.note(n, "clock steps by %v", back)
		n.clock.Step(back)
		if l := n.life.runs; s.broken == 4 && l != nil {
			l.last = max(l.last-1-int64(-back/s.f.Unit()), l.held.First()-1) // as the original's
		}
	case k < 32:
		on := time.Duration(s.rng.IntN(20_000)) * time.Millisecond
		s.note(n, "clock steps by %v", on)
		n.clock.Step(on)
	case k < 37:
		s.runTasks(n.life)
	case k < 38:
		s.crash(n)
	case k < 39:
		n.paused = s.rng.IntN(30)
		s.note(n, "is stopped for a while")
	case k < 40:
		n.frozen = s.rng.IntN(20)
		s.note(n, "the clock stands still for a while")
	case k < 41:
		s.store.down = !s.store.down
		s.note(n, "the store is down: %v", s.store.down)
	case k < 42:
		s.store.silent = s.rng.IntN(4)
		s.note(n, "the store's next %d replies are lost", s.store.silent)
	case k < 43:
		s.stop(n)
	default:
		s.store.failover()
		s.note(n, "the store forgets what it told nobody")
	}
}
