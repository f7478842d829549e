package segment

import (
	"math/rand/v2"
	"sort"
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

// If the rate since the last range and that since the last request are equal, the time is that since the last range.
func TestMeasurementOfEqualRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m measurement
		request := func(taken uint64) { m.request(ringbuffer.Stats{Taken: taken, FillRuns: 1, CapacityRuns: 2}) }
		request(0)
		m.arrival(0)
		time.Sleep(10 * time.Second)
		request(100)
		time.Sleep(10 * time.Second)
		m.arrival(200)
		time.Sleep(10 * time.Second)
		request(300)
		if m.elapsed != 10*time.Second || m.taken != 100 {
			t.Errorf("%d numbers in %v, want 100 in 10s", m.taken, m.elapsed)
		}
	})
}

// An outage that begins between two ranges of a series does not count either.
func TestMeasurementOutageInSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const capacity = 4
		var m measurement
		request := func(taken uint64, fill int) {
			m.request(ringbuffer.Stats{Taken: taken, FillRuns: fill, CapacityRuns: capacity})
		}
		want := func(elapsed time.Duration, taken uint64) {
			t.Helper()
			if m.elapsed != elapsed || m.taken != taken {
				t.Errorf("%d numbers in %v, want %d in %v", m.taken, m.elapsed, taken, elapsed)
			}
		}
		for fill := range capacity { // New
			request(0, fill)
			m.arrival(0)
		}
		time.Sleep(10 * time.Second)
		request(100, 2)
		m.arrival(100)
		for taken := uint64(101); taken <= 400; taken++ { // the second range of the series does not arrive
			request(taken, max(3-int(taken)/100, 0))
			want(10*time.Second, 100)
			time.Sleep(12 * time.Second)
		}
		for fill := range capacity {
			request(400, fill)
			want(10*time.Second, 100)
			if rate, known := m.arrival(400); known && rate != 10 {
				t.Errorf("arrival = %v, want 10 or nothing", rate)
			}
		}
		time.Sleep(10 * time.Second)
		request(600, 3)
		want(10*time.Second, 200)
	})
}

// A recent never counts more than was taken in its window, whenever samples are taken, and leaves out at most what was taken in one
// interval if they are taken in time.
func TestRecent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(20) {
			rnd := rand.New(rand.NewPCG(seed, 16))
			r := recent{window: time.Minute, start: time.Now()}
			late := seed%2 == 1 // the ticker is late now and then
			var taken uint64
			var takes []time.Time // of each number
			sampled := time.Now()
			for range 500 {
				for range rnd.IntN(3) * rnd.IntN(50) {
					taken++
					takes = append(takes, time.Now())
				}
				if since := time.Since(sampled); since >= r.interval() && (!late || rnd.IntN(10) == 0) {
					r.sample(func() uint64 { return taken })
					sampled = time.Now()
				}
				within := func(d time.Duration) uint64 {
					first := sort.Search(len(takes), func(i int) bool { return time.Since(takes[i]) <= d })
					return uint64(len(takes) - first)
				}
				got, most, least := r.count(taken), within(r.window), within(r.window-r.interval()-time.Second)
				if got > most || !late && got < least {
					t.Fatalf("seed %d: counted %d, want %d to %d", seed, got, least, most)
				}
				time.Sleep(time.Duration(rnd.Int64N(int64(time.Second))))
			}
		}
	})
}
