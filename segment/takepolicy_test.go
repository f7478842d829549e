package segment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/ringbuffer"
)

// newEmptySequence returns a Sequence whose source has failed since the first ranges, which are used up.
func newEmptySequence(t *testing.T, fail func(context.Context, Request) error, opts ...Option) (*Sequence, *memorySource) {
	t.Helper()
	src := newMemorySource(10)
	s := newTestSequence(t, src, opts...)
	src.fail(fail)
	for v := int64(1); v <= 20; v++ {
		mustNext(t, s, v)
	}
	synctest.Wait()
	return s, src
}

// Calls wait for WithMaxWait at most, and no longer than their contexts.
func TestMaxWait(t *testing.T) {
	for _, test := range []struct {
		name    string
		opts    []Option
		timeout time.Duration // of the context; 0: none
		fail    func(context.Context, Request) error
		waits   time.Duration
		wait    error // EmptyError.Wait
		cause   error // EmptyError.Cause
	}{
		{name: "default", fail: down, waits: defaultMaxWait, wait: errNotInTime, cause: errDown},
		{name: "an hour", opts: []Option{WithMaxWait(time.Hour)}, fail: down, waits: time.Hour, wait: errNotInTime, cause: errDown},
		{name: "none", opts: []Option{WithMaxWait(0)}, fail: down, cause: errDown},
		{name: "context", timeout: time.Second, fail: down, waits: time.Second, wait: context.DeadlineExceeded, cause: errDown},
		{name: "a later context", timeout: time.Minute, fail: down, waits: defaultMaxWait, wait: errNotInTime, cause: errDown},
		{name: "hangs", fail: hang, waits: defaultMaxWait, wait: errNotInTime},
		{name: "hangs for longer than a try", opts: []Option{WithMaxWait(time.Minute)}, fail: hang, waits: time.Minute, wait: errNotInTime, cause: context.DeadlineExceeded},
		{name: "Wait", opts: []Option{WithTakePolicy(ringbuffer.Wait)}, fail: down, waits: defaultMaxWait, wait: errNotInTime, cause: errDown},
		{name: "Wait, context", opts: []Option{WithTakePolicy(ringbuffer.Wait)}, timeout: time.Second, fail: down, waits: time.Second, wait: context.DeadlineExceeded, cause: errDown},
		{name: "Fail", opts: []Option{WithTakePolicy(ringbuffer.Fail)}, fail: down, cause: errDown},
		{name: "CallerPads", opts: []Option{WithTakePolicy(ringbuffer.CallerPads)}, fail: down, cause: errDown},
		{name: "CallerPads, hangs", opts: []Option{WithTakePolicy(ringbuffer.CallerPads)}, fail: hang, waits: defaultMaxWait, wait: errNotInTime},
		{name: "CallerPads, hangs, context", opts: []Option{WithTakePolicy(ringbuffer.CallerPads)}, timeout: time.Second, fail: hang, waits: time.Second, wait: context.DeadlineExceeded},
		{name: "CallerPads, no wait", opts: []Option{WithTakePolicy(ringbuffer.CallerPads), WithMaxWait(0)}, fail: hang},
		{name: "Wait, no wait", opts: []Option{WithTakePolicy(ringbuffer.Wait), WithMaxWait(0)}, fail: down, cause: errDown},
		{name: "no such tag", fail: func(context.Context, Request) error { return fmt.Errorf("x: %w", ErrNoTag) }, cause: ErrNoTag},
		{name: "set back", fail: func(context.Context, Request) error { return &SetBackError{} }, cause: ErrSetBack},
		{name: "exhausted", fail: func(context.Context, Request) error { return ErrExhausted }, cause: ErrExhausted},
		{name: "wrong source", fail: func(context.Context, Request) error { return ErrSource }, cause: ErrSource},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, src := newEmptySequence(t, test.fail, test.opts...)
				for name, call := range map[string]func(ctx context.Context) (int64, error){
					"Next": func(ctx context.Context) (int64, error) { return s.NextContext(ctx) },
					"NextNContext": func(ctx context.Context) (int64, error) {
						n, err := s.NextNContext(ctx, make([]int64, 5))
						return int64(n), err
					},
					"Claim": func(ctx context.Context) (int64, error) {
						r, err := s.Claim(ctx, 5)
						return r.First + r.Length + r.Stride, err
					},
					"Local.NextContext": func(ctx context.Context) (int64, error) { return s.Local().NextContext(ctx) },
				} {
					ctx := context.Background()
					if test.timeout > 0 {
						var cancel context.CancelFunc
						ctx, cancel = context.WithTimeout(ctx, test.timeout)
						defer cancel()
					}
					begin := time.Now()
					v, err := call(ctx)
					var empty *EmptyError
					if v != 0 || !errors.As(err, &empty) || !errors.Is(err, ErrEmpty) || time.Since(begin) != test.waits {
						t.Errorf("%s = %d, %v after %v, want an EmptyError after %v", name, v, err, time.Since(begin), test.waits)
						continue
					}
					if !errors.Is(empty.Wait, test.wait) || test.wait != nil && !errors.Is(err, test.wait) {
						t.Errorf("%s: Wait is %v, want %v", name, empty.Wait, test.wait)
					}
					if test.cause != nil && (!errors.Is(empty.Cause, test.cause) || !errors.Is(err, test.cause)) {
						t.Errorf("%s: Cause is %v, want %v", name, empty.Cause, test.cause)
					}
				}
				src.fail(nil)
				time.Sleep(10 * time.Second)
				mustNext(t, s, 21)
			})
		})
	}
}

