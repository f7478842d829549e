package backoff

import (
	"context"
	"testing"
	"time"
)

func TestPauses(t *testing.T) {
	p := Pauses{Initial: 100 * time.Millisecond, Maximum: 3 * time.Second}
	for attempts := 1; attempts < 200; attempts++ {
		full := p.Maximum
		if attempts <= 5 {
			full = p.Initial << (attempts - 1)
		}
		for range 50 {
			if d := p.After(attempts); d < full/2 || d > full {
				t.Fatalf("the pause after %d attempts is %v, want %v to %v", attempts, d, full/2, full)
			}
		}
	}
	if d := (Pauses{Initial: time.Hour, Maximum: 200 * 365 * 24 * time.Hour}).After(39); d <= 0 {
		t.Errorf("a long pause overflows to %v", d)
	}
}

// lateContext is a context whose deadline has passed, but that does not report it yet.
type lateContext struct{ context.Context }

func (lateContext) Deadline() (time.Time, bool) { return time.Now().Add(-time.Nanosecond), true }

// A deadline that has passed is the end of a context, also if a connection with that deadline reports
// it earlier than the context: then the last attempt says nothing about the server.
func TestEndOfContext(t *testing.T) {
	if err := EndOf(lateContext{context.Background()}); err != context.DeadlineExceeded {
		t.Errorf("after the deadline: %v, want %v", err, context.DeadlineExceeded)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := EndOf(ctx); err != nil {
		t.Errorf("before its end: %v", err)
	}
	cancel()
	if err := EndOf(ctx); err != context.Canceled {
		t.Errorf("after its end: %v, want %v", err, context.Canceled)
	}
	ctx, cancel = context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	if err := EndOf(ctx); err != nil {
		t.Errorf("before its deadline: %v", err)
	}
}
