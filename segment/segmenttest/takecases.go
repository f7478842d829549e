package segmenttest

import (
	"context"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ringuid/ringuid/segment"
)

// A Take of a tag that does not exist fails, and does not create it.
func testUnknownTag(t *sourceTest) {
	for range 2 {
		t.refused(t.source, segment.Request{Tag: "orders"}, segment.ErrNoTag)
		t.refused(t.source, segment.Request{Tag: "orders", Size: 10, AtLeast: 100}, segment.ErrNoTag)
		t.refused(t.open(), segment.Request{Tag: "orders", Size: 1}, segment.ErrNoTag)
	}
	t.create("orders", segment.TagConfig{})
	t.take(t.open(), segment.Request{Tag: "orders"})
	t.refused(t.source, segment.Request{Tag: "invoices"}, segment.ErrNoTag)
}

// The description is one line without secrets.
func testString(t *sourceTest) {
	for _, s := range t.clients(2) {
		text := s.String()
		if text == "" || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
			t.Errorf("String returned %q; must be one line of text", text)
		}
		t.noSecrets("the description", text)
		if again := s.String(); again != text {
			t.Errorf("String returned %q and then %q; must not change", text, again)
		}
	}
}

// A tag begins with its Start.
func testStart(t *sourceTest) {
	for tag, start := range map[string]int64{"default": 0, "one": 1, "two": 2, "thousand": 1000, "large": 1 << 53, "larger": 1<<62 + 1, "largest": segment.MaxNumber - 100} {
		t.create(tag, segment.TagConfig{Start: start, Step: 10, Description: "a tag of a test: " + strings.Repeat("é", 200)})
		want := max(start, 1)
		got := t.take(t.open(), segment.Request{Tag: tag, Size: 10})
		if got.First < want || got.First >= want+stride(got) {
			t.Errorf("the first range of a tag that starts at %d is %+v; want %d as its first number", start, got, want)
		}
		t.checkLength(segment.Request{Tag: tag, Size: 10}, got, 10)
	}
}

// A range has the size that was asked for, or the tag's step.
func testSizes(t *sourceTest) {
	steps := map[string]int64{"one": 1, "seven": 7, "default": 0, "largest": segment.MaxStep}
	for tag, step := range steps {
		t.create(tag, segment.TagConfig{Step: step})
		if step == 0 {
			step = segment.DefaultStep
		}
		var taken ledger
		for _, size := range []int64{0, 1, 2, 3, 0, 1000, 12345, 1 << 40, 0, 1<<40 - 1, 5} {
			r := segment.Request{Tag: tag, Size: size, AtLeast: taken.end()}
			got := t.take(t.source, r)
			t.checkLength(r, got, step)
			taken.add(got)
		}
		taken.checkDense(t, 1)
	}
}

// Takes one after another, by several clients, return rising ranges without gaps.
func testSequential(t *sourceTest) {
	clients := t.clients(3)
	t.create("orders", segment.TagConfig{Start: 50, Step: 20})
	t.create("invoices", segment.TagConfig{Start: 70})
	var taken, others ledger
	for n := range 60 {
		r := segment.Request{Tag: "orders", Size: int64(n % 7), AtLeast: taken.end()}
		got := t.take(clients[n%3], r)
		t.checkLength(r, got, 20)
		taken.add(got)
		others.add(t.take(clients[n%2], segment.Request{Tag: "invoices", Size: 3, AtLeast: others.end()}))
		if c := t.counter(clients[n%3], "orders"); c < taken.end() {
			t.Fatalf("the counter is %d after the range %+v; must be greater than its last number", c, got)
		}
	}
	taken.checkDense(t, 50)
	others.checkDense(t, 70)
}

// Ranges of concurrent Takes are disjoint, and have no gaps.
func testConcurrent(t *sourceTest) {
	const clients, goroutines, takes = 4, 4, 24
	all := t.clients(clients)
	tags := []string{"orders", "invoices", "tickets"}
	ledgers := make([]ledger, len(tags))
	for _, tag := range tags {
		t.create(tag, segment.TagConfig{Step: 5})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 6*callTimeout)
	defer cancel()
	concurrently(clients*goroutines, func(g int) {
		var ends [3]int64 // what this goroutine remembers
		for n := range takes {
			i := max(n+g, 2) % 5 % 3 // some tags more often than others
			r := segment.Request{Tag: tags[i], Size: int64((n*7 + g) % 9), AtLeast: ends[i]}
			got, err := t.call(ctx, all[g%clients], r)
			if err != nil {
				t.Errorf("Take(%+v), called concurrently: %v", r, err)
				return
			}
			t.checkLength(r, got, 5)
			ledgers[i].add(got)
			ends[i] = last(got) + 1
		}
	})
	for i := range ledgers {
		ledgers[i].checkDense(t, 1)
	}
}

// A Take whose AtLeast is greater than the counter is refused, and changes nothing.
func testAtLeast(t *sourceTest) {
	t.create("orders", segment.TagConfig{Start: 100, Step: 10})
	other := t.open()
	var taken ledger
	for range 5 {
		next := t.counter(t.source, "orders")
		for n, size := range []int64{0, 1, 10, segment.MaxStep, 0} {
			for _, atLeast := range []int64{next + 1, next + 5, next + 10, next + 1000, 1 << 62, math.MaxInt64} {
				r := segment.Request{Tag: "orders", Size: size, AtLeast: atLeast}
				if e := t.setBack([]segment.Creator{t.source, other}[n%2], r); e.Counter != next {
					t.Fatalf("Take(%+v) reported the counter %d; want %d, because a Take that is refused changes nothing", r, e.Counter, next)
				}
			}
		}
		// The counter itself is acceptable.
		got := t.take(other, segment.Request{Tag: "orders", AtLeast: next})
		if got.First != next {
			t.Fatalf("after refused Takes, which must change nothing, the next range is %+v; want %d as its first number", got, next)
		}
		taken.add(got)
	}
	// Numbers beyond 2^53, which have no exact floating-point number.
	for tag, start := range map[string]int64{"large": 1<<53 + 1, "larger": 1<<62 + 1, "largest": segment.MaxNumber - 100} {
		t.create(tag, segment.TagConfig{Start: start, Step: 10})
		for _, more := range []int64{1, 2, 50} {
			if e := t.setBack(other, segment.Request{Tag: tag, AtLeast: start + more}); e.Counter != start {
				t.Fatalf("a Take of a tag that starts at %d reported the counter %d", start, e.Counter)
			}
		}
		if got := t.take(other, segment.Request{Tag: tag, AtLeast: start}); got.First != start {
			t.Fatalf("the first range of a tag that starts at %d is %+v", start, got)
		}
	}
	// Takes that are refused at the same time.
	next := t.counter(t.source, "orders")
	concurrently(8, func(n int) {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		for range 10 {
			r := segment.Request{Tag: "orders", Size: int64(n), AtLeast: next + 1 + int64(n)}
			if got, err := t.call(ctx, []segment.Creator{t.source, other}[n%2], r); err == nil {
				t.Errorf("Take(%+v) returned the range %+v although the counter is %d", r, got, next)
			}
		}
	})
	if c := t.counter(t.source, "orders"); c != next {
		t.Errorf("after Takes that were refused, the counter is %d; want %d, as before", c, next)
	}
	taken.add(t.take(t.source, segment.Request{Tag: "orders"}))
	taken.check(t)
}
