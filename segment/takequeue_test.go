package segment

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// queueTest is a takeQueue in a bubble of synctest, and the requests in the order in which they were sent.
type queueTest struct {
	*takeQueue
	t    *testing.T
	work *background

	works atomic.Bool // all calls are answered from now on

	mu    sync.Mutex
	order []string
}

func newQueueTest(t *testing.T, sources, limit int) *queueTest {
	work := newBackground()
	names := make([]string, sources)
	for i := range names {
		names[i] = fmt.Sprint("source", i)
	}
	q := &queueTest{t: t, work: work, takeQueue: newTakeQueue(names, limit, time.Second, newTagsLog(discardLogger(), work))}
	t.Cleanup(func() { q.close(); <-work.close() })
	return q
}

// request sends a request for a tag, with a number of waiting calls, and holds its place for a time; then the call
// has the outcome.
func (q *queueTest) request(tag string, d *demand, class takeClass, hold time.Duration, outcome callOutcome) {
	candidates := make([]candidate, len(q.sources))
	for i := range candidates {
		candidates[i].source = i
	}
	q.work.run(func() {
		p, err := q.acquire(q.work.ctx, tag, d, candidates, class)
		if err != nil {
			return
		}
		q.mu.Lock()
		q.order = append(q.order, tag)
		q.mu.Unlock()
		time.Sleep(hold)
		if q.works.Load() {
			outcome = callAnswered
		}
		q.release(p, outcome, errDown)
	})
	synctest.Wait() // until it waits or has a place
}

// sent returns the requests that were sent so far, and forgets them.
func (q *queueTest) sent() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	order := q.order
	q.order = nil
	return order
}

// awaited returns a demand with one call that waits.
func awaited() *demand {
	d := new(demand)
	d.enter()
	return d
}

// Tags for which a call waits go first, then those that nobody waits for, then hopeless ones, each in their order.
// Every fourth request is the one that has waited longest, so that none waits forever.
func TestTakeQueueOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueueTest(t, 1, 1)
		q.request("first", new(demand), earlyTake, time.Second, callAnswered)
		q.request("hopeless", new(demand), hopelessTake, time.Second, callAnswered)
		time.Sleep(time.Millisecond)
		q.request("early", new(demand), earlyTake, time.Second, callAnswered)
		time.Sleep(time.Millisecond)
		for n := range 8 {
			q.request(fmt.Sprint("awaited", n), awaited(), earlyTake, time.Second, callAnswered)
			time.Sleep(time.Millisecond)
		}
		time.Sleep(20 * time.Second)
		want := "[first awaited0 awaited1 hopeless awaited2 awaited3 awaited4 early awaited5 awaited6 awaited7]"
		if got := fmt.Sprint(q.sent()); got != want {
			t.Errorf("the requests were sent in the order\n%s, want\n%s", got, want)
		}
	})
}

// A request moves to the front when a call begins to wait for it, and back when the last call has given up.
func TestTakeQueueDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueueTest(t, 1, 1)
		q.request("first", new(demand), earlyTake, time.Second, callAnswered)
		late, gone := new(demand), awaited()
		q.request("gone", gone, earlyTake, time.Second, callAnswered)
		q.request("early", new(demand), earlyTake, time.Second, callAnswered)
		q.request("late", late, earlyTake, time.Second, callAnswered)
		late.enter()
		gone.leave()
		time.Sleep(10 * time.Second)
		if got := fmt.Sprint(q.sent()); got != "[first late early gone]" {
			t.Errorf("the requests were sent in the order %s", got)
		}
		if late.queued.Load() != nil {
			t.Error("a request that was sent is still queued")
		}
	})
}

