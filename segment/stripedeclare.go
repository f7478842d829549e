package segment

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// A program that creates tags by itself must not do so on a wrong store: the tag would begin at its start again. So
// the store itself says which stripe it is, by a tag that only CreateTag without UnusedBefore creates.

// declaration returns the name of the tag that says which stripe the store is. No other stripe of this store has it,
// because no tag is empty.
func (s *Striped) declaration() string { return StripeTag("", int(s.index), int(s.count)) }

// declare records in the store that it is this stripe.
func (s *Striped) declare(ctx context.Context, store Creator) error {
	config := TagConfig{Start: 1, Step: 1, Description: "says that this store is this stripe; hands out no numbers"}
	if err := store.CreateTag(ctx, s.declaration(), config); err != nil && !errors.Is(err, ErrTagExists) {
		return fmt.Errorf("creating the tag %q, which says which stripe the store is: %w", s.declaration(), err)
	}
	return nil
}

// checkDeclared returns an error that wraps ErrNoTag if nobody has declared that the store is this stripe, and ErrExhausted if the
// stripe was retired.
func (s *Striped) checkDeclared(ctx context.Context) error {
	// No counter is at AtLeast, so this changes nothing.
	_, err := s.source.Take(ctx, Request{Tag: s.declaration(), Size: 1, AtLeast: math.MaxInt64})
	switch {
	case err == nil, errors.Is(err, ErrSetBack):
		return nil // it exists
	case errors.Is(err, ErrExhausted):
		return fmt.Errorf("%w: stripe %d of %d was retired, so no tag is created: the number of stripes was changed: use the new one: see Stripe", err, s.index, s.count)
	case errors.Is(err, ErrNoTag):
		return fmt.Errorf("%w: no tag is created automatically on a store that does not say that it is stripe %d of %d: "+
			"the address may lead to another store, or the number of stripes was changed; if all is as it must be, call CreateTag without UnusedBefore once: see Stripe",
			err, s.index, s.count)
	}
	return err
}
