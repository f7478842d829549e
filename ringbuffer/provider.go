package ringbuffer

import (
	"context"
	"errors"
)

// A Provider generates the runs that a ring is padded with. A program may implement it; no method will be added.
//
// NextRun returns the next run. Two goroutines never call it concurrently. It is not called after
// Close has returned, unless Close returned ErrBusy. It may block, but it must then honour ctx,
// which Close cancels. Takers of an empty ring wait for it. It must not take from its
// own ring, because that take would wait for it. Its runs should be disjoint: an integer that is in
// two runs is handed out twice.
//
// NextRun returns one of three kinds of errors. A *NotYetError means that there is no run now: the
// ring asks again later. An error that wraps ErrExhausted means that there will never be another
// run. Any other error is a failure: it is counted, logged once in a series of failures, and the
// padder tries again after 10 ms, or after twice the previous delay, up to a second.
type Provider interface {
	NextRun(ctx context.Context) (Run, error)
}

// callProvider calls the provider, with a context that Close cancels too. The caller has the turn.
func (r *Ring) callProvider(ctx context.Context) (Run, padResult) {
	if ctx.Done() == nil {
		ctx = r.ctx
	} else if ctx != r.ctx {
		both, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(r.ctx, cancel)()
		ctx = both
	}
	run, err := r.cfg.Provider.NextRun(ctx)
	if err == nil {
		err = run.check()
	}
	return run, classify(err)
}

// classify returns the padResult for an error of the provider. It masks errors that only the ring
// itself may report.
func classify(err error) padResult {
	if err == nil {
		return padResult{}
	}
	e, _ := err.(*NotYetError)
	switch {
	case e != nil:
	case errors.Is(err, ErrExhausted):
		return padResult{outcome: outcomeExhausted, err: maskClosed(err)}
	case !errors.As(err, &e) || e == nil:
		return padResult{outcome: outcomeFailed, err: maskRingErrors(err)}
	}
	return padResult{outcome: outcomeNotYet, err: maskRingErrors(err), retryAfter: min(max(e.After, minRetryDelay), maxNotYetDelay)}
}
