package segment

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
)

// Failures let places pause, from 10 ms to a second and more, so that requests per second are limited, and the first
// answer ends all pauses.
func TestTakeQueuePauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 4
		q := newQueueTest(t, 1, limit)
		for n := range 500 {
			q.request(q.tag(fmt.Sprint(n), 0), 0, callFailed)
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
		if n, left := len(q.sent()), q.waiting.Len(); n < 100 || left > 0 {
			t.Errorf("%d requests were sent after the first answer, and %d wait", n, left)
		}
	})
}

// The first pauses are short, for all places: a source that was down for a moment is asked again soon.
func TestTakeQueueShortPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 4
		q := newQueueTest(t, 1, limit)
		for n := range 100 {
			q.request(q.tag(fmt.Sprint(n), 0), 0, callFailed)
		}
		time.Sleep(50 * time.Millisecond) // 10 ms and 20 ms, and a half more of each
		if n := len(q.sent()); n < 3*limit || n > 5*limit {
			t.Errorf("%d requests in the first 50 ms, want %d to %d", n, 3*limit, 5*limit)
		}
	})
}

// The places of calls that have failed pause until one pause is over: then one request is sent, and if it is answered,
// all are.
func TestTakeQueueProbe(t *testing.T) {
	for _, outcome := range []callOutcome{callFailed, callAnswered, callUnknown} {
		synctest.Test(t, func(t *testing.T) {
			q := newQueueTest(t, 1, 2)
			q.release(q.place(0), callAnswered, nil)
			first, second := q.place(0), q.place(0)
			q.release(first, callFailed, errDown)
			time.Sleep(9 * time.Millisecond) // the pauses are 10 to 15 ms, and end one after the other
			q.release(second, callFailed, errDown)
			for n := range 10 {
				q.request(q.tag(fmt.Sprint(n), 0), time.Millisecond, outcome)
			}
			if n := len(q.sent()); n != 0 {
				t.Errorf("%d requests were sent at once", n)
			}
			anySent := func() bool {
				q.mu.Lock()
				defer q.mu.Unlock()
				return len(q.order) > 0
			}
			for !anySent() {
				time.Sleep(time.Microsecond)
				synctest.Wait()
			}
			time.Sleep(time.Millisecond) // the first one has an outcome
			synctest.Wait()
			if n, want := len(q.sent()), map[callOutcome]int{callFailed: 1, callAnswered: 3, callUnknown: 2}[outcome]; n != want {
				t.Errorf("%d requests were sent until the first one had the outcome %d, want %d", n, outcome, want)
			}
		})
	}
}

// A call that does not return loses its place, so that others are sent. When it returns, it has failed only once, or
// its source works.
func TestTakeQueueOverdue(t *testing.T) {
	for _, outcome := range []callOutcome{callFailed, callAnswered, callUnknown} {
		synctest.Test(t, func(t *testing.T) {
			q := newQueueTest(t, 1, 1)
			q.request(q.tag("overdue", 0), time.Minute, outcome)
			q.request(q.tag("next", 0), 0, callUnknown)
			time.Sleep(time.Second)
			if got := q.sent(); len(got) != 1 {
				t.Errorf("%q were sent before the timeout", got)
			}
			time.Sleep(2 * time.Second)
			if got := q.sent(); len(got) != 1 {
				t.Errorf("%q were sent after the timeout, want the next one", got)
			}
			if s := q.states()[0]; s.LastError != errOverdue {
				t.Errorf("the state is %+v, want an overdue call", s)
			}
			held := q.place(0) // is not given back with that of the overdue call
			q.takeQueue.mu.Lock()
			q.timeout = time.Hour
			q.takeQueue.mu.Unlock()
			q.release(held, callUnknown, nil)
			held = q.place(0)
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			want := 1
			if outcome == callAnswered {
				want = 0
			}
			if s := q.sources[0]; len(s.places) != 1 || s.failures != want {
				t.Errorf("%d places are taken after %d failures, want 1 and %d", len(s.places), s.failures, want)
			}
			q.release(held, callUnknown, nil)
			q.checkEmpty("at the end")
		})
	}
}

// A request goes to the first of its sources that has a place. One that fails while another one works has one place, and
// all of its places if no source works.
func TestTakeQueueSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueueTest(t, 2, 3)
		q.takeQueue.timeout = time.Hour
		take := func(want int, sources ...int) *takePlace {
			t.Helper()
			p := q.place(sources...)
			if p.source != want {
				t.Fatalf("a request for %d was sent to source %d, want %d", sources, p.source, want)
			}
			return p
		}
		fails := take(0, 0, 1)
		q.release(fails, callFailed, errDown)
		works := []*takePlace{take(1, 0, 1), take(1, 0, 1)} // the place of source 0 pauses
		time.Sleep(time.Minute)
		hangs := take(0, 0, 1)
		works = append(works, take(1, 0, 1))
		q.requestTo([]int{0, 1}, q.tag("x", 0), time.Hour, callUnknown)
		if n := len(q.sent()); n > 0 {
			t.Errorf("%d requests were sent, although source 0 hangs and source 1 has no place", n)
		}
		q.release(works[0], callFailed, errDown)
		synctest.Wait()
		if n := len(q.sent()); n != 1 || len(q.sources[0].places) != 2 {
			t.Errorf("%d requests were sent, and source 0 has %d, although no source works", n, len(q.sources[0].places))
		}
		q.release(works[1], callAnswered, nil)
		take(1, 0, 1)
		q.release(hangs, callAnswered, nil)
		take(0, 0, 1)
	})
}

