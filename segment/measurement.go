package segment

import (
	"sync"
	"time"

	"github.com/ringuid/ringuid/ringbuffer"
)

// measurement measures how fast numbers are taken, between the arrival of a range and the request for the next one.
// If the ring has room for several ranges, they are requested one right after the other, and hardly a number is taken
// in between: so they are a series that is measured once. What was measured before an outage stays valid until the
// source works again.
type measurement struct {
	elapsed time.Duration
	taken   uint64

	arrived        time.Time // when the first range of the last series arrived
	takenAtStart   uint64    // how many numbers had been taken then
	requested      time.Time // when the first range of the present series was requested first
	takenAtRequest uint64    // how many numbers had been taken then

	left    int  // how many ranges of this series are still to come
	begun   bool // the first range of this series has arrived
	pending bool // a range was requested and has not arrived
}

// request is called when a range is requested, also when that is tried again.
func (m *measurement) request(s ringbuffer.Stats) {
	free := max(s.CapacityRuns-s.FillRuns, 1)
	if m.pending {
		m.begun = false // the series was interrupted, and goes on with the measurement from before
	}
	m.pending = true
	switch {
	case m.left == 0:
		now := time.Now()
		m.elapsed, m.taken = now.Sub(m.arrived), s.Taken-m.takenAtStart
		// If callers used up the range before it arrived, the next one is requested at once, when hardly a number of
		// it was taken. What was taken since the request before tells more then.
		elapsed, taken := now.Sub(m.requested), s.Taken-m.takenAtRequest
		if !m.requested.IsZero() && (StepState{Elapsed: elapsed, Taken: taken}).rate() > (StepState{Elapsed: m.elapsed, Taken: m.taken}).rate() {
			m.elapsed, m.taken = elapsed, taken
		}
		m.requested, m.takenAtRequest = now, s.Taken
		m.left, m.begun = free, false
	case !m.begun: // earlier tries have failed, and more ranges were used up meanwhile
		m.left = max(m.left, free)
	}
}

// arrival is called when a range has arrived. known is false if there is no new rate.
func (m *measurement) arrival(taken uint64) (rate float64, known bool) {
	m.left--
	m.pending = false
	if m.begun {
		return 0, false
	}
	known = !m.arrived.IsZero()
	m.begun, m.arrived, m.takenAtStart = true, time.Now(), taken
	return StepState{Elapsed: m.elapsed, Taken: m.taken}.rate(), known
}

// recentSamples is how many samples a recent takes in its window.
const recentSamples = 20

// recent counts how many numbers were taken in the last window. It knows how many had been taken at some instants, and
// counts from the earliest of these that lies in the window. So it never counts more than was taken in the window, and
// leaves out less than a sample's interval.
type recent struct {
	window time.Duration
	start  time.Time

	mu      sync.Mutex
	samples [recentSamples + 1]sample // the zero value is right, too: nothing had been taken at the start
	next    int                       // the oldest one
}

// sample is how many numbers had been taken at a time after the start.
type sample struct {
	at    time.Duration
	taken uint64
}

// interval is the time between two samples.
func (r *recent) interval() time.Duration { return max(r.window/recentSamples, time.Second) }

// sample adds a sample. The time is read first, so that what is taken meanwhile counts as older than it is.
func (r *recent) sample(taken func() uint64) {
	s := sample{at: time.Since(r.start)}
	s.taken = taken()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.samples[r.next] = s
	r.next = (r.next + 1) % len(r.samples)
}

// count returns how many numbers were taken in the window, of those that have been taken.
func (r *recent) count(taken uint64) (n uint64) {
	now := time.Since(r.start)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.samples {
		if now-s.at <= r.window && s.taken < taken {
			n = max(n, taken-s.taken)
		}
	}
	return n
}
