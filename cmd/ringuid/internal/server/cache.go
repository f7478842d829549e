package server

import (
	"context"
	"time"
)

// A cache keeps what answers have, and is costly, for a while.
type cache[T any] struct {
	making chan struct{} // has one element while nobody makes a value; it guards the fields below
	keep   time.Duration

	at    time.Time // zero: there is no value
	value T
}

func newCache[T any](keep time.Duration) *cache[T] {
	c := &cache[T]{making: make(chan struct{}, 1), keep: keep}
	c.making <- struct{}{}
	return c
}

// get returns the value, or that of fresh if it is older than keep. Only one call at a time makes one; others wait for it.
func (c *cache[T]) get(ctx context.Context, fresh func() (T, error)) (T, error) {
	select {
	case <-c.making:
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
	defer func() { c.making <- struct{}{} }()
	if !c.at.IsZero() && time.Since(c.at) < c.keep {
		return c.value, nil
	}
	value, err := fresh()
	if err == nil {
		c.value, c.at = value, time.Now()
	}
	return value, err
}