// Failures let places pause, from 10 ms to a second and more, so that requests per second are limited, and the first
// answer ends all pauses.
func TestTakeQueuePauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 4
		q := newQueueTest(t, 1, limit)
		for n := range 500 {
			q.request(fmt.Sprint(n), new(demand), earlyTake, 0, callFailed)
		}
		time.Sleep(5 * time.Second)
		q.sent()
		time.Sleep(10 * time.Second)
		// A place pauses for 1 s to 1.5 s.
		if n := len(q.sent()); n < 6*limit || n > 10*limit {
			t.Errorf("%d requests in 10 s with %d places, want %d to %d", n, limit, 6*limit, 10*limit)
		}
		q.works.Store(true)
		time.Sleep(1500 * time.Millisecond) // until the first one has a place
		synctest.Wait()
		if n, left := len(q.sent()), len(q.waiting[earlyTake]); n < 100 || left > 0 {
			t.Errorf("%d requests were sent after the first answer, and those of %d kinds wait", n, left)
		}
	})
}

// At most 200 hopeless requests are sent per second, and they do not delay others.
func TestTakeQueueHopeless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueueTest(t, 1, 4)
		for n := range 500 {
			q.request(fmt.Sprint(n), new(demand), hopelessTake, 0, callAnswered)
		}
		time.Sleep(time.Second)
		if n := len(q.sent()); n < 199 || n > 202 {
			t.Errorf("%d hopeless requests in a second, want 200", n)
		}
		begin := time.Now()
		p, err := q.acquire(t.Context(), "x", new(demand), []candidate{{}}, earlyTake)
		if err != nil || time.Since(begin) > 0 {
			t.Errorf("acquire = %v after %v", err, time.Since(begin))
		}
		q.release(p, callAnswered, nil)
	})
}

// A call that does not return loses its place, so that others are sent, and its end is no error.
func TestTakeQueueOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueueTest(t, 1, 1)
		q.request("overdue", new(demand), earlyTake, time.Minute, callAnswered)
		q.request("next", new(demand), earlyTake, 0, callAnswered)
		time.Sleep(time.Second)
		if got := q.sent(); len(got) != 1 {
			t.Errorf("%q were sent before the timeout", got)
		}
		time.Sleep(2 * time.Second)
		if got := q.sent(); len(got) != 1 {
			t.Errorf("%q were sent after the timeout, want the next one", got)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if q.sources[0].running != 0 {
			t.Errorf("%d calls run at the end", q.sources[0].running)
		}
	})
}

// A request whose context ends leaves the queue, also at the moment when it gets its place.
func TestTakeQueueContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueueTest(t, 1, 1)
		why := errors.New("why")
		for range 100 {
			q.request("first", new(demand), earlyTake, time.Second, callAnswered)
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, why)
			p, err := q.acquire(ctx, "x", new(demand), []candidate{{}}, earlyTake)
			cancel()
			if err == nil {
				q.release(p, callUnknown, nil)
			} else if err != why {
				t.Fatalf("acquire = %v", err)
			}
		}
		synctest.Wait()
		if n := q.sources[0].running; n != 0 {
			t.Errorf("%d calls run at the end", n)
		}
		for class := range q.waiting {
			if n := len(q.waiting[class]); n != 0 {
				t.Errorf("requests of %d kinds wait at the end", n)
			}
		}
	})
}

// A request goes to the first source that works. One that fails is asked with the places that its pauses leave, and
// if all fail, as soon as a short pause is over.
func TestTakeQueueSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueueTest(t, 2, 1)
		both := []candidate{{source: 0}, {source: 1}}
		acquire := func(want int, candidates ...candidate) {
			t.Helper()
			p, err := q.acquire(t.Context(), "x", new(demand), candidates, earlyTake)
			if err != nil || p.source != want {
				t.Fatalf("acquire = %+v, %v; want source %d", p, err, want)
			}
			time.Sleep(time.Second)
			outcome := callAnswered
			if want == 0 {
				outcome = callFailed
			}
			q.release(p, outcome, errDown)
		}
		acquire(0, both...)
		for range 9 { // the pause of source 0 is at least 10 times as long as its call took
			acquire(1, both...)
		}
		time.Sleep(10 * time.Second)
		acquire(0, both...)
		begin := time.Now()
		acquire(0, both[0]) // nothing else is left
		if took := time.Since(begin); took > 1100*time.Millisecond {
			t.Errorf("the only source was asked after %v", took-time.Second)
		}
		acquire(1, candidate{source: 1, resting: true}, candidate{source: 0}) // source 0 pauses, and 1 works
		begin = time.Now()
		p, err := q.acquire(t.Context(), "x", new(demand), []candidate{{source: 1}}, earlyTake)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(1500*time.Millisecond, func() { q.release(p, callAnswered, nil) })
		acquire(1, candidate{source: 0, resting: true}, candidate{source: 1}) // waits for the one that works
		if took := time.Since(begin); took != 2500*time.Millisecond {
			t.Errorf("the source that works was asked after %v", took-time.Second)
		}
	})
}

