package workerassign

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff is how pauses between tries grow.
type backoff struct {
	initial, maximum time.Duration
}

// pause returns the pause after so many tries: doubled by each, shortened by up to a half at
// random, so that those who failed together do not try again together.
func (b backoff) pause(tries int) time.Duration {
	d := b.maximum
	if tries < 40 { // 2^40 ns is beyond any pause, and does not overflow
		d = min(b.initial<<(tries-1), b.maximum)
		if d < b.initial {
			d = b.maximum
		}
	}
	return d - rand.N(d/2+1)
}

// sleep waits, or returns the error of a context that ends first.
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

// bound returns ctx with a timeout, unless it has a deadline.
func withDefaultTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, timeout)
}
