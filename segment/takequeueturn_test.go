package segment

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Requests that only a source without a place can serve do not delay those that another one can, however many they are.
func TestTakeQueueSourceDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueueTest(t, 2, 1)
		hung, err := q.acquire(t.Context(), "hung", new(demand), []candidate{{source: 0}}, earlyTake)
		if err != nil {
			t.Fatal(err)
		}
		for range 200 {
			d := awaited()
			q.work.run(func() {
				if p, err := q.acquire(q.work.ctx, "down", d, []candidate{{source: 0}}, earlyTake); err == nil {
					q.release(p, callFailed, errDown)
				}
			})
			synctest.Wait()
		}
		begin := time.Now()
		p, err := q.acquire(t.Context(), "x", awaited(), []candidate{{source: 0}, {source: 1}}, earlyTake)
		if err != nil || p.source != 1 || time.Since(begin) > 0 {
			t.Fatalf("acquire = %+v, %v after %v; want source 1 at once", p, err, time.Since(begin))
		}
		q.release(p, callAnswered, nil)
		q.release(hung, callFailed, errDown)
	})
}

// A request whose calls come and go keeps its turn.
func TestTakeQueueCallsComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueueTest(t, 1, 1)
		d := new(demand)
		q.request("first", new(demand), earlyTake, time.Second, callAnswered)
		q.request("x", d, earlyTake, time.Second, callAnswered)
		time.Sleep(100 * time.Millisecond)
		for n := range 12 {
			q.request(fmt.Sprint("early", n), new(demand), earlyTake, time.Second, callAnswered)
			q.request(fmt.Sprint("awaited", n), awaited(), earlyTake, time.Second, callAnswered)
			d.enter()
			d.leave()
			time.Sleep(time.Second) // one of them is sent
		}
		if sent := q.sent(); !slices.Contains(sent[:min(5, len(sent))], "x") {
			t.Errorf("the requests were sent in the order %q; x has waited longest", sent)
		}
	})
}

// Requests of the same instant are sent in their order, also if they can be sent to different sources.
func TestTakeQueueSameInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for n := range 20 {
			q := newQueueTest(t, 2, 1)
			hold := func(source int) *takePlace {
				p, err := q.acquire(t.Context(), "hold", new(demand), []candidate{{source: source}}, earlyTake)
				if err != nil {
					t.Fatal(err)
				}
				return p
			}
			first, second := hold(0), hold(1)
			var order []string
			send := func(tag string, candidates ...candidate) {
				q.work.run(func() {
					if p, err := q.acquire(q.work.ctx, tag, new(demand), candidates, earlyTake); err == nil {
						order = append(order, tag)
						time.Sleep(time.Second)
						q.release(p, callAnswered, nil)
					}
				})
				synctest.Wait()
			}
			narrow, wide := []candidate{{source: 0}}, []candidate{{source: 0}, {source: 1}}
			if n%2 == 1 {
				narrow, wide = wide, narrow
			}
			send("a", narrow...)
			send("b", wide...)
			q.release(first, callAnswered, nil)
			time.Sleep(5 * time.Second)
			synctest.Wait()
			if got := strings.Join(order, ""); got != "ab" {
				t.Errorf("the requests were sent in the order %q", got)
			}
			q.release(second, callAnswered, nil)
		}
	})
}

// A request that gets its place at the moment when its context ends gives it back.
func TestTakeQueuePlaceAtEndOfContext(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			q := newQueueTest(t, 1, 1)
			candidates := []candidate{{source: 0}}
			first, err := q.acquire(t.Context(), "first", new(demand), candidates, earlyTake)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			q.work.run(func() {
				if p, err := q.acquire(ctx, "x", new(demand), candidates, earlyTake); err == nil {
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
			if n := q.sources[0].running; n != 0 {
				t.Fatalf("%d places are taken at the end", n)
			}
		})
	}
}
