package redisstore

import (
	"context"
	_ "embed" // for the scripts
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/ringuid/ringuid/internal/options"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/workerassign"
)

// defaultFailoverGap is that of WithFailoverGap.
const defaultFailoverGap = 1_000_000

// maxFailoverGap is the greatest gap: the scripts calculate with the sum of all gaps as Lua numbers, which have 53 bits.
const maxFailoverGap = 1 << 32

// fencing is how long after a change of the history CreateTag assumes that a former primary may still have created a tag.
const fencing = workerassign.DefaultFencing + workerassign.DefaultSkew

var (
	//go:embed tags.lua
	tagsScript string
	//go:embed take.lua
	takeScript string
	//go:embed createtag.lua
	createTagScript string
)

var _ segment.Creator = (*Store)(nil)

// WithFailoverGap sets how many numbers each tag skips after a change of the history: n, and n/10 for each second
// from the pool's last write that the server still has to the first one after the change, modulo 1000 s. n must be
// 0 to 1<<32; the default is 1,000,000. It must be greater than the count of a tag's numbers that the
// server may have lost, plus those that a former primary hands out until it is fenced; otherwise numbers repeat. 0
// turns the gap off: after a loss numbers repeat, except in processes that remember more than the server does,
// whose Take returns a *segment.SetBackError. All processes of a pool must have the same gap. It has an effect on
// Take and CreateTag only.
func WithFailoverGap(n int64) Option {
	return option(func(s *Store) {
		options.Set(&s.failoverGap, n, n >= 0 && n <= maxFailoverGap, s.setError, "the failover gap is %d; must be 0 to %d", n, int64(maxFailoverGap))
	})
}

// Take implements segment.Source. It takes a range once, whatever MaxRetries in the client's options is: if the reply is
// lost, or too few replicas have acknowledged the range, the result is an error, and the numbers may be a gap. If ctx ends
// first, the command may still be executed, which leaves a gap.
func (s *Store) Take(ctx context.Context, r segment.Request) (segment.Range, error) {
	if err := r.Validate(); err != nil {
		return segment.Range{}, err
	}
	reply, err := s.runTags(ctx, s.take, []any{s.failoverGap, r.Tag, r.Size, r.AtLeast})
	if err != nil {
		return segment.Range{}, s.tagError("take a range of", r.Tag, err)
	}
	if reply[0] == "no tag" {
		return segment.Range{}, s.noTag(r.Tag, len(reply) > 1 && reply[1] == "")
	}
	switch n, err := parseNumbers(reply[1:]); {
	case err != nil:
	case reply[0] == "range" && len(n) == 4:
		return segment.Range{First: n[0] + n[1], Length: n[2], Stride: 1, Step: n[3]}, nil
	case reply[0] == "set back" && len(n) == 2:
		return segment.Range{}, &segment.SetBackError{Tag: r.Tag, Counter: n[0] + n[1], AtLeast: r.AtLeast}
	case reply[0] == "exhausted" && len(n) == 2:
		return segment.Range{}, s.exhausted(r.Tag, n[0], n[1])
	}
	return segment.Range{}, s.tagReplyError(reply)
}

// CreateTag implements segment.Creator. It creates the tag once. If too few replicas have acknowledged it, the result
// is an error, and the tag may exist. The first tag of a pool requires a TagConfig whose UnusedBefore is the zero
// time: a pool that is missing may have been lost, with its tags. If the history has changed after UnusedBefore, or
// less than 35 s before, the tag may have existed: for so long a former primary may have gone on creating tags. The
// tag then begins at Start plus what existing tags have skipped in this time (WithFailoverGap). The creation of the
// pool counts as a change. UnusedBefore is compared with the servers' clocks: set it earlier by as much as those and
// the caller's may differ. If the server refuses a part of the script, because the user lacks a right, the tag may
// exist without a step: Take then returns an error that says so.
func (s *Store) CreateTag(ctx context.Context, tag string, c segment.TagConfig) error {
	if err := segment.CheckTag(tag); err != nil {
		return err
	}
	c, err := c.Validate()
	if err != nil {
		return err
	}
	unusedBefore := ""
	if !c.UnusedBefore.IsZero() {
		unusedBefore = strconv.FormatInt(c.UnusedBefore.UnixMilli(), 10)
	}
	reply, err := s.runTags(ctx, s.createTag, []any{s.failoverGap, tag, c.Start, c.Step, c.Description, unusedBefore, fencing.Milliseconds()})
	if err != nil {
		return s.tagError("create", tag, err)
	}
	switch reply[0] {
	case "created":
		return nil
	case "exists":
		return fmt.Errorf("%w: %q in %s: its next number is %s", segment.ErrTagExists, tag, s, strings.Join(reply[1:], " "))
	case "no pool":
		return s.noTag(tag, true)
	case "exhausted":
		if n, err := parseNumbers(reply[1:]); err == nil && len(n) == 2 {
			return s.exhausted(tag, n[0], n[1])
		}
	}
	return s.tagReplyError(reply)
}

// runTags runs a script on the pool's tags, once, and returns the texts of its reply, of which there is at least one.
func (s *Store) runTags(ctx context.Context, script *redis.Script, args []any) ([]string, error) {
	switch {
	case s.err != nil:
		return nil, s.tagErr
	case script == nil:
		return nil, fmt.Errorf("%w: redisstore: the Store must be created by New", segment.ErrOption)
	}
	reply, err := s.runWrite(ctx, script, s.tagKeys, args).StringSlice()
	if err == nil && len(reply) == 0 {
		return nil, s.wrongReply(reply)
	}
	return reply, err
}

// parseNumbers returns the integers that texts are.
func parseNumbers(texts []string) ([]int64, error) {
	numbers := make([]int64, len(texts))
	for i, text := range texts {
		var err error
		if numbers[i], err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, err
		}
	}
	return numbers, nil
}
