package segment

import (
	"context"
	"errors"
	"fmt"
)

// createAndTake creates the tag of a request, and takes a range of it.
func createAndTake(ctx context.Context, src Source, r Request, c TagConfig) (Range, error) {
	creator, ok := src.(Creator)
	if !ok {
		return Range{}, fmt.Errorf("%w: the source cannot create tags", ErrOption)
	}
	createErr := creator.CreateTag(ctx, r.Tag, c)
	// Even if that has failed, the tag may exist, because the reply was lost, or because another process has created it.
	got, err := src.Take(ctx, r)
	if err != nil && createErr != nil && !errors.Is(createErr, ErrTagExists) {
		return Range{}, fmt.Errorf("creating the tag: %w", createErr)
	}
	return got, err
}
