// Package random has random numbers that a simulation can repeat.
package random

import (
	"context"
	"math/rand/v2"
)

// sourceKey is the key of the source in a context.
type sourceKey struct{}

// WithSource returns a context from which IntN takes its numbers by intN, a function like rand.IntN: in a simulation, that of
// a generator with a known seed.
func WithSource(ctx context.Context, intN func(n int) int) context.Context {
	return context.WithValue(ctx, sourceKey{}, intN)
}

// IntN returns a random number from 0 to n-1, where n is at least 1. It comes from the source of ctx, or from that of
// math/rand if ctx has none.
func IntN(ctx context.Context, n int) int {
	if intN, ok := ctx.Value(sourceKey{}).(func(int) int); ok {
		return intN(n)
	}
	return rand.IntN(n)
}
