package segment

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// switchedSource is a source in memory that fails while it is down.
type switchedSource struct {
	next atomic.Int64
	down atomic.Bool
}

var errSwitchedOff = errors.New("switched off")

func (s *switchedSource) String() string { return "switched source" }

func (s *switchedSource) Take(_ context.Context, r Request) (Range, error) {
	if s.down.Load() {
		return Range{}, errSwitchedOff
	}
	size := max(r.Size, 10)
	return Range{First: s.next.Add(size) - size, Length: size, Step: 10}, nil
}

// A stripe that fails while the other one serves is seen in Sources and in the log, once, and until it works again.
func TestFailingStripeIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		bad, good := new(switchedSource), new(switchedSource)
		s, err := New(t.Context(), NewGroup(Stripe(0, 2, bad), Stripe(1, 2, good)), "orders", WithStepPolicy(FixedStep{}),
			WithLogger(slog.New(slog.NewTextHandler(&text, nil))))
		if err != nil {
			t.Fatal(err)
		}
		take := func() {
			for range 200 {
				if _, err := s.Next(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(100 * time.Millisecond)
			}
		}
		for _, state := range s.Sources() {
			if state.LastError != nil || !state.FailingSince.IsZero() || state.End == 0 || !strings.Contains(state.Source, "switched") {
				t.Errorf("before the failure: %+v", state)
			}
		}
		bad.down.Store(true)
		begin := time.Now()
		take()
		states := s.Sources()
		if !errors.Is(states[0].LastError, errSwitchedOff) || states[0].FailingSince.Before(begin) || states[0].FailingSince.After(begin.Add(5*time.Second)) {
			t.Errorf("the stripe that fails: %+v; want its error since about %v", states[0], begin)
		}
		if states[1].LastError != nil || s.Stats().LastError != nil || !s.Health().OK() {
			t.Errorf("the other stripe: %+v; Stats %+v; Health %+v", states[1], s.Stats(), s.Health())
		}
		bad.down.Store(false)
		take()
		if states := s.Sources(); states[0].LastError != nil || !states[0].FailingSince.IsZero() {
			t.Errorf("after the failure: %+v", states[0])
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for _, want := range []string{"a stripe has failed", "the stripe works again", "switched off"} {
			if n := strings.Count(text.String(), want); n != 1 {
				t.Errorf("%q is %d times in the log, want once:\n%s", want, n, text.String())
			}
		}
	})
	if s := (*Sequence)(nil).Sources(); s != nil {
		t.Errorf("Sources of nil: %v", s)
	}
}

// A stripe that fails is asked again from time to time, and not for each range.
func TestFailingStripeIsAskedFromTimeToTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		bad := sourceFunc(func(context.Context, Request) (Range, error) { asked.Add(1); return Range{}, errDown })
		s := newTestSequence(t, NewGroup(Stripe(0, 2, bad), Stripe(1, 2, new(switchedSource))), WithStepPolicy(FixedStep{}))
		for range 1000 { // a range lasts for a second
			if _, err := s.Next(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if n := asked.Load(); n < 10 || n > 40 {
			t.Errorf("a stripe that fails was asked %d times in 100 s, want 10 to 40", n)
		}
	})
}
