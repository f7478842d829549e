package redisstore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ringuid/ringuid/segment"
)

// tagError returns an error of the client with what it prevented, and what to do.
func (s *Store) tagError(action, tag string, err error) error {
	if errors.Is(err, segment.ErrOption) || errors.Is(err, segment.ErrSource) {
		return err
	}
	if strings.HasPrefix(serverText(err), "WRONGTYPE") {
		return fmt.Errorf("%w: %s: the key %q or %q: %w; %s", segment.ErrSource, s, s.tagKeys[1], s.tagKeys[0], err, adviceType)
	}
	text := fmt.Errorf("redisstore: cannot %s tag %q in %s: %w", action, tag, s, err)
	if advice, _ := adviceFor(err); advice != "" {
		return fmt.Errorf("%w; %s", text, advice)
	}
	return text
}

// tagReplyError returns the error of a reply that concerns the server or a damaged record, or that the scripts do
// not give.
func (s *Store) tagReplyError(reply []string) error {
	switch {
	case reply[0] == "policy" && len(reply) == 2:
		return fmt.Errorf("%w: %s: maxmemory-policy is %s, so Redis may delete the tags to free memory; %s", segment.ErrSource, s, reply[1], adviceEviction)
	case reply[0] == "no history":
		return fmt.Errorf("%w: %s: INFO has no master_replid or no run_id; %s", segment.ErrSource, s, adviceNoHistory)
	case reply[0] == "damaged" && len(reply) == 3:
		return s.damagedTag(reply[1], reply[2])
	}
	return s.wrongReply(reply)
}

// damagedTag returns the error for a field of the hash of tags whose value no Store has written.
func (s *Store) damagedTag(field, value string) error {
	must := "the tag's next number, 0 to 9223372036854775807: set it with HSET, to more than any number that was handed out"
	switch {
	case strings.HasPrefix(field, "skip:"):
		must = "how many numbers the tag has skipped after changes of the history, 0 to 2251799813685248: set it to 0 with HSET; the tag then skips them again"
	case strings.HasPrefix(field, "skip"):
		must = "how many numbers were skipped after changes of the history, 0 to 2251799813685248: " +
			"set it to the greatest value of the fields that begin with skip, with HSET"
	case strings.HasPrefix(field, "step:"):
		must = fmt.Sprintf("the tag's step, 1 to %d: set it with HSET", int64(segment.MaxStep))
	}
	return fmt.Errorf("%w: %s: the field %q of the hash %q is %q; must be %s", segment.ErrSource, s, field, s.tagKeys[1], value, must)
}

// noTag returns the error for a tag that does not exist.
func (s *Store) noTag(tag string, poolMissing bool) error {
	if poolMissing {
		return fmt.Errorf("%w: %q in %s: the pool is missing: the hash %q does not exist, because the pool is new, or because the server has lost it: "+
			"create the tag beyond all numbers that were handed out, with a zero UnusedBefore, and so each other tag that existed: "+
			"one that a program creates by itself begins only one gap behind its start", segment.ErrNoTag, tag, s, s.tagKeys[1])
	}
	return fmt.Errorf("%w: %q in %s: create it with CreateTag, beyond its numbers if it existed", segment.ErrNoTag, tag, s)
}

// exhausted returns the error for a tag without numbers.
func (s *Store) exhausted(tag string, counter, gap int64) error {
	if gap == 0 {
		return fmt.Errorf("%w: tag %q in %s: the next number would be %d; must be at most %d: use another tag",
			segment.ErrExhausted, tag, s, counter, int64(segment.MaxNumber))
	}
	return fmt.Errorf("%w: tag %q in %s: the next number would be %d plus %d that are skipped because the history has changed (WithFailoverGap); must be at most %d: use another tag",
		segment.ErrExhausted, tag, s, counter, gap, int64(segment.MaxNumber))
}

// wrongReply returns the error for a reply that the scripts do not give.
func (s *Store) wrongReply(reply []string) error {
	return fmt.Errorf("%w: %s: the reply %q has an unknown form; check what is between the client and the server", segment.ErrSource, s, reply)
}
