package segment

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

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
			var out lockedBuffer
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
