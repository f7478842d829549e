package segment

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// createTag calls CreateTag. A panic is an error.
func createTag(ctx context.Context, c Creator, tag string, config TagConfig, timeout time.Duration) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the source panicked: %v\n%s", v, debug.Stack())
		}
		if err != nil {
			err = &sourceError{tag, "creating the tag", err}
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return c.CreateTag(ctx, tag, config)
}
