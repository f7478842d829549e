package segmenttest

import (
	"context"
	"errors"
	"time"

	"github.com/ringuid/ringuid/segment"
)

// A counter that an operator sets back is noticed by those who remember more, and only by them.
func testSetBack(t *sourceTest) {
	t.create("orders", segment.TagConfig{Start: 1000, Step: 10})
	t.create("invoices", segment.TagConfig{Start: 1000, Step: 10})
	end := last(t.take(t.source, segment.Request{Tag: "orders"})) + 1
	other := t.open()
	t.h.SetCounter(t.TB, "orders", 500)
	for n := range 30 {
		r := segment.Request{Tag: "orders", Size: int64(n % 3 * 100), AtLeast: end}
		if e := t.setBack([]segment.Creator{t.source, other}[n%2], r); e.Counter != 500 {
			t.Fatalf("Take(%+v) of a counter that was set to 500 reported the counter %d; want 500, because a Take that is refused changes nothing", r, e.Counter)
		}
	}
	if got := t.take(t.open(), segment.Request{Tag: "orders"}); got.First != 500 {
		t.Errorf("after refused Takes of a counter that was set to 500, the next range is %+v; want 500 as its first number", got)
	}
	t.take(t.source, segment.Request{Tag: "invoices", AtLeast: 1000}) // another tag, which was not set back
	t.h.SetCounter(t.TB, "orders", end+5)
	if got := t.take(t.source, segment.Request{Tag: "orders", AtLeast: end}); got.First != end+5 {
		t.Errorf("after the counter was set to %d, the next range is %+v", end+5, got)
	}
}

// AtLeast is compared in the same step in which the counter is raised: a counter that is set back during a
// Take is either raised before that, or refused and not changed.
func testSetBackDuringTakes(t *sourceTest) {
	const rounds, takers, low, atLeast = 25, 4, 1000, 1 << 30
	clients := t.clients(takers)
	t.create("orders", segment.TagConfig{Start: atLeast, Step: 10})
	for range rounds {
		t.h.SetCounter(t.TB, "orders", atLeast)
		// The counter is set back after some Takes have succeeded, and while others run.
		succeeded := make(chan struct{}, 1000)
		setBack := make(chan struct{})
		go func() {
			defer close(setBack)
			for range takers {
				<-succeeded
			}
			t.h.SetCounter(t.TB, "orders", low)
		}()
		concurrently(takers, func(n int) {
			deadline := time.Now().Add(callTimeout)
			for {
				ctx, cancel := context.WithDeadline(context.Background(), deadline)
				_, err := t.call(ctx, clients[n], segment.Request{Tag: "orders", AtLeast: atLeast})
				cancel()
				switch {
				case errors.Is(err, segment.ErrSetBack):
					return
				case err != nil:
					t.Errorf("Take while the counter is set back: %v", err)
				}
				select {
				case succeeded <- struct{}{}:
				default:
				}
				if time.Now().After(deadline) {
					t.Errorf("no Take was refused within %v, although the counter was set back", callTimeout)
					return
				}
			}
		})
		<-setBack
		if c := t.counter(t.source, "orders"); c != low {
			t.Fatalf("the counter was set to %d while Takes ran, and is %d after all that followed were refused: AtLeast must be compared in the same atomic step that raises the counter", low, c)
		}
		if t.Failed() {
			return
		}
	}
}

// A counter that is set forward leaves a gap.
func testSetForward(t *sourceTest) {
	t.create("orders", segment.TagConfig{Step: 10})
	var taken ledger
	taken.add(t.take(t.source, segment.Request{Tag: "orders"}))
	for _, next := range []int64{12, 1000, 1 << 53, 1 << 62} {
		t.h.SetCounter(t.TB, "orders", next)
		got := t.take(t.source, segment.Request{Tag: "orders", AtLeast: taken.end()})
		if got.First != next {
			t.Errorf("after the counter was set to %d, the next range is %+v", next, got)
		}
		taken.add(got)
	}
	taken.check(t)
}
