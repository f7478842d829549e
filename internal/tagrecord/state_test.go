package tagrecord

import (
	"errors"
	"testing"
	"time"

	"github.com/ringuid/ringuid/segment"
)

type storeName string

func (n storeName) String() string { return string(n) }

// A tag is created at its start in a pool that is new or has not changed, behind a gap if a pool of tags was lost, and not at all if
// nobody knows whether one was.
func TestStateCreate(t *testing.T) {
	now := time.UnixMilli(1_795_000_000_000).UTC()
	for name, tt := range map[string]struct {
		state   State
		unused  time.Time
		next    int64
		history string
		err     error
	}{
		"new pool":            {State{}, time.Time{}, 7, "h", nil},
		"missing pool":        {State{}, now, 0, "", segment.ErrNoTag},
		"lost pool, unused":   {State{HasTags: true}, now, 1007, "h", nil},
		"lost pool, declared": {State{HasTags: true}, time.Time{}, 7, "h", nil},
		"same history":        {State{HasPool: true, Pool: Pool{History: "h"}}, now, 7, "h", nil},
		"other history":       {State{HasPool: true, Pool: Pool{History: "g"}}, now, 1007, "h", nil},
		"tag exists":          {State{HasPool: true, HasTag: true, HasTags: true, Tag: Record{Tag: "a"}}, now, 0, "", segment.ErrTagExists},
	} {
		s := tt.state
		s.Store, s.PoolKey, s.Gap, s.History, s.Now = storeName("store"), "pool", 1000, "h", now
		err := s.Create("a", segment.TagConfig{Start: 7, Step: 10, UnusedBefore: tt.unused})
		if !errors.Is(err, tt.err) || s.Tag.Next != tt.next || s.Pool.History != tt.history && tt.err == nil {
			t.Errorf("%s: the tag is %+v, the pool %+v, %v; want %d, %q, %v", name, s.Tag, s.Pool, err, tt.next, tt.history, tt.err)
		}
	}
}

// A range is taken from a tag that exists, behind a gap if the history of the store is another one.
func TestStateTake(t *testing.T) {
	now := time.UnixMilli(1_795_000_000_000).UTC()
	s := State{Store: storeName("store"), Gap: 1000, History: "h", Now: now}
	if _, err := s.Take(segment.Request{Tag: "a"}); !errors.Is(err, segment.ErrNoTag) {
		t.Errorf("without a tag: %v", err)
	}
	s.HasTag, s.Tag = true, Record{Tag: "a", Next: 5, Step: 10, History: "h"}
	s.HasPool, s.Pool = true, Pool{History: "h"}
	for i, first := range []int64{5, 1015, 1025} {
		if i == 1 {
			s.History = "i"
		}
		if r, err := s.Take(segment.Request{Tag: "a"}); err != nil || r.First != first || s.Tag.Next != first+10 || s.Pool.History != s.History {
			t.Errorf("take %d: %+v, %v; the tag is %+v, the pool %+v; want %d", i, r, err, s.Tag, s.Pool, first)
		}
	}
}
