package segment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/ringbuffer"
)

// badSources are sources that behave badly in one call, and what the error must contain.
func badSources() map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"segment: closed":                       func(context.Context) error { return ErrClosed },
		"segment: still running":                func(context.Context) error { return fmt.Errorf("%w: x", ErrBusy) },
		"segment: tag \"other\"":                func(context.Context) error { return &EmptyError{Tag: "other"} },
		"ringbuffer: closed":                    func(context.Context) error { return ringbuffer.ErrClosed },
		"ringbuffer: the provider is exhausted": func(context.Context) error { return ringbuffer.ErrExhausted },
		"ringbuffer: empty":                     func(context.Context) error { return &ringbuffer.EmptyError{} },
		"ringbuffer: no run yet":                func(context.Context) error { return &ringbuffer.NotYetError{After: time.Hour} },
		"ringbuffer: bad configuration":         func(context.Context) error { return ringbuffer.ErrConfig },
		"no range arrived in time":              func(context.Context) error { return errNotInTime },
		"context deadline exceeded":             hangUntilDone,
		"context canceled":                      func(context.Context) error { return context.Canceled },
		"function: <nil>":                       func(context.Context) error { return (*pathError)(nil) },
		"PANIC=Error method: no text":           func(context.Context) error { return panickingError{} },
	}
}

func hangUntilDone(ctx context.Context) error { return hang(ctx, Request{}) }

type pathError struct{ path string }

func (e *pathError) Error() string { return e.path }

type panickingError struct{}

func (panickingError) Error() string { panic("no text") }

// Whatever a source does, callers get an *EmptyError with its cause, no other error of a Sequence or of a ring, and
// the next numbers when it works again.
func TestBadSources(t *testing.T) {
	for want, bad := range badSources() {
		for _, policy := range []ringbuffer.TakePolicy{nil, ringbuffer.CallerPads, ringbuffer.Wait, ringbuffer.Fail} {
			t.Run(fmt.Sprintf("%s/%v", want, policy), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { testBadSource(t, want, bad, policy) })
			})
		}
	}
}

func testBadSource(t *testing.T, want string, bad func(ctx context.Context) error, policy ringbuffer.TakePolicy) {
	var isBad atomic.Bool
	src := newMemorySource(10)
	src.before = func(ctx context.Context, _ Request) error {
		if isBad.Load() {
			return bad(ctx)
		}
		return nil
	}
	var opts []Option
	if policy != nil {
		opts = append(opts, WithTakePolicy(policy))
	}
	s := newTestSequence(t, sourceFunc(src.Take), opts...)
	isBad.Store(true)
	for v := int64(1); v <= 20; v++ {
		mustNext(t, s, v)
	}
	time.Sleep(10 * time.Second)
	_, err := s.Next()
	var empty *EmptyError
	if !errors.As(err, &empty) || !errors.Is(err, ErrEmpty) || empty.Tag != testTag || empty.Source != "function" ||
		empty.Cause == nil || empty.Tries < 1 || empty.Since.IsZero() || !strings.Contains(err.Error(), want) {
		t.Errorf("Next() = %v, want an EmptyError with %q", err, want)
	}
	for _, never := range []error{ErrClosed, ErrBusy, ringbuffer.ErrClosed, ringbuffer.ErrExhausted, ringbuffer.ErrConfig} {
		if errors.Is(empty.Cause, never) {
			t.Errorf("errors.Is finds %q in %q", never, err)
		}
	}
	if st := s.Stats(); st.LastError == nil || st.FailedTries < 1 || !strings.Contains(st.LastError.Error(), want) {
		t.Errorf("Stats() = %+v, want an error with %q", st, want)
	}
	isBad.Store(false)
	time.Sleep(10 * time.Second) // at most one more try that hangs, and a pause
	mustNext(t, s, 21)
	if st := s.Stats(); st.LastError != nil || !st.FailingSince.IsZero() {
		t.Errorf("Stats() = %+v, want no error", st)
	}
	if h := s.Health(); !h.OK() || h.LastError != nil {
		t.Errorf("Health() = %+v", h)
	}
}

