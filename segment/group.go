package segment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
)

// A Group is a Source of several stripes. NewGroup returns one. A Sequence on a Group takes its ranges from the
// stripes in turn. If one fails, the others serve, and the one that failed is asked again from time to time. It
// remembers what it received from each of them, so that a counter that was set back is refused, and only that stripe.
//
// The numbers of one Sequence on a Group do not rise: those of each stripe do.
type Group struct {
	stripes []*Striped
	turn    atomic.Uint64
	err     error
}

var _ Creator = (*Group)(nil)

// NewGroup returns a Group of stripes of the same count with different indexes. A Group may have only some of the
// stripes, for example those near a data center. If the stripes do not fit, Take and CreateTag return an error that
// wraps ErrOption.
func NewGroup(stripes ...*Striped) *Group {
	g := &Group{stripes: slices.Clone(stripes)}
	if len(stripes) == 0 {
		g.err = fmt.Errorf("%w: the group has no stripes; must have at least 1", ErrOption)
	}
	seen := map[int64]bool{}
	for _, s := range stripes {
		err := s.check()
		switch {
		case err != nil || g.err != nil: // the first one counts
		case s.count != stripes[0].count:
			err = fmt.Errorf("%w: the group has a stripe of %d and one of %d; must have the same number of stripes", ErrOption, stripes[0].count, s.count)
		case seen[s.index]:
			err = fmt.Errorf("%w: the group has two stripes with index %d; must be different", ErrOption, s.index)
		default:
			seen[s.index] = true
		}
		if g.err == nil {
			g.err = err
		}
	}
	return g
}

// String implements Source.
func (g *Group) String() string {
	if g.check() != nil {
		return "invalid group"
	}
	names := make([]string, len(g.stripes))
	for i, s := range g.stripes {
		names[i] = s.String()
	}
	return strings.Join(names, ", ")
}

// check returns an error if g was not made by NewGroup, or with invalid arguments.
func (g *Group) check() error {
	if g == nil || len(g.stripes) == 0 && g.err == nil {
		return fmt.Errorf("%w: the group must be created by NewGroup", ErrOption)
	}
	return g.err
}

// members returns the stripes, for a Sequence.
func (g *Group) members() ([]Source, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	sources := make([]Source, len(g.stripes))
	for i, s := range g.stripes {
		sources[i] = s
	}
	return sources, nil
}

// Take implements Source: it asks the stripes in turn until one returns a range. A Sequence does not call it: it
// calls Take of the stripes, with an AtLeast for each. If r.AtLeast is the end of what one stripe returned, the
// others are refused as long as they are behind, as if they were set back. So a source that wraps others, for example
// to measure them, should wrap the sources of the stripes, and not a Group.
func (g *Group) Take(ctx context.Context, r Request) (Range, error) {
	if err := g.check(); err != nil {
		return Range{}, err
	}
	if err := r.Validate(); err != nil {
		return Range{}, err
	}
	n := uint64(len(g.stripes))
	first := g.turn.Add(1)
	var errs []error
	for i := range n {
		got, err := g.stripes[(first+i)%n].Take(ctx, r)
		if err == nil {
			return got, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return Range{}, errors.Join(errs...)
}

// CreateTag implements Creator: it creates the tag of each stripe. If that fails for some of them, for example
// because a store is down, call it again later with the same arguments: it creates those that are missing. It returns
// an error that wraps ErrTagExists only if all exist already.
func (g *Group) CreateTag(ctx context.Context, tag string, c TagConfig) error {
	if err := g.check(); err != nil {
		return err
	}
	var errs []error
	exist := 0
	for _, s := range g.stripes {
		err := s.CreateTag(ctx, tag, c)
		switch {
		case errors.Is(err, ErrTagExists):
			exist++
		case err != nil:
			errs = append(errs, fmt.Errorf("stripe %d of %d: %w", s.index, s.count, err))
		}
	}
	if exist == len(g.stripes) {
		return fmt.Errorf("%w: %q on all stripes", ErrTagExists, tag)
	}
	return errors.Join(errs...)
}
