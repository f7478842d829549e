package zookeeperstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/ringuid/ringuid/internal/testkit/takertest"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/internal/testkit/zookeepertest"
	"github.com/ringuid/ringuid/segment"
)

// newPath returns an option with a path that no other test uses.
func newPath() Option { return WithPath(fmt.Sprintf("/test-tags-%d", time.Now().UnixNano())) }

// must fails the test if there is an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// In one process the calls of a tag do not compete: each is one write. No number is lost or taken twice.
func TestTagQueue(t *testing.T) {
	conn := dial(t, servers(t)...)
	s := New(conn, newPath())
	takertest.Create(t, s)
	const goroutines, takes = 10, 20
	var set uniq.Set
	var wg sync.WaitGroup
	_, first, err := conn.Get(s.tagPath(takertest.Tag))
	must(t, err)
	for range goroutines {
		wg.Go(func() {
			w := set.Writer()
			for range takes {
				r, err := s.Take(t.Context(), segment.Request{Tag: takertest.Tag, Size: 1})
				if err != nil || r.Length != 1 || !w.Add(r.First) {
					t.Errorf("%+v, %v", r, err)
				}
			}
		})
	}
	wg.Wait()
	_, last, err := conn.Get(s.tagPath(takertest.Tag))
	must(t, err)
	if n := set.Len(); n != goroutines*takes || int(last.Version-first.Version) != goroutines*takes {
		t.Errorf("%d numbers were taken, with %d writes; want %d", n, last.Version-first.Version, goroutines*takes)
	}
	// The clock of the ensemble is set if the state must be recent. Then there is another transaction.
	if n := last.Mzxid - first.Mzxid; n > goroutines*takes+5 {
		t.Errorf("%d Takes made %d transactions; want one for each", goroutines*takes, n)
	}
	if marks, _, err := conn.Children(s.tagPath(takertest.Tag)); err != nil || len(marks) != 1 {
		t.Errorf("the tag has the marks %v, %v; want one", marks, err)
	}
}

// A tag whose call does not return delays calls of the same tag as long as their contexts allow, and no other tag.
func TestTagBlocked(t *testing.T) {
	s := New(dial(t, servers(t)...), newPath())
	takertest.Create(t, s)
	must(t, s.CreateTag(t.Context(), "free", segment.TagConfig{}))
	leave, err := s.tags.Enter(t.Context(), takertest.Tag)
	must(t, err)
	takertest.Take(t, s, segment.Request{Tag: "free"})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if r, err := s.Take(ctx, segment.Request{Tag: takertest.Tag}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a Take of the blocked tag: %+v, %v; want that its context has ended", r, err)
	}
	leave()
	takertest.Take(t, s, segment.Request{Tag: takertest.Tag})
}

