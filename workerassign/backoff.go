package workerassign

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff computes the pauses between attempts.
type backoff struct {
	initial, maximum time.Duration
}

// pause returns the pause after so many attempts. It doubles with each attempt, up to the maximum. A
// random part of up to one half is subtracted, so that processes that failed together do not try
// again together.
func (b backoff) pause(attempts int) time.Duration {
	d := b.maximum
	if attempts < 40 { // after more attempts the shift could overflow, and the pause is at its maximum
		d = min(b.initial<<(attempts-1), b.maximum)
		if d < b.initial {
			d = b.maximum
		}
	}
	return d - rand.N(d/2+1)
}

// sleep waits for d. If ctx ends first, it returns the error of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// endOf returns why ctx has ended, or nil. A context whose deadline has passed may not report that yet,
// although a connection that has the same deadline does.
func endOf(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// withDefaultTimeout returns ctx with a timeout, unless ctx already has a deadline.
func withDefaultTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, timeout)
}
