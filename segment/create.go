package segment

import (
	"context"
	"errors"
	"fmt"
)

// checkCreator returns an error if the source, or that of a stripe, is not a Creator. It says what requires one.
func checkCreator(src Source, what string) error {
	switch s := src.(type) {
	case *Group:
		for _, stripe := range s.stripes {
			if err := checkCreator(stripe, what); err != nil {
				return err
			}
		}
	case *Striped:
		if err := s.check(); err != nil {
			return err
		}
		if _, ok := s.source.(Creator); !ok {
			return fmt.Errorf("%w: the source of stripe %d of %d, a %T, cannot create tags, which %s requires: use one that is a Creator",
				ErrOption, s.index, s.count, s.source, what)
		}
	case Creator:
	default:
		return fmt.Errorf("%w: the source, a %T, cannot create tags, which %s requires: use one that is a Creator", ErrOption, src, what)
	}
	return nil
}

// createAndTake creates the tag of a request, and takes a range of it.
func createAndTake(ctx context.Context, src Creator, r Request, c TagConfig) (Range, error) {
	createErr := src.CreateTag(ctx, r.Tag, c)
	// Even if that has failed, the tag may exist, because the reply was lost, or because another process has created
	// it.
	got, err := src.Take(ctx, r)
	if err != nil && createErr != nil && !errors.Is(createErr, ErrTagExists) {
		return Range{}, fmt.Errorf("creating the tag: %w", createErr)
	}
	return got, err
}
