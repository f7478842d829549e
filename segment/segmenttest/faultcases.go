package segmenttest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/segment"
)

// A Take whose reply is lost leaves a gap. It is sent once.
func testRepliesLost(t *sourceTest) {
	const size = 10
	other := t.open()
	t.create("orders", segment.TagConfig{Step: size})
	var taken ledger
	for round := range 4 {
		taken.add(t.recovered(t.source, segment.Request{Tag: "orders", AtLeast: taken.end()}))
		before := taken.end()
		lost := int64(0)
		t.h.LoseReplies(t.TB, func() {
			for range 1 + round%2 {
				r := segment.Request{Tag: "orders", AtLeast: taken.end()}
				t.inTime("a Take whose reply is lost", time.Second, func(ctx context.Context) {
					lost++
					got, err := t.call(ctx, t.source, r)
					if err == nil {
						taken.add(got)
						return
					}
					t.checkFault(err)
				})
			}
		})
		// Another client goes on, and then the first one. In some rounds, they remember nothing.
		request := func() segment.Request {
			return segment.Request{Tag: "orders", AtLeast: int64(round%2) * taken.end()}
		}
		if got := t.recovered(other, request()); got.First > before+lost*size && stride(got) == 1 {
			t.Errorf("%d Takes of %d numbers whose replies were lost moved the counter from %d to %d: a Take was sent more than once", lost, size, before, got.First)
		} else {
			taken.add(got)
		}
		for range 2 {
			taken.add(t.recovered(t.source, request()))
			taken.add(t.recovered(other, request()))
		}
		taken.check(t)
		if t.Failed() {
			return
		}
	}
}

// A CreateTag whose reply is lost may have created the tag.
func testRepliesOfCreateTagLost(t *sourceTest) {
	t.create("invoices", segment.TagConfig{})
	t.take(t.source, segment.Request{Tag: "invoices"})
	t.h.LoseReplies(t.TB, func() {
		t.inTime("a CreateTag whose reply is lost", time.Second, func(ctx context.Context) {
			if err := t.source.CreateTag(ctx, "orders", segment.TagConfig{Start: 100, Step: 10}); err != nil {
				t.checkFault(err)
			}
		})
	})
	t.recovered(t.source, segment.Request{Tag: "invoices"})
	if err := t.createErr(t.open(), "orders", segment.TagConfig{Start: 100, Step: 10}); err != nil && !errors.Is(err, segment.ErrTagExists) {
		t.Fatalf("a second CreateTag, after one whose reply was lost: %v; want nil, or an error that wraps %q", err, segment.ErrTagExists)
	}
	if got := t.take(t.source, segment.Request{Tag: "orders"}); got.First < 100 || got.First >= 100+stride(got) {
		t.Errorf("the first range of a tag that starts at 100 is %+v", got)
	}
}

// takers are goroutines that call Take. Errors are those of faults.
type takers struct {
	t       *sourceTest
	taken   ledger
	running atomic.Int64 // calls
	failed  atomic.Int64 // calls
	stopped atomic.Bool
	done    chan struct{}
}

// takers starts n goroutines. Each call may take up to timeout.
func (t *sourceTest) takers(n int, timeout time.Duration) *takers {
	k := &takers{t: t, done: make(chan struct{})}
	clients := t.clients(n)
	go func() {
		defer close(k.done)
		concurrently(n, func(g int) {
			var end int64 // what this goroutine remembers
			for !k.stopped.Load() {
				ctx, cancel := context.WithTimeout(context.Background(), timeout)
				k.running.Add(1)
				got, err := t.call(ctx, clients[g], segment.Request{Tag: "orders", Size: int64(g), AtLeast: int64(g%2) * end})
				k.running.Add(-1)
				cancel()
				if err != nil {
					t.checkFault(err)
					k.failed.Add(1)
					time.Sleep(5 * time.Millisecond)
					continue
				}
				k.taken.add(got)
				end = last(got) + 1
			}
		})
	}()
	return k
}

// stop ends the goroutines.
func (k *takers) stop() {
	k.stopped.Store(true)
	<-k.done
}

// more waits until there are n more ranges.
func (k *takers) more(n int, when string) {
	k.t.Helper()
	want := k.taken.count() + n
	k.t.retry("Takes "+when, func() error {
		if missing := want - k.taken.count(); missing > 0 {
			return fmt.Errorf("%d of %d ranges are missing", missing, n)
		}
		return nil
	})
}

// A server that is killed during Takes hands out no number twice.
func testKilled(t *sourceTest) {
	t.create("orders", segment.TagConfig{Step: 10})
	k := t.takers(4, 2*time.Second)
	defer k.stop()
	for range testkit.Size(3, 40) {
		k.more(20, "before the server is killed")
		t.retry("Takes before the server is killed", func() error {
			if k.running.Load() == 0 { // most of the time, some run
				return errors.New("none runs")
			}
			return nil
		})
		t.h.Kill(t.TB)
		t.h.Start(t.TB)
		k.more(20, "after the server was started again")
	}
	k.stop()
	k.taken.check(t)
}

