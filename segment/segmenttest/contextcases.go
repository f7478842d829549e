package segmenttest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/leaktest"
	"github.com/ringuid/ringuid/segment"
)

// A call whose context has ended fails, and changes nothing.
func testContextEnded(t *sourceTest) {
	t.create("orders", segment.TagConfig{Start: 100})
	for range 10 {
		t.inTime("a call with a context that has ended", 0, func(ctx context.Context) {
			<-ctx.Done()
			if got, err := t.call(ctx, t.source, segment.Request{Tag: "orders"}); err == nil {
				t.Errorf("Take with a context that has ended returned %+v", got)
			} else {
				t.checkFault(err)
			}
			if err := t.source.CreateTag(ctx, "invoices", segment.TagConfig{}); err == nil {
				t.Errorf("CreateTag with a context that has ended returned no error")
			}
		})
	}
	if c := t.counter(t.source, "orders"); c < 100 || c >= 200 {
		t.Errorf("after Takes with a context that had ended, the counter is %d; want 100", c)
	}
	t.refused(t.source, segment.Request{Tag: "invoices"}, segment.ErrNoTag)
}

// A Take whose context ends returns soon, and what it has reserved is a gap.
func testContextEndsDuringTakes(t *sourceTest) {
	const takers, takes = 4, 60
	clients := t.clients(takers)
	t.create("orders", segment.TagConfig{Step: 10})
	var taken ledger
	var failed sync.Map
	concurrently(takers, func(g int) {
		var longest time.Duration // that a Take took
		for n := range takes {
			bound := callTimeout
			if n >= 10 {
				bound = rand.N(2*longest + time.Microsecond)
			}
			ctx, cancel := context.WithTimeout(context.Background(), bound)
			started := time.Now()
			got, err := t.call(ctx, clients[g], segment.Request{Tag: "orders"})
			took := time.Since(started)
			cancel()
			if took > bound+afterContext {
				t.Errorf("Take returned %v after its context ended; must return soon", took-bound)
				return
			}
			switch {
			case err == nil:
				taken.add(got)
			case n < 10:
				t.Errorf("Take with time enough: %v", err)
			default:
				t.checkFault(err)
				failed.Store([2]int{g, n}, true)
			}
			if n < 10 {
				longest = max(longest, took)
			}
		}
	})
	taken.add(t.take(t.source, segment.Request{Tag: "orders"})) // without AtLeast: numbers that come twice are reported
	taken.check(t)
	n := 0
	failed.Range(func(any, any) bool { n++; return true })
	t.Logf("%d Takes returned ranges, and %d failed because their contexts ended", taken.count(), n)
}

// Calls leave no goroutines behind, whether they succeed or fail.
func testNoGoroutineLeak(t *sourceTest) {
	t.create("orders", segment.TagConfig{})
	calls := func() {
		concurrently(4, func(int) {
			for n := range 12 {
				bound := callTimeout
				if n%2 == 1 {
					bound = rand.N(time.Millisecond)
				}
				ctx, cancel := context.WithTimeout(context.Background(), bound)
				t.call(ctx, t.source, segment.Request{Tag: "orders"})
				cancel()
			}
		})
	}
	group := leaktest.NewGroup()
	group.Do(calls) // opens connections, which may have goroutines
	before, _ := group.Count()
	group.Do(calls)
	const tolerated = 12 // connections that were opened again; the calls were 48
	t.retry("48 calls more", func() error {
		after, profile := group.Count()
		if after <= before+tolerated {
			return nil
		}
		return fmt.Errorf("they left %d goroutines, and as many calls before left %d: the source starts goroutines that do not end\n%s", after, before, profile)
	})
}