// A panic of user code in a call is the caller's, who goes on with a Sequence that is whole: also a place in the queue of a Tags was
// given back. New passes it on, and leaves no goroutine.
func TestPanicsOfUserCode(t *testing.T) {
	for _, where := range []string{"Take", "an error of Take", "the step policy"} {
		for _, queued := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				var bad atomic.Bool
				src := newMemorySource(10)
				src.before = func(context.Context, Request) error {
					switch {
					case bad.Load() && where == "Take":
						panic("boom")
					case bad.Load() && where == "an error of Take":
						return panickingIs{}
					}
					return nil
				}
				policy := WithStepPolicy(stepFunc(func(s StepState) int64 {
					if bad.Load() && where == "the step policy" {
						panic("boom")
					}
					return s.Step
				}))
				if where != "the step policy" {
					bad.Store(true)
					if v := panicOf(func() { New(t.Context(), src, testTag, WithLogger(discardLogger())) }); v != "boom" {
						t.Errorf("%s: the panic of New is %v", where, v)
					}
					bad.Store(false)
				}
				var s *Sequence
				if queued {
					tags, err := NewTags(src, policy, WithMaxTakes(1), WithLogger(discardLogger()))
					if err != nil {
						t.Fatal(err)
					}
					defer tags.Close()
					if s, err = tags.sequence(t.Context(), testTag); err != nil {
						t.Fatal(err)
					}
				} else {
					s = newTestSequence(t, src, policy)
				}
				mustNext(t, s, 1)
				bad.Store(true)
				if v := panicOf(func() { s.provider.NextRun(t.Context()) }); v != "boom" {
					t.Errorf("%s: the panic is %v", where, v)
				}
				bad.Store(false)
				if run, err := s.provider.NextRun(t.Context()); err != nil || run.First != 21 {
					t.Errorf("%s: after the panic: %+v, %v", where, run, err)
				}
				for v := int64(2); v <= 20; v++ {
					mustNext(t, s, v)
				}
				mustNext(t, s, 31)
			})
		}
	}
}

// panicOf returns what f panics with.
func panicOf(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

type panickingIs struct{}

func (panickingIs) Error() string { return "is" }
func (panickingIs) Is(error) bool { panic("boom") }

// A source that ignores its context and hangs delays callers only for WithMaxWait, and Close for closeTimeout.
func TestSourceIgnoresContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newMemorySource(10)
		release := make(chan struct{})
		s, err := New(t.Context(), src, testTag, WithLogger(discardLogger()))
		if err != nil {
			t.Fatal(err)
		}
		src.fail(func(context.Context, Request) error { <-release; return nil })
		for v := int64(1); v <= 20; v++ {
			mustNext(t, s, v)
		}
		begin := time.Now()
		if _, err := s.Next(); !errors.Is(err, ErrEmpty) || !errors.Is(err, errNotInTime) || time.Since(begin) != defaultMaxWait {
			t.Errorf("Next() = %v after %v", err, time.Since(begin))
		}
		if h := s.Health(); h.OK() || !errors.Is(h.Err, ErrEmpty) || h.For != 0 {
			t.Errorf("Health() = %+v", h)
		}
		begin = time.Now()
		if err := s.Close(); !errors.Is(err, ErrBusy) || time.Since(begin) != closeTimeout || !strings.Contains(err.Error(), testTag) {
			t.Errorf("Close() = %v after %v, want ErrBusy", err, time.Since(begin))
		}
		close(release)
		if err := s.Close(); err != nil {
			t.Errorf("second Close() = %v", err)
		}
		if _, err := s.Next(); err != ErrClosed {
			t.Errorf("Next() = %v, want ErrClosed", err)
		}
	})
}

// A source that takes numbers of its own Sequence, or closes it, does not block it.
func TestSourceCallsItsSequence(t *testing.T) {
	for name, call := range map[string]func(t *testing.T, s *Sequence){
		"Next": func(t *testing.T, s *Sequence) {
			if _, err := s.Next(); err != nil && !errors.Is(err, ErrEmpty) && err != ErrClosed {
				t.Errorf("Next() = %v", err)
			}
		},
		"Stats": func(_ *testing.T, s *Sequence) { s.Stats(); s.Health() },
		"Close": func(t *testing.T, s *Sequence) {
			if err := s.Close(); !errors.Is(err, ErrBusy) {
				t.Errorf("Close() = %v, want ErrBusy", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := newMemorySource(10)
				s := newTestSequence(t, src)
				src.fail(func(context.Context, Request) error { call(t, s); return nil })
				seen := new(uniq.Set).Writer()
				for range 100 {
					v, err := s.Next()
					if err == nil && !seen.Add(v) {
						t.Fatalf("Next() = %d, which was taken before", v)
					}
					if err != nil && !errors.Is(err, ErrEmpty) && err != ErrClosed {
						t.Fatalf("Next() = %v", err)
					}
				}
				time.Sleep(time.Minute)
			})
		})
	}
}
