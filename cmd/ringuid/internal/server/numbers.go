package server

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/ringuid/ringuid/segment"
)

// takeNumbers answers with one number of a tag, or with a list.
func (c *call) takeNumbers() {
	tag := c.r.PathValue("tag")
	c.take(func() (int64, error) { return c.takeNumber(tag) }, func(b *batch, n int) error {
		for left := int64(n); left > 0; {
			r, err := c.claim(tag, left)
			if err == nil {
				err = b.addRange(r)
			}
			if err != nil {
				return err
			}
			left -= r.Length
		}
		return nil
	}, func(err error) { c.failNumber(tag, err) })
}

// claim returns up to n numbers of a tag, which must be one of those that are served.
func (c *call) claim(tag string, n int64) (segment.Range, error) {
	if err := c.s.checkTag(tag); err != nil {
		return segment.Range{}, err
	}
	r, err := c.s.opts.Sequences.Claim(&c.limit, tag, n)
	if err == nil && (r.Length < 1 || r.Length > n || r.Stride < 0) {
		return segment.Range{}, errRange
	}
	return r, err
}

// takeNumber returns one number of a tag, which must be one of those that are served.
func (c *call) takeNumber(tag string) (int64, error) {
	if err := c.s.checkTag(tag); err != nil {
		return 0, err
	}
	v, err := c.s.opts.Sequences.NextContext(&c.limit, tag)
	if err == nil && v <= 0 {
		return 0, errNotPositive
	}
	return v, err
}

// checkTag returns an error that wraps segment.ErrNoTag if a tag is not served. So names that clients invent never
// reach the source.
func (s *Server) checkTag(tag string) error {
	if len(s.cfg.Tags) > 0 && !slices.Contains(s.cfg.Tags, tag) {
		return fmt.Errorf("%w: %.140q is not in the setting tags", segment.ErrNoTag, tag)
	}
	return nil
}

// failNumber answers a request that got no number.
func (c *call) failNumber(tag string, err error) {
	status, detail := numberProblem(tag, err)
	c.fail(status, detail, err)
}

// numberProblem returns the status for an error of a sequence, and what the client is told.
func numberProblem(tag string, err error) (status int, detail string) {
	switch {
	case errors.Is(err, segment.ErrTag):
		return http.StatusBadRequest, fmt.Sprintf("the tag must have 1 to %d bytes of valid UTF-8 without control characters, and no space at its ends, and must not be . or ..", segment.MaxTagLength)
	case errors.Is(err, segment.ErrNoTag):
		return http.StatusNotFound, fmt.Sprintf("there is no tag %.140q; create it in the store", tag)
	case errors.Is(err, segment.ErrExhausted):
		return http.StatusServiceUnavailable, fmt.Sprintf("the tag %q has no numbers left; use another tag", tag)
	case errors.Is(err, segment.ErrSetBack):
		return http.StatusServiceUnavailable, fmt.Sprintf("the counter of the tag %q was set back; an operator must raise it", tag)
	case errors.Is(err, segment.ErrTooManyTags):
		return http.StatusServiceUnavailable, "too many tags are in memory; try again later"
	case errors.Is(err, segment.ErrClosed):
		return http.StatusServiceUnavailable, "the server is shutting down"
	}
	return http.StatusServiceUnavailable, fmt.Sprintf("no number of the tag %q is available; try again later", tag)
}
