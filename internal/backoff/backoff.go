// Package backoff has the pauses between attempts, and tells when there is no time for another one.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Pauses are the pauses between attempts.
type Pauses struct {
	Initial, Maximum time.Duration
}

// After returns the pause after so many attempts. It doubles with each attempt, up to the maximum. A
// random part of up to one half is subtracted, so that processes that failed together do not try
// again together.
func (p Pauses) After(attempts int) time.Duration {
	d := p.Maximum
	if attempts < 40 { // after more attempts the shift could overflow, and the pause is at its maximum
		d = min(p.Initial<<(attempts-1), p.Maximum)
		if d < p.Initial {
			d = p.Maximum
		}
	}
	return d - rand.N(d/2+1)
}

// Sleep waits for d, which may be past. If ctx ends first, it returns the error of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// EndOf returns why ctx has ended, or nil. A context whose deadline has passed may not report that yet,
// although a connection that has the same deadline does.
func EndOf(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// WithTimeout returns ctx with a timeout, unless ctx already has a deadline.
func WithTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, timeout)
}
