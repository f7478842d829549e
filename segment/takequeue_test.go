package segment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
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
	all  []int // the sources

	works atomic.Bool // all calls are answered from now on

	mu    sync.Mutex
	order []string
}

func newQueueTest(t *testing.T, sources, limit int) *queueTest {
	work := newBackground()
	q := &queueTest{t: t, work: work}
	var names []string
	for i := range sources {
		names, q.all = append(names, fmt.Sprint("source", i)), append(q.all, i)
	}
	q.takeQueue = newTakeQueue(names, limit, time.Second, newTagsLog(discardLogger(), work))
	t.Cleanup(func() { q.close(); <-work.close() })
	return q
}

// tag returns the demand of a tag for which a number of calls wait.
func (q *queueTest) tag(name string, calls int) *demand {
	return &demand{queue: q.takeQueue, tag: name, calls: calls}
}

// place acquires a place for a request that can be sent to some sources.
func (q *queueTest) place(sources ...int) *takePlace {
	q.t.Helper()
	p := q.acquire(q.t.Context(), q.tag("x", 0), sources)
	if p == nil {
		q.t.Fatal("no place")
	}
	return p
}

// request sends a request of a tag to any source, and holds its place for a time; then the call has the outcome.
func (q *queueTest) request(d *demand, hold time.Duration, outcome callOutcome) {
	q.requestTo(q.all, d, hold, outcome)
}

func (q *queueTest) requestTo(sources []int, d *demand, hold time.Duration, outcome callOutcome) {
	q.work.run(func() {
		defer d.end()
		p := q.acquire(q.work.ctx, d, sources)
		if p == nil {
			return
		}
		q.mu.Lock()
		q.order = append(q.order, d.tag)
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

// checkEmpty fails the test if a place is taken or a request waits.
func (q *queueTest) checkEmpty(what string) {
	q.t.Helper()
	q.takeQueue.mu.Lock()
	defer q.takeQueue.mu.Unlock()
	for i, s := range q.sources {
		for p, pauses := range s.places {
			if !pauses {
				q.t.Errorf("%s: a call of %q has a place of source %d", what, p.tag, i)
			}
		}
	}
	if n, awaited := q.waiting.Len(), q.awaited.Len(); n+awaited > 0 {
		q.t.Errorf("%s: %d requests wait, and calls for %d", what, n, awaited)
	}
}

// Tags for which a call waits go first, then those that nobody waits for, each in their order. Every fourth request is the one that has waited longest, so that none waits forever.
func TestTakeQueueOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueueTest(t, 1, 1)
		q.request(q.tag("first", 0), time.Second, callAnswered)
		for n := range 3 {
			q.request(q.tag(fmt.Sprint("early", n), 0), time.Second, callAnswered)
		}
		for n := range 8 {
			q.request(q.tag(fmt.Sprint("awaited", n), 1), time.Second, callAnswered)
		}
		time.Sleep(20 * time.Second)
		want := "[first awaited0 awaited1 early0 awaited2 awaited3 awaited4 early1 awaited5 awaited6 awaited7 early2]"
		if got := fmt.Sprint(q.sent()); got != want {
			t.Errorf("the requests were sent in the order\n%s, want\n%s", got, want)
		}
	})
}

// A request moves to the front when a call begins to wait for it, and back when the last call has given up.
func TestTakeQueueDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueueTest(t, 1, 1)
		late, gone := q.tag("late", 0), q.tag("gone", 2)
		for _, d := range []*demand{q.tag("first", 0), gone, q.tag("early", 0), late} {
			q.request(d, time.Second, callAnswered)
		}
		late.add(1)
		gone.add(-1)
		gone.add(-1)
		time.Sleep(10 * time.Second)
		if got := fmt.Sprint(q.sent()); got != "[first late gone early]" {
			t.Errorf("the requests were sent in the order %s", got)
		}
	})
}

// A request whose calls come and go keeps its turn.
func TestTakeQueueCallsComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueueTest(t, 1, 1)
		d := q.tag("x", 0)
		q.request(q.tag("first", 0), time.Second, callAnswered)
		q.request(d, time.Second, callAnswered)
		time.Sleep(100 * time.Millisecond)
		for n := range 12 {
			q.request(q.tag(fmt.Sprint("early", n), 0), time.Second, callAnswered)
			q.request(q.tag(fmt.Sprint("awaited", n), 1), time.Second, callAnswered)
			d.add(1)
			d.add(-1)
			time.Sleep(time.Second) // one of them is sent
		}
		if sent := q.sent(); !slices.Contains(sent[:min(5, len(sent))], "x") {
			t.Errorf("the requests were sent in the order %q; x has waited longest", sent)
		}
	})
}

// Requests are sent in their order, also if they can be sent to different sources.
func TestTakeQueueOrderOfSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for n := range 2 {
			q := newQueueTest(t, 2, 1)
			first, second := q.place(0), q.place(1)
			narrow, wide := []int{0}, []int{0, 1}
			if n == 1 {
				narrow, wide = wide, narrow
			}
			q.requestTo(narrow, q.tag("a", 0), time.Second, callAnswered)
			q.requestTo(wide, q.tag("b", 0), time.Second, callAnswered)
			q.release(first, callAnswered, nil)
			time.Sleep(5 * time.Second)
			synctest.Wait()
			if got := strings.Join(q.sent(), ""); got != "ab" {
				t.Errorf("the requests were sent in the order %q", got)
			}
			q.release(second, callAnswered, nil)
		}
	})
}

