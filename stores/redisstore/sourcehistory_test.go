package redisstore_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit/redistest"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/redisstore"
)

// duplicates adds the numbers of ranges to a set and returns how many it had already.
func duplicates(set *uniq.Set, ranges ...segment.Range) (n int) {
	w := set.Writer()
	for _, r := range ranges {
		for i := range r.Length {
			if !w.Add(r.First + i*r.Stride) {
				n++
			}
		}
	}
	return n
}

// A replica is promoted that lacks the last writes, while the former primary still hands out ranges. With the gap there
// is no duplicate. Without it there are, except for processes that remember more than the server.
func TestTagFailover(t *testing.T) {
	t.Parallel()
	for name, gap := range map[string]int64{"with the gap": 1_000_000, "without it": 0} {
		t.Run(name, func(t *testing.T) {
			primary := redistest.Start(t)
			replica := primary.Replica()
			// No replica must have what counts.
			former := redisstore.New(connect(t, primary.Address()), redisstore.WithFailoverGap(gap), redisstore.WithReplicas(0))
			promoted := redisstore.New(connect(t, replica.Address()), redisstore.WithFailoverGap(gap), redisstore.WithReplicas(0))
			var set uniq.Set
			createTag(t, former, "x", segment.TagConfig{})
			for range 10 {
				if n := duplicates(&set, take(t, former, segment.Request{Tag: "x"})); n != 0 {
					t.Fatalf("%d duplicates before the failover", n)
				}
			}
			replica.WaitSynced(primary)
			replica.Disconnect()
			lost := segment.Range{}
			for range 20 { // the replica does not receive them
				lost = take(t, former, segment.Request{Tag: "x"})
				duplicates(&set, lost)
			}
			end := lost.First + lost.Length
			replica.Promote()
			found := 0
			for range 20 { // both hand out ranges
				found += duplicates(&set, take(t, promoted, segment.Request{Tag: "x"}), take(t, former, segment.Request{Tag: "x"}))
			}
			if (found == 0) != (gap > 0) {
				t.Errorf("%d duplicates with the gap %d", found, gap)
			}
			// Another process remembers what the server has lost.
			got, err := promoted.Take(t.Context(), segment.Request{Tag: "x", AtLeast: end + 20_000})
			var setBack *segment.SetBackError
			switch {
			case gap == 0 && (!errors.As(err, &setBack) || setBack.AtLeast != end+20_000 || setBack.Counter >= end+20_000):
				t.Errorf("Take() of a process that remembers = %+v, %v; want a SetBackError", got, err)
			case gap > 0 && (err != nil || got.First < gap):
				t.Errorf("Take() of a process that remembers = %+v, %v", got, err)
			}
		})
	}
}

// wantGap takes a range after a change of the history, and fails the test unless it begins a gap beyond next, and for each second since
// began, when the change before was not made yet, at most another tenth of it. It returns the end of the range.
func wantGap(t testing.TB, began time.Time, s segment.Source, r segment.Request, next, gap int64) int64 {
	t.Helper()
	got := take(t, s, r)
	if got.First < next+gap || got.First > next+gap+int64(time.Since(began).Seconds()+1)*gap/10 {
		t.Fatalf("Take(%+v) = %+v, want a first number that is a gap of %d beyond %d", r, got, gap, next)
	}
	return got.First + got.Length
}

