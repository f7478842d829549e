// Package await bounds calls that take no context.
package await

import "context"

// Call returns the result of call, or the cause of the end of ctx. The call may then go on: its result is lost.
func Call[T any](ctx context.Context, call func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1) // so that the goroutine can end
	go func() {
		value, err := call()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return *new(T), context.Cause(ctx)
	}
}
