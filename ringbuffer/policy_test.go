package ringbuffer

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
)

type takePolicyFunc func(context.Context, Waiter) error

func (f takePolicyFunc) OnEmpty(ctx context.Context, w Waiter) error { return f(ctx, w) }

type putPolicyFunc func(context.Context, *Ring, Run) error

func (f putPolicyFunc) OnFull(ctx context.Context, r *Ring, run Run) error { return f(ctx, r, run) }

// D7: in the original, if a take handler does not throw, the take returns the content of a slot that was
// never filled. Here a policy that does nothing is called again, and no policy can make a take return an
// integer that was not put.
func TestD7PolicyThatDoesNothing(t *testing.T) {
	calls := 0
	var r *Ring
	r = newTestRing(t, Config{Capacity: 1, TakePolicy: takePolicyFunc(func(context.Context, Waiter) error {
		if calls++; calls == 5 {
			mustPut(t, r, 42, 1)
		}
		return nil
	})})
	mustTake(t, r, 42)
	if calls != 5 {
		t.Errorf("the policy was called %d times, want 5", calls)
	}
}

// What a take policy gets has the methods Wait and Pad, and is converted to nothing else: a policy can neither put integers of its
// own, which another ring may have handed out, nor close the ring. For the ErrEmpty of a policy, the take returns the reason.
func TestTakePolicyCanOnlyWaitAndPad(t *testing.T) {
	var got Waiter
	r := newTestRing(t, Config{TakePolicy: takePolicyFunc(func(_ context.Context, w Waiter) error {
		got = w
		return ErrEmpty
	})})
	if _, err := r.Take(context.Background()); err != r.emptyError() {
		t.Errorf("Take() = %v, want the ring's *EmptyError", err)
	}
	var methods []string
	for n := range reflect.TypeOf(got).NumMethod() {
		methods = append(methods, reflect.TypeOf(got).Method(n).Name)
	}
	if !slices.Equal(methods, []string{"Pad", "Wait"}) {
		t.Errorf("the policy got a %T with the methods %v, want Pad and Wait only", got, methods)
	}
	if v := reflect.ValueOf(got); v.Kind() != reflect.Struct || v.NumField() != 1 || v.Field(0).CanInterface() {
		t.Errorf("the policy got a %T that does not hide its ring", got)
	}
}

func TestUserPutPolicy(t *testing.T) {
	var rejected []Run
	mine := errors.New("mine")
	r := newTestRing(t, Config{Capacity: 1, TakePolicy: Fail, PutPolicy: putPolicyFunc(func(_ context.Context, _ *Ring, run Run) error {
		rejected = append(rejected, run)
		return mine
	})})
	mustPut(t, r, 0, 1)
	if err := r.Put(context.Background(), Run{First: 1, Length: 2}); err != mine {
		t.Errorf("Put() = %v, want the policy's error", err)
	}
	if len(rejected) != 1 || rejected[0] != (Run{First: 1, Length: 2}) {
		t.Errorf("the policy was called with %v", rejected)
	}
}

func TestDiscardLogsTheRun(t *testing.T) {
	var log bytes.Buffer
	r := newTestRing(t, Config{Capacity: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	mustPut(t, r, 0, 1)
	if err := r.Put(context.Background(), Run{First: 17, Length: 2}); !errors.Is(err, ErrFull) {
		t.Errorf("Put() = %v, want ErrFull", err)
	}
	flushLog(t, r)
	if !strings.Contains(log.String(), "first=17 length=2") {
		t.Errorf("the log says %q", log.String())
	}
}