// A change of the history adds the gap once for each tag, in the same step as the range. A refused Take does not
// record it.
func TestTagHistory(t *testing.T) {
	server := redistest.Start(t, "--appendfsync", "always")
	c := connect(t, server.Address())
	s := redisstore.New(c, redisstore.WithFailoverGap(1000), redisstore.WithAcknowledgeTimeout(time.Minute))
	began := time.Now()
	for _, tag := range []string{"a", "b", "c"} {
		createTag(t, s, tag, segment.TagConfig{Step: 10})
		wantTake(t, s, segment.Request{Tag: tag}, segment.Range{First: 1, Length: 10, Step: 10})
	}
	server.Kill()
	server.Restart()
	before := tagFields(t, c, redisstore.DefaultPool)
	for _, atLeast := range []int64{1 << 30, 1 << 62} {
		_, err := s.Take(t.Context(), segment.Request{Tag: "a", AtLeast: atLeast})
		var setBack *segment.SetBackError
		if !errors.As(err, &setBack) || setBack.Counter < 1011 || setBack.Counter > 1111+int64(time.Since(began).Seconds())*100 {
			t.Errorf("Take() = %v, want a SetBackError with a counter beyond the gap", err)
		}
	}
	if after := tagFields(t, c, redisstore.DefaultPool); after != before {
		t.Errorf("a refused Take has changed %s to %s", before, after)
	}
	// A process without a gap changes nothing for those that have one.
	wantTake(t, redisstore.New(c, redisstore.WithFailoverGap(0), redisstore.WithAcknowledgeTimeout(time.Minute)), segment.Request{Tag: "a"}, segment.Range{First: 11, Length: 10, Step: 10})
	next := wantGap(t, began, s, segment.Request{Tag: "a", AtLeast: 1021}, 21, 1000)
	wantTake(t, s, segment.Request{Tag: "a", AtLeast: next}, segment.Range{First: next, Length: 10, Step: 10})
	nextB := wantGap(t, began, s, segment.Request{Tag: "b"}, 11, 1000)
	// The first replica that attaches changes the history too.
	replica := server.Replica()
	nextB = wantGap(t, began, s, segment.Request{Tag: "b"}, nextB, 1000)
	replica.WaitSynced(server)
	wantTake(t, s, segment.Request{Tag: "b"}, segment.Range{First: nextB, Length: 10, Step: 10})
	// A tag that was not used meanwhile skips what the others have skipped.
	wantTake(t, s, segment.Request{Tag: "c"}, segment.Range{First: nextB - 20, Length: 10, Step: 10})
}

// The pool remembers the last changes of its history.
func TestTagChanges(t *testing.T) {
	s, c, pool := newStore(t, redisstore.WithFailoverGap(1000))
	began := time.Now()
	createTag(t, s, "x", segment.TagConfig{})
	next := int64(1)
	for n := range 30 {
		c.HSet(t.Context(), tagsKey(pool), "history", "another")
		next = wantGap(t, began, s, segment.Request{Tag: "x"}, next, 1000)
		changes := strings.Fields(c.HGet(t.Context(), tagsKey(pool), "changes").Val())
		if len(changes) != min(n+2, 20) || !strings.HasSuffix(changes[0], "=0") {
			t.Fatalf("after %d changes the pool has %q", n+1, changes)
		}
	}
	skip := c.HGet(t.Context(), tagsKey(pool), "skip").Val()
	createTag(t, s, "day", segment.TagConfig{UnusedBefore: time.Now().Add(-time.Hour)})
	if got := fmt.Sprint(take(t, s, segment.Request{Tag: "day"}).First - 1); got != skip {
		t.Errorf("a tag that may have existed before all changes begins at %s, want %s", got, skip)
	}
	// Changes before the tag can have existed do not count.
	c.HSet(t.Context(), tagsKey(pool), "skip", 70_000, "changes", fmt.Sprintf("1=0 2=1000 %d=50000 %[1]d=60000", time.Now().UnixMilli()))
	createTag(t, s, "today", segment.TagConfig{UnusedBefore: time.Now().Add(-time.Minute)})
	wantTake(t, s, segment.Request{Tag: "today", Size: 1}, segment.Range{First: 20_001, Length: 1, Step: 1000})
}

// The gap grows with the time since the last write, and never becomes smaller than the gap.
func TestGapGrows(t *testing.T) {
	server := redistest.Start(t, "--appendfsync", "always")
	server.UseClock()
	s := redisstore.New(connect(t, server.Address()), redisstore.WithFailoverGap(1000))
	createTag(t, s, "x", segment.TagConfig{Step: 10})
	next := take(t, s, segment.Request{Tag: "x"}).First + 10
	offset := time.Duration(0)
	for _, tt := range []struct{ step, counts time.Duration }{
		{time.Minute, time.Minute}, {900 * time.Second, 900 * time.Second}, {1070 * time.Second, 70 * time.Second},
		{-8 * time.Second, 0}, {-time.Hour, 400 * time.Second},
	} {
		offset += tt.step
		server.SetClock(offset)
		server.MustCommand("HSET", tagsKey(redisstore.DefaultPool), "history", "another")
		gap := 1000 + 1000*int64(tt.counts/time.Second)/10
		got := take(t, s, segment.Request{Tag: "x"})
		if got.First < next+gap || got.First > next+gap+3000 {
			t.Errorf("%v after the last write the counter is %d further, want %d", tt.step, got.First-next, gap)
		}
		next = got.First + got.Length
	}
}