// A source that is cut off by the callers' contexts again and again is seen as failing with CallerPads.
func TestCallerPadsRecordsHangingSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newEmptySequence(t, hang, WithTakePolicy(ringbuffer.CallerPads), WithTryTimeout(time.Hour))
		s.Next() // waits for the padder, which calls the source
		synctest.Wait()
		if st := s.Stats(); st.FailedTries != 0 {
			t.Fatalf("Stats() = %+v", st)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		p := newTestProvider(t, sourceFunc(func(ctx context.Context, r Request) (Range, error) { return Range{}, hang(ctx, r) }))
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, fmt.Errorf("%w: x", errNotInTime))
		defer cancel()
		p.NextRun(ctx)
		if st := p.snapshot(); st.FailedTries != 1 || !errors.Is(st.LastError, context.DeadlineExceeded) {
			t.Errorf("after WithMaxWait: %+v, want one failure", st)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p.NextRun(ctx)
		if st := p.snapshot(); st.FailedTries != 1 {
			t.Errorf("after the context of the caller: %+v, want no other failure", st)
		}
	})
}

// Waiting calls return when a range arrives.
func TestWaitingCallsReturn(t *testing.T) {
	for _, policy := range []ringbuffer.TakePolicy{ringbuffer.CallerPads, ringbuffer.Wait, ringbuffer.CallerPads} {
		t.Run(fmt.Sprint(policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts := []Option{WithMaxWait(time.Minute), WithTryTimeout(time.Minute)}
				if policy != nil {
					opts = append(opts, WithTakePolicy(policy))
				}
				s, _ := newEmptySequence(t, func(context.Context, Request) error { time.Sleep(3 * time.Second); return nil }, opts...)
				var callers sync.WaitGroup
				for range 8 {
					callers.Go(func() {
						begin := time.Now()
						if v, err := s.Next(); err != nil || v < 21 || v > 28 || time.Since(begin) > 3*time.Second {
							t.Errorf("Next() = %d, %v after %v", v, err, time.Since(begin))
						}
					})
				}
				callers.Wait()
			})
		})
	}
}

// policyFunc is a function that implements ringbuffer.TakePolicy.
type policyFunc func(ctx context.Context, w ringbuffer.Waiter) error

func (f policyFunc) OnEmpty(ctx context.Context, w ringbuffer.Waiter) error { return f(ctx, w) }