// A call whose context has ended keeps its turn until the server answers, so that calls do not pile up.
func TestTagTurnOfEndedCall(t *testing.T) {
	server := zookeepertest.Start(t)
	sent := make(chan uint32, 1000)
	s := New(dialHooked(t, func(operation uint32) bool {
		if operation != opPing {
			sent <- operation
		}
		return false
	}, server.Address()))
	takertest.Create(t, s)
	server.Pause()
	for len(sent) > 0 {
		<-sent
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-sent // the call has its turn
		cancel()
	}()
	for range 3 {
		if r, err := s.Take(ctx, segment.Request{Tag: takertest.Tag}); !errors.Is(err, ctx.Err()) || err == nil {
			t.Errorf("a Take of a paused server: %+v, %v; want that its context has ended", r, err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := s.tags.Enter(ctx, takertest.Tag); err == nil {
			t.Error("the turn of the call has ended before the call")
		}
		ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
	}
	server.Resume()
	takertest.Take(t, s, segment.Request{Tag: takertest.Tag})
}

// A record that is wrong is an error that names the znode, and remains as it is.
func TestTagDamagedRecord(t *testing.T) {
	conn := dial(t, servers(t)...)
	s := New(conn, newPath())
	takertest.Create(t, s)
	takertest.Take(t, s, segment.Request{Tag: takertest.Tag})
	for path, texts := range map[string][]string{
		s.tagPath(takertest.Tag): {"", "{", "5", `{"tag":"orders","next":0,"step":1,"history":"h"}`, `{"tag":"invoices","next":5,"step":1,"history":"h"}`,
			`{"tag":"orders","next":5,"step":0,"history":"h"}`, `{"tag":"orders","next":9223372036854775808,"step":1,"history":"h"}`},
		s.tagPoolPath(): {"", "{", `{"history":""}`},
	} {
		before, _, err := conn.Get(path)
		must(t, err)
		for _, text := range texts {
			_, err := conn.Set(path, []byte(text), -1)
			must(t, err)
			r, err := s.Take(t.Context(), segment.Request{Tag: takertest.Tag})
			err2 := s.CreateTag(t.Context(), takertest.Tag, segment.TagConfig{})
			for _, err := range []error{err, err2} {
				if !errors.Is(err, segment.ErrSource) || !strings.Contains(err.Error(), path) {
					t.Errorf("%s = %q: %+v, %v; want ErrSource, and the znode", path, text, r, err)
				}
			}
			if after, _, err := conn.Get(path); err != nil || string(after) != text {
				t.Errorf("%s = %q was replaced by %q, %v", path, text, after, err)
			}
		}
		_, err = conn.Set(path, before, -1)
		must(t, err)
	}
	if r := takertest.Take(t, s, segment.Request{Tag: takertest.Tag}); r.First != 21 {
		t.Errorf("after the records were restored, the range is %+v; want 21 as its first number", r)
	}
}

// Marks that somebody has deleted or added do not stop a tag.
func TestTagMarks(t *testing.T) {
	conn := dial(t, servers(t)...)
	s := New(conn, newPath())
	takertest.Create(t, s)
	tag := s.tagPath(takertest.Tag)
	for _, change := range []func(mark string) error{
		func(mark string) error { return conn.Delete(mark, -1) },
		func(string) error { _, err := conn.Create(tag+"/another", nil, 0, s.acl); return err },
	} {
		before := takertest.Take(t, s, segment.Request{Tag: takertest.Tag})
		marks, _, err := conn.Children(tag)
		must(t, err)
		must(t, change(tag+"/"+marks[0]))
		if r := takertest.Take(t, s, segment.Request{Tag: takertest.Tag}); r.First != before.First+20 {
			t.Errorf("after %+v follows %+v", before, r)
		}
		if marks, _, err := conn.Children(tag); err != nil || len(marks) != 1 {
			t.Errorf("the tag has the marks %v, %v; want one", marks, err)
		}
	}
}

// Znodes of tags that an older version of this package has not created are created. A pool of tags that was deleted is
// created again, as one that may have lost tags.
func TestTagMissingZnodes(t *testing.T) {
	conn := dial(t, servers(t)...)
	s := New(conn, newPath())
	_, _, err := s.readClock(t.Context())
	must(t, err)
	must(t, conn.Delete(s.tagsPath(), -1))
	takertest.Create(t, s)
	for _, how := range []string{"Take", "CreateTag"} {
		must(t, conn.Delete(s.tagPoolPath(), -1))
		if how == "Take" {
			takertest.Take(t, s, segment.Request{Tag: takertest.Tag})
		} else {
			must(t, s.CreateTag(t.Context(), "new", segment.TagConfig{}))
		}
		must(t, s.CreateTag(t.Context(), how, segment.TagConfig{UnusedBefore: time.Now().Add(-time.Hour)}))
		if r := takertest.Take(t, s, segment.Request{Tag: how}); r.First != 1_000_001 {
			t.Errorf("%s: a tag that was created by itself begins at %d; want 1,000,001", how, r.First)
		}
	}
}

// NewHistory records the time at once: tags that cannot have existed then do not begin with a gap.
func TestTagNewHistory(t *testing.T) {
	s := New(dial(t, servers(t)...), newPath())
	takertest.Create(t, s)
	must(t, s.NewHistory(t.Context()))
	state, err := s.readTag(t.Context(), takertest.Tag, true)
	must(t, err)
	if state.Pool.History != state.History || state.Tag.History == state.History || state.Pool.Since.IsZero() || state.Pool.Since.After(state.Now) {
		t.Errorf("after NewHistory, the state is %+v; want the new history in the pool, and a time", state)
	}
	if r := takertest.Take(t, s, segment.Request{Tag: takertest.Tag}); r.First != 1_000_001 {
		t.Errorf("%+v; want 1,000,001 as its first number", r)
	}
	// A tag that was not used meanwhile skips the gaps of all changes.
	for range 2 {
		must(t, s.NewHistory(t.Context()))
	}
	if r := takertest.Take(t, s, segment.Request{Tag: takertest.Tag}); r.First != 3_000_021 {
		t.Errorf("%+v; want 3,000,021 as its first number", r)
	}
}

// Invalid options are errors of all methods.
func TestTagOptions(t *testing.T) {
	conn := new(zk.Conn)
	for want, s := range map[string]*Store{
		"connection is nil":          New(nil),
		"option is nil":              New(conn, nil),
		`path is ""`:                 New(conn, WithPath("")),
		"gap after a failover is 0":  New(conn, WithFailoverGap(0)),
		"gap after a failover is -1": New(conn, WithFailoverGap(-1)),
		"must be 1 to 1099511627776": New(conn, WithFailoverGap(segment.MaxStep+1)),
	} {
		_, err := s.Take(t.Context(), segment.Request{Tag: "a"})
		for _, err := range []error{err, s.CreateTag(t.Context(), "a", segment.TagConfig{})} {
			if !errors.Is(err, segment.ErrOption) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v; want segment.ErrOption with %q", err, want)
			}
		}
	}
}