// Many requests with sources that fail, hang and recover, contexts that end and calls that come and go: no source has
// more calls than places, every request gets its place in time, and nothing is left at the end.
func TestTakeQueueStress(t *testing.T) {
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			sources, limit := 1+random.IntN(3), 1+random.IntN(4)
			q := newQueueTest(t, sources, limit)
			running := make([]atomic.Int64, sources)
			bad := make([]atomic.Bool, sources)
			var wg sync.WaitGroup
			for g := range 40 {
				random := rand.New(rand.NewPCG(seed, uint64(g)+2))
				wg.Go(func() {
					d := new(demand)
					for range 50 {
						candidates := make([]candidate, 0, sources)
						for _, i := range random.Perm(sources)[random.IntN(sources):] {
							candidates = append(candidates, candidate{i, random.IntN(3) == 0})
						}
						ctx, cancel := t.Context(), context.CancelFunc(func() {})
						if random.IntN(3) == 0 {
							ctx, cancel = context.WithTimeout(ctx, time.Duration(random.IntN(500))*time.Millisecond)
						}
						var calls sync.WaitGroup
						for range random.IntN(3) {
							begin, end := time.Duration(random.IntN(100))*time.Millisecond, time.Duration(random.IntN(300))*time.Millisecond
							calls.Go(func() { time.Sleep(begin); d.enter(); time.Sleep(end); d.leave() })
						}
						class := []takeClass{earlyTake, earlyTake, refusedTake, hopelessTake}[random.IntN(4)]
						begin := time.Now()
						p, err := q.acquire(ctx, "x", d, candidates, class)
						cancel()
						if took := time.Since(begin); took > 5*time.Minute || err != nil && took > time.Second {
							t.Errorf("seed %d: acquire = %v after %v", seed, err, took)
						}
						if err == nil {
							if n := running[p.source].Add(1); n > int64(limit) {
								t.Errorf("seed %d: %d calls of a source with %d places", seed, n, limit)
							}
							outcome := callAnswered
							switch {
							case bad[p.source].Load():
								outcome = callFailed
							case random.IntN(10) == 0:
								outcome = callUnknown
							}
							time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
							running[p.source].Add(-1)
							q.release(p, outcome, errDown)
						}
						calls.Wait()
						if random.IntN(20) == 0 {
							bad[random.IntN(sources)].Store(random.IntN(2) == 0)
						}
					}
				})
			}
			wg.Wait()
			for i, s := range q.sources {
				if s.running != 0 {
					t.Errorf("seed %d: %d calls of source %d run at the end", seed, s.running, i)
				}
			}
			for class := range q.waiting {
				if n := len(q.waiting[class]); n != 0 {
					t.Errorf("seed %d: requests of %d kinds wait at the end", seed, n)
				}
			}
		})
	}
}

// The first answer ends the long pauses of all places of a source that hung.
func TestTakeQueueAnswerEndsPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueueTest(t, 2, 2)
		acquire := func(candidates ...candidate) *takePlace {
			p, err := q.acquire(t.Context(), "x", new(demand), candidates, earlyTake)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		hung := []*takePlace{acquire(candidate{source: 0}), acquire(candidate{source: 0})}
		time.Sleep(900 * time.Millisecond)
		for _, p := range hung {
			q.release(p, callFailed, errDown) // both places pause for 9 seconds, unless all sources fail
		}
		q.release(acquire(candidate{source: 0}), callAnswered, nil)
		for range 2 {
			if p := acquire(candidate{source: 0}, candidate{source: 1}); p.source != 0 {
				t.Errorf("after an answer of source 0, a request was sent to source %d", p.source)
			}
		}
	})
}