var errPolicy = errors.New("policy")

// A panic of a policy is one of its caller. A caller that recovers goes on with the Sequence.
func TestTakePolicyPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var works atomic.Bool
		s, _ := newEmptySequence(t, func(context.Context, Request) error {
			if works.Load() {
				return nil
			}
			return errDown
		}, WithTakePolicy(policyFunc(func(ctx context.Context, w ringbuffer.Waiter) error {
			if !works.Load() {
				panic("boom")
			}
			return w.Wait(ctx)
		})))
		func() {
			defer func() {
				if v := recover(); v != "boom" {
					t.Errorf("recover() = %v", v)
				}
			}()
			_, err := s.Next()
			t.Errorf("Next() = %v, want the panic", err)
		}()
		works.Store(true)
		if _, err := s.Next(); err != nil {
			t.Errorf("Next() = %v", err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
}

// Whatever error a policy of the program returns, callers get an *EmptyError of their Sequence.
func TestOwnTakePolicies(t *testing.T) {
	for name, test := range map[string]struct {
		policy policyFunc
		want   string
		is     error
	}{
		"error":                       {func(context.Context, ringbuffer.Waiter) error { return errPolicy }, "(policy)", errPolicy},
		"Wait":                        {func(ctx context.Context, w ringbuffer.Waiter) error { return w.Wait(ctx) }, "no range arrived in time", ErrEmpty},
		"Pad":                         {func(ctx context.Context, w ringbuffer.Waiter) error { return w.Pad(ctx) }, "connection refused", errDown},
		"ErrClosed":                   {func(context.Context, ringbuffer.Waiter) error { return ErrClosed }, "(segment: closed)", ErrEmpty},
		"ringbuffer.ErrClosed":        {func(context.Context, ringbuffer.Waiter) error { return ringbuffer.ErrClosed }, "(ringbuffer: closed)", ErrEmpty},
		"ringbuffer.ErrExhausted":     {func(context.Context, ringbuffer.Waiter) error { return ringbuffer.ErrExhausted }, "exhausted)", ErrEmpty},
		"EmptyError of another":       {func(context.Context, ringbuffer.Waiter) error { return &EmptyError{Tag: "other"} }, `(segment: tag "other"`, ErrEmpty},
		"ErrEmpty of package segment": {func(context.Context, ringbuffer.Waiter) error { return ErrEmpty }, "(segment: no number at present)", ErrEmpty},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := newEmptySequence(t, down, WithTakePolicy(test.policy))
				_, err := s.Next()
				empty, ok := err.(*EmptyError)
				if !ok || empty.Tag != testTag || !errors.Is(err, test.is) || !errors.Is(err, ErrEmpty) || !errors.Is(err, errDown) || !strings.Contains(err.Error(), test.want) {
					t.Errorf("Next() = %v, want an EmptyError with %q", err, test.want)
				}
				for _, never := range []error{ErrClosed, ringbuffer.ErrClosed, ringbuffer.ErrExhausted} {
					if errors.Is(err, never) {
						t.Errorf("errors.Is finds %v in %v", never, err)
					}
				}
			})
		})
	}
}

// A policy that closes its ring or its Sequence.
func TestTakePolicyThatCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *Sequence
		s, _ = newEmptySequence(t, down, WithTakePolicy(policyFunc(func(context.Context, ringbuffer.Waiter) error { return s.Close() })))
		if _, err := s.Next(); err != ErrClosed {
			t.Errorf("Next() = %v, want ErrClosed", err)
		}
	})
}

// A take that its policy ends with an error after Close returns ErrClosed.
func TestTakePolicyAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newEmptySequence(t, down, WithTakePolicy(policyFunc(func(context.Context, ringbuffer.Waiter) error { time.Sleep(time.Second); return errPolicy })))
		time.AfterFunc(time.Millisecond, func() { s.Close() })
		if _, err := s.Next(); err != ErrClosed {
			t.Errorf("Next() = %v, want ErrClosed", err)
		}
	})
}