// At most 200 requests per second are sent for tags that were refused and that nobody asks for, also if many give up,
// and the first one at once.
func TestTakeQueueRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueueTest(t, 1, 4)
		begin := time.Now()
		if ok := q.pace(t.Context()); !ok || time.Since(begin) > 0 {
			t.Errorf("pace = %t after %v", ok, time.Since(begin))
		}
		var gone sync.WaitGroup
		for range 500 {
			gone.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				defer cancel()
				if q.pace(ctx) {
					t.Error("pace did not wait")
				}
			})
		}
		gone.Wait()
		var sent atomic.Int64
		for range 500 {
			q.work.run(func() {
				if q.pace(q.work.ctx) {
					sent.Add(1)
				}
			})
		}
		time.Sleep(time.Second)
		if n := sent.Load(); n < 199 || n > 201 {
			t.Errorf("%d refused requests in a second, want 200", n)
		}
	})
}

// A request whose context ends leaves the queue, also at the moment when it gets its place.
func TestTakeQueueContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueueTest(t, 1, 1)
		for range 100 {
			q.request(q.tag("first", 0), time.Second, callAnswered)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			begin := time.Now()
			p := q.acquire(ctx, q.tag("x", 1), q.all)
			if p != nil {
				q.release(p, callUnknown, nil)
			} else if took := time.Since(begin); took != time.Second {
				t.Fatalf("acquire returned no place after %v", took)
			}
			cancel()
		}
		synctest.Wait()
		q.checkEmpty("at the end")
	})
}

// A request that gets its place at the moment when its context ends gives it back.
func TestTakeQueuePlaceAtEndOfContext(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			q := newQueueTest(t, 1, 1)
			first := q.place(0)
			ctx, cancel := context.WithCancel(t.Context())
			q.work.run(func() {
				if p := q.acquire(ctx, q.tag("x", 0), q.all); p != nil {
					q.release(p, callAnswered, nil)
				}
			})
			synctest.Wait()
			q.takeQueue.mu.Lock()
			cancel()
			for range 10 { // the request waits for the lock now
				runtime.Gosched()
			}
			q.free(first)
			q.dispatch()
			q.takeQueue.mu.Unlock()
			synctest.Wait()
			q.checkEmpty("at the end")
		})
	}
}

// After close, no request is sent, and places that pause do not end their pauses.
func TestTakeQueueClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueueTest(t, 1, 2)
		q.release(q.place(0), callFailed, errDown)
		running := q.place(0)
		q.request(q.tag("x", 1), time.Second, callAnswered)
		q.close()
		q.release(running, callAnswered, nil)
		time.Sleep(time.Minute)
		if n := len(q.sent()); n != 0 {
			t.Errorf("%d requests were sent after close", n)
		}
	})
}

// Requests that only a source without a place can serve do not delay those that another one can, however many they are.
func TestTakeQueueSourceDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueueTest(t, 2, 1)
		hung := q.place(0)
		for range 200 {
			q.requestTo([]int{0}, q.tag("down", 1), 0, callFailed)
		}
		begin := time.Now()
		p := q.acquire(t.Context(), q.tag("x", 1), q.all)
		if p == nil || p.source != 1 || time.Since(begin) > 0 {
			t.Fatalf("acquire = %+v after %v; want source 1 at once", p, time.Since(begin))
		}
		q.release(p, callAnswered, nil)
		q.release(hung, callFailed, errDown)
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
					d := q.tag("x", 0)
					for range 50 {
						ctx, cancel := t.Context(), context.CancelFunc(func() {})
						if random.IntN(3) == 0 {
							ctx, cancel = context.WithTimeout(ctx, time.Duration(random.IntN(500))*time.Millisecond)
						}
						var calls sync.WaitGroup
						for range random.IntN(3) {
							begin, end := time.Duration(random.IntN(100))*time.Millisecond, time.Duration(random.IntN(300))*time.Millisecond
							calls.Go(func() { time.Sleep(begin); d.add(1); time.Sleep(end); d.add(-1) })
						}
						begin := time.Now()
						p := q.acquire(ctx, d, random.Perm(sources)[random.IntN(sources):])
						cancel()
						if took := time.Since(begin); took > 5*time.Minute || p == nil && took > time.Second {
							t.Errorf("seed %d: acquire = %v after %v", seed, p, took)
						}
						if p != nil {
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
						d.end()
						if random.IntN(20) == 0 {
							bad[random.IntN(sources)].Store(random.IntN(2) == 0)
						}
					}
				})
			}
			wg.Wait()
			q.checkEmpty(fmt.Sprintf("seed %d", seed))
		})
	}
}

// A call that no longer waits does not give its tag's requests precedence.
func TestTakeQueueForgetsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newMemorySource(10)
		var hangs atomic.Bool
		src.before = func(ctx context.Context, _ Request) error {
			if hangs.Load() {
				<-ctx.Done()
			}
			return ctx.Err()
		}
		_, s := newTestTags(t, src)
		hangs.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var err error
		for err == nil {
			_, err = s.NextContext(ctx)
		}
		if calls := s.provider.demand.calls; calls != 0 {
			t.Errorf("after %v, %d calls wait for the tag, want 0", err, calls)
		}
	})
}
