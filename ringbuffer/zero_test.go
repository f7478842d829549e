package ringbuffer

import (
	"context"
	"errors"
	"testing"
	"time"
)

// The methods of a nil and of a zero Ring return an error or do nothing. None of them panics or waits.
func TestZeroRing(t *testing.T) {
	for name, r := range map[string]*Ring{"nil": nil, "zero": new(Ring)} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if v, ok := r.TryTake(); ok || v != 0 {
				t.Errorf("TryTake() = %d, %v", v, ok)
			}
			if first, got := r.TryClaim(1); first != 0 || got != 0 {
				t.Errorf("TryClaim() = %d, %d", first, got)
			}
			for what, f := range map[string]func() error{
				"Take":           func() error { _, err := r.Take(ctx); return err },
				"Claim":          func() error { _, _, err := r.Claim(ctx, 3); return err },
				"Put":            func() error { return r.Put(ctx, Run{Length: 1}) },
				"Pad":            func() error { return r.Pad(ctx) },
				"Wait":           func() error { return r.Wait(ctx) },
				"Stats":          func() error { return r.Stats().LastError },
				"CallerPads":     func() error { return CallerPads.OnEmpty(ctx, r) },
				"policy Wait":    func() error { return Wait.OnEmpty(ctx, r) },
				"policy Discard": func() error { return Discard.OnFull(ctx, r, Run{Length: 1}) },
			} {
				if err := f(); !errors.Is(err, ErrConfig) {
					t.Errorf("%s: %v, want ErrConfig", what, err)
				}
			}
			r.Kick()
			if err := r.Close(); err != nil {
				t.Errorf("Close() = %v", err)
			}
		})
	}
}

// A zero Config is valid, a zero Run is refused, and errors that are nil pointers have a text.
func TestZeroValues(t *testing.T) {
	r := newTestRing(t, Config{})
	if err := r.Put(context.Background(), Run{}); !errors.Is(err, ErrRun) {
		t.Errorf("Put() = %v", err)
	}
	for _, err := range []error{
		new(NotYetError), (*NotYetError)(nil), new(EmptyError), (*EmptyError)(nil),
	} {
		if err.Error() == "" || errors.Unwrap(err) != nil || errors.Is(err, ErrClosed) {
			t.Errorf("%T: %v", err, err)
		}
	}
	if err := builtinTakePolicy(-1).OnEmpty(context.Background(), r); !errors.Is(err, ErrConfig) {
		t.Errorf("OnEmpty() of an unknown policy = %v, want ErrConfig", err)
	}
}
