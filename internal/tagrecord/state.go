package tagrecord

import (
	"fmt"
	"time"

	"github.com/ringuid/ringuid/segment"
)

// A State is a tag and the pool of tags, as a store has read them together. Take and Create make of it what the store must write
// instead. If they return an error, nothing must be written.
type State struct {
	Store   fmt.Stringer // for errors, as PoolKey
	PoolKey string       // where the pool is
	Gap     int64

	History string
	Now     time.Time

	Pool    Pool
	HasPool bool
	Tag     Record
	HasTag  bool
	HasTags bool // there is any tag
}

// Take takes a range of the numbers of the tag.
func (s *State) Take(r segment.Request) (taken segment.Range, err error) {
	if !s.HasTag {
		return taken, fmt.Errorf("%w: %s: tag %q: create it with CreateTag, beyond its numbers if it existed", segment.ErrNoTag, s.Store, r.Tag)
	}
	s.Pool = s.Pool.Follow(s.History, s.Now, s.Gap)
	s.Tag, taken, err = s.Tag.Take(r, s.Pool, s.Gap)
	return taken, err
}

// Create creates the tag. c is valid, see segment.TagConfig.Validate.
func (s *State) Create(tag string, c segment.TagConfig) (err error) {
	switch {
	case s.HasTag:
		return fmt.Errorf("%w: %s: tag %q", segment.ErrTagExists, s.Store, tag)
	case s.HasPool || s.HasTags:
		s.Pool = s.Pool.Follow(s.History, s.Now, s.Gap)
	case !c.UnusedBefore.IsZero():
		return fmt.Errorf("%w: %s: tag %q cannot be created by itself, because the pool of tags is missing (%q): "+
			"if no tag was ever used here, create one tag with a zero UnusedBefore; "+
			"if the pool was lost, call NewHistory of a Store whose failover gap is greater than all that any tag has handed out, so that new tags skip that",
			segment.ErrNoTag, s.Store, tag, s.PoolKey)
	default:
		s.Pool = Pool{History: s.History}
	}
	s.Tag, err = newRecord(tag, c, s.Pool, s.Gap)
	return err
}