// While the server is paused, Takes return when their contexts end. What it executes afterwards is a gap.
func testPaused(t *sourceTest) {
	t.create("orders", segment.TagConfig{Step: 10})
	var taken ledger
	taken.add(t.take(t.source, segment.Request{Tag: "orders"}))
	k := t.takers(4, 500*time.Millisecond)
	defer k.stop()
	for range testkit.Size(2, 15) {
		k.more(10, "before the server is paused")
		func() {
			t.h.Pause(t.TB)
			defer t.h.Resume(t.TB)
			t.inTime("a Take while the server is paused", 300*time.Millisecond, func(ctx context.Context) {
				if got, err := t.call(ctx, t.source, segment.Request{Tag: "orders"}); err == nil {
					taken.add(got)
				} else {
					t.checkFault(err)
				}
			})
			failed := k.failed.Load()
			t.retry("Takes while the server is paused", func() error {
				if k.failed.Load() < failed+4 {
					return errors.New("they do not end with their contexts")
				}
				return nil
			})
		}()
		k.more(10, "after the server was continued")
		for range 5 {
			taken.add(t.recovered(t.source, segment.Request{Tag: "orders"}))
			taken.add(t.recovered(t.open(), segment.Request{Tag: "orders"}))
		}
	}
	k.stop()
	for _, r := range k.taken.ranges {
		taken.add(r)
	}
	taken.check(t)
}

// A store that has lost acknowledged writes hands out no number again.
func testWritesLost(t *sourceTest) {
	t.create("orders", segment.TagConfig{Step: 10})
	t.create("invoices", segment.TagConfig{Step: 10})
	var orders, invoices ledger
	for range 3 {
		for range 3 {
			orders.add(t.recovered(t.source, segment.Request{Tag: "orders"}))
			invoices.add(t.recovered(t.source, segment.Request{Tag: "invoices"}))
		}
		t.h.LoseWrites(t.TB, func() {
			for range 5 {
				orders.add(t.take(t.source, segment.Request{Tag: "orders", Size: 100}))
				invoices.add(t.take(t.open(), segment.Request{Tag: "invoices"}))
			}
		})
		// A process that has just started remembers nothing.
		orders.add(t.recovered(t.open(), segment.Request{Tag: "orders"}))
		orders.check(t)
		orders.add(t.recovered(t.source, segment.Request{Tag: "orders", AtLeast: orders.end()}))
		invoices.add(t.recovered(t.source, segment.Request{Tag: "invoices", AtLeast: invoices.end()}))
		invoices.add(t.recovered(t.open(), segment.Request{Tag: "invoices"}))
		orders.check(t)
		invoices.check(t)
		if t.Failed() {
			return
		}
	}
}

// A tag whose creation was lost does not begin again at its start, unless the caller says that it is new.
func testTagsLost(t *sourceTest) {
	t.create("orders", segment.TagConfig{})
	t.take(t.source, segment.Request{Tag: "orders"})
	before := time.Now().Add(-time.Minute)
	var taken ledger
	t.h.LoseWrites(t.TB, func() {
		t.create("day", segment.TagConfig{Step: 10, UnusedBefore: before})
		for range 3 {
			taken.add(t.take(t.source, segment.Request{Tag: "day"}))
		}
	})
	t.recovered(t.source, segment.Request{Tag: "orders"})
	switch err := t.createErr(t.open(), "day", segment.TagConfig{Step: 10, UnusedBefore: before}); {
	case errors.Is(err, segment.ErrTagExists):
		t.Logf("the creation of the tag was not lost")
	case errors.Is(err, segment.ErrNoTag):
		t.Logf("the tag was lost, and is not created automatically: %v", err)
		return
	case err != nil:
		t.Fatalf("CreateTag of a tag that was lost: %v", err)
	}
	for range 3 {
		taken.add(t.take(t.source, segment.Request{Tag: "day"}))
	}
	taken.check(t)
}

// Those who remember more than a store that has lost writes unnoticed refuse it, and change nothing.
func testWritesLostUnnoticed(t *sourceTest) {
	t.create("orders", segment.TagConfig{Step: 10})
	var taken ledger
	taken.add(t.take(t.source, segment.Request{Tag: "orders"}))
	t.h.LoseWritesUnnoticed(t.TB, func() {
		for range 3 {
			taken.add(t.take(t.source, segment.Request{Tag: "orders", Size: 1000, AtLeast: taken.end()}))
		}
	})
	var refusal *segment.SetBackError // the first one
	for range 10 {
		t.retry("Take after the store has lost writes", func() error {
			ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
			defer cancel()
			got, err := t.call(ctx, t.source, segment.Request{Tag: "orders", AtLeast: taken.end()})
			switch {
			case err == nil:
				taken.add(got)
			case errors.Is(err, segment.ErrSetBack):
				var e *segment.SetBackError
				if !errors.As(err, &e) || refusal != nil && e.Counter != refusal.Counter {
					t.Fatalf("Takes of a counter that was set back returned %#v and %#v; want *segment.SetBackErrors of one counter, because a Take that is refused changes nothing", refusal, err)
				}
				refusal = e
			case !errors.Is(err, segment.ErrNoTag) && !errors.Is(err, segment.ErrSource):
				return err
			}
			return nil
		})
	}
	taken.check(t)
}
