package redisstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/redistest"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/redisstore"
)

// The last write that a server still has is of a server whose clock was ahead. Losses in a row lead to other numbers
// nevertheless.
func TestRepeatedLossesClockAhead(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "no")
	server.UseClock()
	s := redisstore.New(connect(t, server.Address()))
	server.SetClock(time.Hour)
	createTag(t, s, "x", segment.TagConfig{Step: 10})
	take(t, s, segment.Request{Tag: "x"})
	server.MustCommand("SAVE")
	var set uniq.Set
	for n := range 5 {
		server.Kill()
		server.Restart()
		server.SetClock(time.Duration(n) * time.Second)
		if twice := duplicates(&set, take(t, s, segment.Request{Tag: "x", Size: 10_000})); twice != 0 {
			t.Errorf("%d numbers came twice after %d losses", twice, n+1)
		}
	}
}

// The first server that notices a change has a clock that is far behind, as a host without a battery after its start.
// A tag that was lost begins beyond the gap, also if it is created again when the clock is right.
func TestChangeNoticedByClockBehind(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "no")
	server.UseClock()
	s := redisstore.New(connect(t, server.Address()))
	createTag(t, s, "x", segment.TagConfig{})
	server.SetClock(24 * time.Hour) // the pool is older than its tag of the day
	take(t, s, segment.Request{Tag: "x"})
	server.MustCommand("SAVE")
	day := segment.TagConfig{UnusedBefore: time.Now().Add(23 * time.Hour)}
	createTag(t, s, "day", day)
	var set uniq.Set
	duplicates(&set, take(t, s, segment.Request{Tag: "day"}))
	server.Kill()
	server.Restart()
	server.SetClock(-1000 * time.Hour)
	take(t, s, segment.Request{Tag: "x"}) // notices the change
	server.SetClock(24 * time.Hour)
	createTag(t, s, "day", day)
	if twice := duplicates(&set, take(t, s, segment.Request{Tag: "day"})); twice != 0 {
		t.Errorf("%d numbers came twice", twice)
	}
}

// A CreateTag that the server ends in the middle, because the user lacks the right for a command, leaves no tag that
// begins without the gap.
func TestCreateTagInterrupted(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := connect(t, server.Address())
	s := redisstore.New(c)
	createTag(t, s, "x", segment.TagConfig{})
	for _, command := range []string{"hincrby", "hset"} {
		server.MustCommand("ACL", "SETUSER", "default", "-"+command)
		day := segment.TagConfig{UnusedBefore: time.Now().Add(-time.Hour)}
		if err := s.CreateTag(t.Context(), command, day); err == nil {
			t.Errorf("CreateTag without the right for %s has returned no error", command)
		}
		server.MustCommand("ACL", "SETUSER", "default", "+"+command)
		if got, err := s.Take(t.Context(), segment.Request{Tag: command}); err == nil && got.First <= 1_000_000 ||
			err != nil && !errors.Is(err, segment.ErrNoTag) && !errors.Is(err, segment.ErrSource) {
			t.Errorf("Take() of a tag whose creation without the right for %s has failed = %+v, %v", command, got, err)
		}
	}
}
