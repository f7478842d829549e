package zookeeperstore

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/takertest"
	"github.com/ringuid/ringuid/internal/testkit/zookeepertest"
	"github.com/ringuid/ringuid/segment"
)

// A backup is restored. The ensemble does not show it: those who remember more are refused, and change nothing. After
// NewHistory each tag continues beyond the gap, once.
func TestTagRestoredBackup(t *testing.T) {
	t.Parallel()
	server := zookeepertest.Start(t)
	open := func() *Store { return New(dial(t, server.Address()), WithFailoverGap(5000)) }
	takertest.Create(t, open())
	takertest.Take(t, open(), segment.Request{Tag: takertest.Tag})
	backup := server.Backup()
	day := segment.TagConfig{Start: 5, UnusedBefore: time.Now().Add(-time.Hour)}
	must(t, open().CreateTag(t.Context(), "day", day))
	if r := takertest.Take(t, open(), segment.Request{Tag: "day"}); r.First != 5 {
		t.Errorf("in a new pool: %+v; want 5 as its first number", r)
	}
	takertest.Take(t, open(), segment.Request{Tag: takertest.Tag, Size: 500})
	server.Restore(backup)

	s := open()
	for range 3 {
		_, err := s.Take(t.Context(), segment.Request{Tag: takertest.Tag, AtLeast: 521})
		var e *segment.SetBackError
		if !errors.As(err, &e) || e.Counter != 21 {
			t.Errorf("%v; want a SetBackError of 21", err)
		}
	}
	must(t, open().NewHistory(t.Context()))
	for n, want := range []int64{5021, 5041} {
		if r := takertest.Take(t, []*Store{s, open()}[n], segment.Request{Tag: takertest.Tag, AtLeast: int64(n) * 521}); r.First != want {
			t.Errorf("%+v; want %d as its first number", r, want)
		}
	}
	for tag, want := range map[string]int64{"day": 5005, "new": 5, "tomorrow": 5} {
		c := day
		switch tag {
		case "new":
			c.UnusedBefore = time.Time{}
		case "tomorrow":
			c.UnusedBefore = time.Now().Add(24 * time.Hour)
		}
		must(t, s.CreateTag(t.Context(), tag, c))
		if r := takertest.Take(t, s, segment.Request{Tag: tag}); r.First != want {
			t.Errorf("tag %q: %+v; want %d as its first number", tag, r, want)
		}
	}
}

// A backup is from before the first write of the pool. No program creates tags by itself then, until somebody says that
// tags were lost, or that the pool is new.
func TestTagRestoredBeforePool(t *testing.T) {
	testkit.Full(t, "TestTagRestoredBackup restores one in each run")
	t.Parallel()
	server := zookeepertest.Start(t)
	open := func() *Store { return New(dial(t, server.Address())) }
	for _, how := range []string{"NewHistory", "new"} {
		backup := server.Backup()
		takertest.Create(t, open())
		day := segment.TagConfig{UnusedBefore: time.Now().Add(-time.Hour)}
		must(t, open().CreateTag(t.Context(), "day", day))
		server.Restore(backup)
		s := open()
		for range 3 {
			if err := s.CreateTag(t.Context(), "day", day); !errors.Is(err, segment.ErrNoTag) || !strings.Contains(err.Error(), `pool of tags is missing ("/ringuid/tagpool")`) {
				t.Errorf("%v; want ErrNoTag, and that the pool is missing", err)
			}
		}
		want := int64(1_000_001)
		if how == "NewHistory" {
			must(t, s.NewHistory(t.Context()))
		} else {
			want = 1
			takertest.Create(t, s) // declares it new
		}
		must(t, s.CreateTag(t.Context(), "day", day))
		if r := takertest.Take(t, s, segment.Request{Tag: "day"}); r.First != want {
			t.Errorf("%+v; want %d as its first number", r, want)
		}
		server.Restore(backup) // for the next one
	}
}

// A process is paused between its read and its write. Meanwhile a backup is restored, nobody calls NewHistory, and others
// write until the version is that which the process has read, with another value. Its write must fail: it would set the
// counter back.
func TestTagVersionAgain(t *testing.T) {
	t.Parallel()
	server := zookeepertest.Start(t)
	open := func() *Store { return New(dial(t, server.Address())) }
	takertest.Create(t, open())
	backup := server.Backup()
	s := open()
	takertest.Take(t, s, segment.Request{Tag: takertest.Tag, Size: 1})
	old, err := s.readTag(t.Context(), takertest.Tag, true)
	must(t, err)
	if old.Tag.Next != 2 {
		t.Fatalf("the counter is %d; want 2", old.Tag.Next)
	}
	server.Restore(backup)
	other := open()
	takertest.Take(t, other, segment.Request{Tag: takertest.Tag, Size: 1000})
	now, err := other.readTag(t.Context(), takertest.Tag, true)
	must(t, err)
	if now.tagVersion != old.tagVersion || now.History != old.History {
		t.Fatalf("the version is %d in the history %q, and was %d in %q; the test does not bite", now.tagVersion, now.History, old.tagVersion, old.History)
	}
	next := old.State
	next.Tag.Next = 100
	if ok, err := other.writeTag(old, next); ok || err != nil { // its own connection would wait for later transactions
		t.Errorf("the write returned %v, %v; want false", ok, err)
	}
	if r := takertest.Take(t, other, segment.Request{Tag: takertest.Tag}); r.First != 1001 {
		t.Errorf("%+v; want 1001 as its first number", r)
	}
}
