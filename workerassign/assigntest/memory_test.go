package assigntest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/workerassign/recycled"
)

// memoryServer has one Memory for each pool, and injects each fault into all of them.
type memoryServer struct {
	opts []MemoryOption

	mu    sync.Mutex
	pools map[string]*Memory

	stoppedAt atomic.Pointer[time.Time] // nil: the clock runs
}

// now is the clock of all pools, unless the options set another one.
func (s *memoryServer) now() time.Time {
	if at := s.stoppedAt.Load(); at != nil {
		return *at
	}
	return time.Now()
}

func (s *memoryServer) stopClock(_ testing.TB, at time.Time) {
	if at.IsZero() {
		s.stoppedAt.Store(nil)
		return
	}
	s.stoppedAt.Store(&at)
}

func newMemoryServer(opts ...MemoryOption) *memoryServer {
	return &memoryServer{opts: opts, pools: map[string]*Memory{}}
}

// pool returns the Memory of a pool.
func (s *memoryServer) pool(name string) *Memory {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pools[name] == nil {
		s.pools[name] = NewMemory(append([]MemoryOption{WithClock(s.now)}, s.opts...)...)
	}
	return s.pools[name]
}

// each calls f with the Memory of each pool.
func (s *memoryServer) each(f func(*Memory)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.pools {
		f(m)
	}
}

// during injects a fault into the calls that call makes.
func (s *memoryServer) during(f Fault, call func()) {
	s.each(func(m *Memory) { m.SetFaults(func(Op) Fault { return f }) })
	call()
	s.each(func(m *Memory) { m.SetFaults(nil) })
}

func (s *memoryServer) faults() Faults {
	return Faults{
		Kill:         func(testing.TB) { s.each((*Memory).Kill) },
		Start:        func(testing.TB) { s.each((*Memory).Start) },
		Pause:        func(testing.TB) { s.each((*Memory).Pause) },
		Resume:       func(testing.TB) { s.each((*Memory).Resume) },
		StepClock:    func(_ testing.TB, d time.Duration) { s.each(func(m *Memory) { m.StepClock(d) }) },
		LoseRequests: func(_ testing.TB, call func()) { s.during(LoseRequest, call) },
		LoseReplies:  func(_ testing.TB, call func()) { s.during(LoseReply, call) },
		DelayWrites: func(_ testing.TB, write func()) (deliver func()) {
			s.during(Delay, write)
			return func() { s.each(func(m *Memory) { m.Deliver() }) }
		},
		LoseWrites: func(_ testing.TB, write func()) { s.loseWrites(write, (*Memory).Failover) },
		StopClock:  s.stopClock,
	}
}

func (s *memoryServer) loseWrites(write func(), lose func(*Memory, int)) {
	before := map[*Memory]int{}
	s.each(func(m *Memory) { before[m] = m.Writes() })
	write()
	s.each(func(m *Memory) { lose(m, m.Writes()-before[m]) })
}

func (s *memoryServer) harness() Harness {
	return Harness{
		New:    func(_ testing.TB, pool string) recycled.Store { return s.pool(pool).Client("") },
		Faults: s.faults(),
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	RunStoreTests(t, newMemoryServer().harness())
}

func TestMemoryWithoutLoss(t *testing.T) {
	t.Parallel()
	h := newMemoryServer(WithNoLoss(), WithHostClock()).harness()
	h.LoseWrites = nil
	h.Without = map[string]string{"LoseWrites": "the store loses none"}
	RunStoreTests(t, h)
}