// A policy may try again as long as it likes.
func TestTakePolicyThatTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, src := newEmptySequence(t, down, WithTakePolicy(policyFunc(func(context.Context, ringbuffer.Waiter) error { time.Sleep(time.Second); return nil })))
		time.AfterFunc(time.Minute, func() { src.fail(nil) })
		begin := time.Now()
		mustNext(t, s, 21)
		if d := time.Since(begin); d < time.Minute || d > 63*time.Second {
			t.Errorf("Next returned after %v", d)
		}
	})
}

// While the policy runs, the last range arrives, and then the source has no numbers left. The last numbers are taken before that is reported.
func TestLastRangeArrivesWhileThePolicyRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newMemorySource(10)
		src.next = MaxNumber - 24
		var calls atomic.Int32
		src.before = func(context.Context, Request) error {
			if calls.Add(1) == 3 {
				time.Sleep(time.Second)
			}
			return nil
		}
		policy := policyFunc(func(context.Context, ringbuffer.Waiter) error { time.Sleep(2 * time.Second); return errPolicy })
		s := newTestSequence(t, src, WithTakePolicy(policy))
		for i := range int64(25) {
			mustNext(t, s, MaxNumber-24+i)
		}
		if _, err := s.Next(); !errors.Is(err, ErrExhausted) || !errors.Is(err, errPolicy) {
			t.Errorf("Next() = %v, want ErrExhausted and the error of the policy", err)
		}
	})
}

// A call waits no longer than WithMaxWait in all, also if other calls take the ranges that arrive meanwhile.
func TestMaxWaitIsForTheWholeCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newMemorySource(1)
		var s *Sequence
		policy := policyFunc(func(ctx context.Context, w ringbuffer.Waiter) error {
			if err := w.Wait(ctx); err != nil {
				return err
			}
			s.ring.Take(ctx) // another call is faster
			return nil
		})
		s = newTestSequence(t, src, WithTakePolicy(policy), WithMaxWait(time.Second), WithStepPolicy(FixedStep{}))
		src.fail(func(context.Context, Request) error { time.Sleep(300 * time.Millisecond); return nil })
		mustNext(t, s, 1)
		mustNext(t, s, 2)
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := s.NextContext(ctx)
		if took := time.Since(begin); !errors.Is(err, ErrEmpty) || !errors.Is(err, errNotInTime) || took != time.Second {
			t.Errorf("Next() = %v after %v, want an error after a second", err, took)
		}
		if ranges := s.Stats().Ranges; ranges < 5 {
			t.Errorf("%d ranges have arrived, want at least 5", ranges)
		}
	})
}

// Many calls wait for the last number. Those that do not get it do not wait a second time.
func TestLastNumberIsWaitedForOnce(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			src := newMemorySource(1)
			src.next = MaxNumber - 2
			var calls atomic.Int32
			src.before = func(context.Context, Request) error {
				if calls.Add(1) == 3 {
					time.Sleep(500 * time.Millisecond)
				}
				return nil
			}
			policy := policyFunc(func(ctx context.Context, _ ringbuffer.Waiter) error { <-ctx.Done(); return ctx.Err() })
			s := newTestSequence(t, src, WithTakePolicy(policy), WithMaxWait(time.Second))
			mustNext(t, s, MaxNumber-2)
			mustNext(t, s, MaxNumber-1)
			begin := time.Now()
			var taken atomic.Int32
			var all sync.WaitGroup
			for range 64 {
				all.Go(func() {
					n, err := s.Next()
					if err == nil {
						taken.Add(1)
					} else if n != 0 || !errors.Is(err, ErrExhausted) {
						t.Errorf("Next() = %d, %v", n, err)
					}
				})
			}
			all.Wait()
			if took := time.Since(begin); took > time.Second || taken.Load() != 1 {
				t.Errorf("%d calls had a number, after %v", taken.Load(), took)
			}
		})
	}
}