// Losses in a row: the server has lost the first ranges after a change of the history, together with the record of
// the change and a tag that was created then. The next change leads to other numbers nevertheless.
func TestRepeatedLosses(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "no")
	s := redisstore.New(connect(t, server.Address()))
	createTag(t, s, "x", segment.TagConfig{Step: 10})
	begin := time.Now().Add(-time.Second)
	server.MustCommand("SAVE")
	var x, day uniq.Set
	for n := range 10 {
		for range 10 {
			createTag(t, s, fmt.Sprint("other", rand.Uint64()), segment.TagConfig{})
			if n := duplicates(&x, take(t, s, segment.Request{Tag: "x"})); n != 0 {
				t.Errorf("%d numbers came twice", n)
			}
		}
		createTag(t, s, "day", segment.TagConfig{UnusedBefore: begin})
		if twice := duplicates(&day, take(t, s, segment.Request{Tag: "day"})); twice != 0 {
			t.Errorf("%d numbers of a tag that was created again came twice after %d losses", twice, n)
		}
		server.Kill()
		server.Restart()
	}
}

// Where a tag begins that a program has created by itself.
func TestUnusedBefore(t *testing.T) {
	server := redistest.Start(t, "--appendfsync", "always")
	server.UseClock()
	c := connect(t, server.Address())
	s := redisstore.New(c, redisstore.WithFailoverGap(1000))
	offset := time.Duration(0)
	step := func(d time.Duration) {
		offset += d
		server.SetClock(offset)
	}
	now := func() time.Time { return time.Now().Add(offset) }
	first := func(tag string, unusedBefore time.Time, want int64) {
		t.Helper()
		createTag(t, s, tag, segment.TagConfig{Start: 7, UnusedBefore: unusedBefore})
		got := take(t, s, segment.Request{Tag: tag, AtLeast: 1}).First
		if got < want || got > 1000*want || want == 7 && got != want {
			t.Errorf("tag %s begins at %d, want %d, or more if it is greater than 7", tag, got, want)
		}
	}
	// A pool without a record may have been lost.
	err := s.CreateTag(t.Context(), "a", segment.TagConfig{UnusedBefore: now()})
	if !errors.Is(err, segment.ErrNoTag) || !strings.Contains(err.Error(), "the pool is missing") {
		t.Errorf("CreateTag() in a missing pool = %v", err)
	}
	_, err = s.Take(t.Context(), segment.Request{Tag: "a"})
	if !errors.Is(err, segment.ErrNoTag) || !strings.Contains(err.Error(), "the pool is missing") {
		t.Errorf("Take() in a missing pool = %v", err)
	}
	if n := c.Exists(t.Context(), tagsKey(redisstore.DefaultPool)).Val(); n != 0 {
		t.Error("a refused call has created the pool")
	}
	created := time.Now()
	first("declared", time.Time{}, 7)
	first("before the pool", now().Add(-time.Hour), 1007)
	first("soon after", now(), 1007) // a former primary may have created it
	step(20 * time.Second)
	if time.Since(created) < 10*time.Second { // the limit is 35 s
		first("20 s after", now(), 1007)
	}
	step(20 * time.Second)
	first("40 s after", now(), 7)
	first("40 s after, unused since the beginning", now().Add(-40*time.Second), 1007)
	step(time.Hour)
	first("after an hour", now().Add(-time.Minute), 7)
	before := now()
	server.Kill()
	server.Restart()
	first("the history changed just now", before, 1007)
	server.Kill()
	server.Restart()
	first("in the future", now().Add(time.Hour), 1007)
	server.Kill()
	server.Restart()
	first("declared after a change", time.Time{}, 7) // records the change
	first("the change was recorded by CreateTag", before, 1007)
	step(time.Minute)
	server.Kill()
	server.Restart()
	before = now()
	take(t, s, segment.Request{Tag: "declared"}) // records the change
	first("the change was recorded by Take", before.Add(-time.Second), 1007)
	step(time.Minute)
	first("a minute later", now(), 7)
	first("a minute later, in the future", now().Add(time.Hour), 7)
	server.MustCommand("FLUSHALL")
	if err := s.CreateTag(t.Context(), "declared", segment.TagConfig{UnusedBefore: now()}); !errors.Is(err, segment.ErrNoTag) {
		t.Errorf("CreateTag() after FLUSHALL = %v", err)
	}
}
