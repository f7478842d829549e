package segment

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/ringbuffer"
)

func TestMeasurement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const capacity = 4
		var m measurement
		request := func(taken uint64, fill int, elapsed time.Duration, since uint64) {
			t.Helper()
			m.request(ringbuffer.Stats{Taken: taken, FillRuns: fill, CapacityRuns: capacity})
			if m.elapsed != elapsed || m.taken != since {
				t.Errorf("%d numbers in %v, want %d in %v", m.taken, m.elapsed, since, elapsed)
			}
		}
		arrival := func(taken uint64, rate float64, known bool) {
			t.Helper()
			if r, ok := m.arrival(taken); r != rate || ok != known {
				t.Errorf("arrival = %v, %v; want %v, %v", r, ok, rate, known)
			}
		}
		for fill := range capacity { // New
			m.request(ringbuffer.Stats{FillRuns: fill, CapacityRuns: capacity})
			arrival(0, 0, false)
		}
		time.Sleep(10 * time.Second)
		request(100, 3, 10*time.Second, 100)
		time.Sleep(time.Second) // a slow source
		arrival(110, 10, true)
		time.Sleep(10 * time.Second)
		request(310, 3, 10*time.Second, 200)
		time.Sleep(time.Hour) // an outage, in which the memory becomes empty
		for range 3 {
			request(700, 0, 10*time.Second, 200)
		}
		arrival(700, 20, true)
		for fill := 1; fill < capacity; fill++ {
			time.Sleep(time.Millisecond)
			request(701, fill, 10*time.Second, 200)
			arrival(702, 0, false)
		}
		time.Sleep(9997 * time.Millisecond)
		request(800, 3, 10*time.Second, 100)
		arrival(800, 10, true)

		// Takers are faster than the source: there is always room. Each series ends nevertheless.
		time.Sleep(time.Second)
		request(900, 0, time.Second, 100)
		arrival(900, 100, true)
		for range capacity - 1 {
			request(1000, 0, time.Second, 100)
			arrival(1000, 0, false)
		}
		time.Sleep(time.Second)
		request(2000, 0, time.Second, 1100)
	})
}
