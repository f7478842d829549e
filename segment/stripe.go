package segment

import (
	"context"
	"errors"
	"fmt"
)

// maxStripes is the greatest number of stripes.
const maxStripes = 1024

// StripeTag returns the name of the tag that stripe index of count uses in its store: "orders.stripe0of3" for the tag
// "orders". The name contains the number of stripes, because the numbers of stripes of different counts overlap.
func StripeTag(tag string, index, count int) string {
	return fmt.Sprintf("%s.stripe%dof%d", tag, index, count)
}

// Striped is a Source of every count-th number of an independent store. Stripe returns one.
type Striped struct {
	index, count int64
	source       Source
	err          error // of Stripe: an invalid argument
}

var _ Creator = (*Striped)(nil)

// Stripe returns a Source of the numbers that are index modulo count: index is 0 to count-1, count is 1 to
// 1024, and src is a Source of the numbers 0, 1, 2 and so on, on a store that knows nothing of the other stripes.
// So count independent stores hand out disjoint numbers, and NewGroup uses all of them, also while some are down.
//
// The store needs a tag named StripeTag(tag, index, count), which CreateTag of the Striped or of its Group creates.
// So a store at a wrong address, two stores that were exchanged, or another number of stripes than before is an error
// that wraps ErrNoTag, and not a number twice. A program that creates tags by itself (WithCreate, NewDaily) would
// create that tag on the wrong store, too. So it is refused with ErrNoTag, until CreateTag was called once without
// UnusedBefore, for any tag: that declares that each store is the stripe that it is for this Group. Call it by hand,
// not at each start of a program, because it believes whatever the addresses are.
//
// To change the number of stripes, first retire the tags of all old stripes, without exception: in one atomic step
// each, such as a transaction that locks the row, read the counter and set it to 9223372036854775807. If the store
// has no such step, stop all processes that use the tags before: a range that one receives between the two would be
// handed out twice. If the store can lose acknowledged writes (Redis, a database with asynchronous replicas), stop them
// too, and retire the tags again after each failover or restore until no configuration has the old stripes. Then create the tags of the new stripes, with a Start of (greatest counter that was read + 1) ×
// old count. Processes with the old stripes use up what they have in memory, and get an error that wraps ErrExhausted
// then. If a program creates tags by itself, begin with the tags that declare the old stripes, such as .stripe0of3 on
// the first store of three: no program creates a tag of a retired stripe. Ten minutes later, when creations that had
// begun have ended, do the rest, for every tag that exists, before any program uses the new stripes. On Redis, the
// atomic step is MULTI. There, on etcd and on ZooKeeper a gap that a tag still has to skip is not in its counter: add
// the gap of WithFailoverGap to the counter that was read, for each failover or restore that the tag has not noticed.
// The numbers of a tag that was used without Stripe are those of stripe 0 of 1. If a program creates such tags by itself, stop
// all processes that use them first: nothing says that they are retired.
// A Daily has a new tag for each day: stop all its processes, and start those with the new stripes on the next day.
//
// If an argument is invalid, Take and CreateTag return an error that wraps ErrOption.
func Stripe(index, count int, src Source) *Striped {
	s := &Striped{index: int64(index), count: int64(count), source: src}
	switch {
	case count < 1 || count > maxStripes:
		s.err = fmt.Errorf("%w: the number of stripes is %d; must be 1 to %d", ErrOption, count, maxStripes)
	case index < 0 || index >= count:
		s.err = fmt.Errorf("%w: the index of the stripe is %d; must be 0 to %d", ErrOption, index, count-1)
	case src == nil:
		s.err = fmt.Errorf("%w: the source of stripe %d is nil; must not be nil", ErrOption, index)
	}
	switch src.(type) {
	case *Striped, *Group:
		s.err = fmt.Errorf("%w: the source of stripe %d is a %T; must be a source without stripes", ErrOption, index, src)
	}
	return s
}

// String implements Source.
func (s *Striped) String() string {
	if s == nil || s.err != nil || s.source == nil {
		return "invalid stripe"
	}
	return fmt.Sprintf("stripe %d of %d: %s", s.index, s.count, s.source)
}

// check returns an error if s was not made by Stripe, or with invalid arguments.
func (s *Striped) check() error {
	if s == nil || s.source == nil && s.err == nil {
		return fmt.Errorf("%w: the stripe must be created by Stripe", ErrOption)
	}
	return s.err
}

// quotient returns the least q with q*count+index >= n.
func (s *Striped) quotient(n int64) int64 {
	if n <= s.index {
		return 0
	}
	return (n-s.index-1)/s.count + 1
}

// Take implements Source.
func (s *Striped) Take(ctx context.Context, r Request) (Range, error) {
	if err := s.check(); err != nil {
		return Range{}, err
	}
	if err := r.Validate(); err != nil {
		return Range{}, err
	}
	tag := StripeTag(r.Tag, int(s.index), int(s.count))
	got, err := s.source.Take(ctx, Request{Tag: tag, Size: r.Size, AtLeast: s.quotient(r.AtLeast)})
	if err != nil {
		switch {
		case errors.Is(err, ErrNoTag):
			err = fmt.Errorf("%w (tag %q of stripe %d of %d: the address may lead to another store, or the number of stripes was changed: see Stripe)",
				err, tag, s.index, s.count)
		case errors.Is(err, ErrExhausted):
			err = fmt.Errorf("%w (tag %q of stripe %d of %d: if the number of stripes was changed, restart with the new one: see Stripe)",
				err, tag, s.index, s.count)
		}
		return Range{}, err
	}
	if got.Stride != 0 && got.Stride != 1 || got.First < 0 || got.Length < 1 {
		return Range{}, fmt.Errorf("%w: the source of a stripe returned a range of %d numbers from %d with stride %d", ErrSource, got.Length, got.First, got.Stride)
	}
	last := (MaxNumber - s.index) / s.count // the greatest q
	if got.First > last {
		return Range{}, fmt.Errorf("%w: tag %q: stripe %d of %d ends at %d", ErrExhausted, r.Tag, s.index, s.count, last)
	}
	return Range{First: got.First*s.count + s.index, Length: min(got.Length, last-got.First+1), Stride: s.count, Step: got.Step}, nil
}

// CreateTag implements Creator. c.Start is a number of the tag, not of the stripe's counter. The source must be a
// Creator.
//
// Without c.UnusedBefore, it also creates the tag StripeTag("", index, count), which says that the store is this
// stripe. With it, as for the tags of WithCreate and of a Daily, it returns an error that wraps ErrNoTag if the store
// does not say so.
func (s *Striped) CreateTag(ctx context.Context, tag string, c TagConfig) error {
	if err := s.check(); err != nil {
		return err
	}
	if err := CheckTag(tag); err != nil {
		return err
	}
	c, err := c.Validate()
	if err != nil {
		return err
	}
	creator, ok := s.source.(Creator)
	if !ok {
		return fmt.Errorf("%w: %s cannot create tags", ErrOption, s.source)
	}
	if c.UnusedBefore.IsZero() {
		err = s.declare(ctx, creator)
	}
	if err == nil {
		err = s.checkDeclared(ctx)
	}
	if err != nil {
		return err
	}
	c.Start = max(s.quotient(c.Start), 1)
	return creator.CreateTag(ctx, StripeTag(tag, int(s.index), int(s.count)), c)
}