// The state of a source has the time of the first failure, and the last error, until it answers.
func TestTakeQueueStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueueTest(t, 1, 1)
		time.Sleep(time.Second)
		begin := time.Now()
		for n := range 5 {
			q.request(q.tag("x", 0), 0, callFailed)
			time.Sleep(2 * time.Second)
			if s := q.states()[0]; s.Source != "source0" || s.LastError != errDown || !s.FailingSince.Equal(begin) {
				t.Errorf("the state after %d failures = %+v, want it to fail since %v", n+1, s, begin)
			}
		}
		q.request(q.tag("x", 0), 0, callAnswered)
		time.Sleep(2 * time.Second)
		if s := q.states()[0]; s.LastError != nil || !s.FailingSince.IsZero() {
			t.Errorf("the state after an answer = %+v", s)
		}
	})
}

// Each log of failures has a record when a series begins, but not before a minute has passed since the last one, and a
// record of its end only if it had one of its beginning.
func TestFailuresAreLoggedOnceAMinute(t *testing.T) {
	for name, setUp := range map[string]func(t *testing.T, log *slog.Logger) (fail, work func()){
		"source of a Tags": func(t *testing.T, log *slog.Logger) (fail, work func()) {
			q := newQueueTest(t, 1, 16)
			q.log = newTagsLog(log, q.work)
			return func() { q.release(q.place(0), callFailed, errDown) }, func() { q.release(q.place(0), callAnswered, nil) }
		},
		"tag of a Tags": func(t *testing.T, log *slog.Logger) (fail, work func()) {
			q := newQueueTest(t, 1, 1)
			q.log = newTagsLog(log, q.work)
			m := &member{name: "source0"}
			p := &provider{tag: "x", sources: []*member{m}, queue: q.takeQueue}
			p.state.Ranges = 1
			return func() { p.logTag(m, ErrSetBack) }, func() { p.logTag(m, nil) }
		},
		"stripe": func(t *testing.T, log *slog.Logger) (fail, work func()) {
			s := newTestSequence(t, NewGroup(Stripe(0, 2, new(switchedSource)), Stripe(1, 2, new(switchedSource))), WithLogger(log))
			m := s.provider.sources[0]
			return func() { m.fail(errDown, time.Now()); s.provider.logMembers() }, func() { m.succeed(); s.provider.logMembers() }
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out testkit.Buffer
			fail, work := setUp(t, slog.New(slog.NewTextHandler(&out, nil)))
			begin := time.Now()
			for _, at := range []time.Duration{0, time.Minute - 1, time.Minute, 100 * time.Second, 2 * time.Minute} {
				time.Sleep(time.Until(begin.Add(at)))
				synctest.Wait()
				before := strings.Count(out.String(), "INFO")
				fail()
				fail()
				synctest.Wait()
				if n := strings.Count(out.String(), "INFO"); n != before && name != "tag of a Tags" { // which logs later
					t.Errorf("%s: %d records that it works, although it has failed", name, n-before)
				}
				work()
				work()
			}
			time.Sleep(5 * time.Second)
			synctest.Wait()
			failed, worked := strings.Count(out.String(), "WARN"), strings.Count(out.String(), "INFO")
			if failed != 3 || worked != 3 {
				t.Errorf("%s: %d records of failures and %d that it works, want those of the seconds 0, 60 and 120:\n%s", name, failed, worked, out.String())
			}
		})
	}
}

// A request that a source has failed is sent to the others, also if their places were taken before, and not to that source again.
func TestEachSourceIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueueTest(t, 2, 1)
		busy := q.place(0)
		var asked []int
		source := func(n int, err error) Source {
			return sourceFunc(func(context.Context, Request) (Range, error) {
				asked = append(asked, n)
				return Range{First: 1, Length: 10}, err
			})
		}
		p := newTestProvider(t, source(0, nil))
		p.sources = append(p.sources, &member{source: source(1, errDown), name: "source1"})
		p.queue, p.demand = q.takeQueue, q.tag(testTag, 1)
		time.AfterFunc(time.Second/2, func() { q.release(busy, callAnswered, nil) })
		if r, _, err := p.take(t.Context(), 10); err != nil || r.Length != 10 || !slices.Equal(asked, []int{1, 0}) {
			t.Errorf("take returned %+v, %v; the sources %v were asked; want 1 and then 0", r, err, asked)
		}
	})
}
