package etcdstore

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/etcdtest"
	"github.com/ringuid/ringuid/internal/testkit/takertest"
	"github.com/ringuid/ringuid/segment"
)

// reconnected takes a range, from a client that may have to connect again.
func reconnected(t *testing.T, s *Store, r segment.Request) (got segment.Range, err error) {
	t.Helper()
	testkit.Retry(t, "Take", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if got, err = s.Take(ctx, r); errors.Is(err, segment.ErrSetBack) || errors.Is(err, segment.ErrNoTag) {
			return nil
		}
		return err
	})
	return got, err
}

// restoredTag has a tag, whose numbers up to 520 were taken, and a snapshot of the time at which it was 20.
type restoredTag struct {
	server *etcdtest.Server
	user   *Store // has taken the numbers
}

func restoreTag(t *testing.T, token string, opts ...Option) restoredTag {
	t.Helper()
	r := restoredTag{server: etcdtest.Start(t)}
	r.user = New(dial(t, r.server.Endpoint()), opts...)
	takertest.Create(t, r.user)
	takertest.Take(t, r.user, segment.Request{Tag: takertest.Tag})
	snapshot := r.server.Snapshot()
	takertest.Take(t, r.user, segment.Request{Tag: takertest.Tag, Size: 500})
	r.server.Restore(snapshot, token)
	return r
}

// After a snapshot was restored with another token, each tag continues beyond the gap, once, whether a process remembers
// what it has taken or not.
func TestTagRestoredSnapshot(t *testing.T) {
	t.Parallel()
	r := restoreTag(t, "another", WithFailoverGap(5000))
	fresh := New(dial(t, r.server.Endpoint()), WithFailoverGap(5000))
	got := takertest.Take(t, fresh, segment.Request{Tag: takertest.Tag})
	if got.First != 5021 {
		t.Errorf("a process that remembers nothing has got %+v; want 5021 as its first number", got)
	}
	got, err := reconnected(t, r.user, segment.Request{Tag: takertest.Tag, AtLeast: 521})
	if err != nil || got.First != 5041 {
		t.Errorf("a process that remembers has got %+v, %v; want 5041 as its first number", got, err)
	}
}

// If a process remembers more than the counter and the gap, it is refused, and that changes nothing.
func TestTagRestoredSnapshotSmallGap(t *testing.T) {
	t.Parallel()
	r := restoreTag(t, "another", WithFailoverGap(400))
	for range 3 {
		got, err := reconnected(t, r.user, segment.Request{Tag: takertest.Tag, AtLeast: 521})
		var e *segment.SetBackError
		if !errors.As(err, &e) || e.Counter != 421 || e.AtLeast != 521 {
			t.Errorf("%+v, %v; want a SetBackError of 421", got, err)
		}
	}
	// The remedy of the error: somebody raises the counter.
	setCounter(t, dial(t, r.server.Endpoint()), r.user, takertest.Tag, 521)
	if got, err := reconnected(t, r.user, segment.Request{Tag: takertest.Tag, AtLeast: 521}); err != nil || got.First < 521 {
		t.Errorf("after the counter was raised: %+v, %v", got, err)
	}
}

// With the old token a process that has seen more notices it, for all.
func TestTagRestoredSnapshotSameCluster(t *testing.T) {
	t.Parallel()
	r := restoreTag(t, "ringuid")
	if got, err := reconnected(t, r.user, segment.Request{Tag: takertest.Tag}); err != nil || got.First != 1_000_021 {
		t.Errorf("the process that has seen more has got %+v, %v; want 1,000,021 as its first number", got, err)
	}
	if got := takertest.Take(t, New(dial(t, r.server.Endpoint())), segment.Request{Tag: takertest.Tag}); got.First != 1_000_041 {
		t.Errorf("then another has got %+v; want 1,000,041 as its first number", got)
	}
}

// With the old token, a process that has just started notices it only by AtLeast, and changes nothing then. NewHistory
// makes all tags continue beyond the gap.
func TestTagRestoredSnapshotOperator(t *testing.T) {
	t.Parallel()
	r := restoreTag(t, "ringuid")
	fresh := New(dial(t, r.server.Endpoint()))
	for range 3 {
		_, err := fresh.Take(t.Context(), segment.Request{Tag: takertest.Tag, AtLeast: 521})
		var e *segment.SetBackError
		if !errors.As(err, &e) || e.Counter != 21 {
			t.Errorf("%v; want a SetBackError of 21", err)
		}
	}
	if err := New(dial(t, r.server.Endpoint())).NewHistory(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := takertest.Take(t, fresh, segment.Request{Tag: takertest.Tag, AtLeast: 521}); got.First != 1_000_021 {
		t.Errorf("after NewHistory: %+v; want 1,000,021 as its first number", got)
	}
}

// A snapshot is from before the first write of a tag. A program that creates the tag by itself begins beyond the gap,
// and one that says that the tag is new at its start.
func TestTagRestoredBeforeTag(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	user := New(dial(t, server.Endpoint()))
	takertest.Create(t, user)
	before := time.Now().Add(-time.Hour)
	day := segment.TagConfig{Start: 5, UnusedBefore: before}
	snapshot := server.Snapshot()
	if err := user.CreateTag(t.Context(), "day", day); err != nil {
		t.Fatal(err)
	}
	if got := takertest.Take(t, user, segment.Request{Tag: "day"}); got.First != 5 {
		t.Errorf("in a new pool: %+v; want 5 as its first number", got)
	}
	server.Restore(snapshot, "another")
	s := New(dial(t, server.Endpoint()))
	if got, err := reconnected(t, s, segment.Request{Tag: "day"}); !errors.Is(err, segment.ErrNoTag) {
		t.Errorf("%+v, %v; want ErrNoTag", got, err)
	}
	for tag, want := range map[string]int64{"day": 1_000_005, "new": 5, "tomorrow": 5} {
		c := day
		switch tag {
		case "new":
			c.UnusedBefore = time.Time{}
		case "tomorrow":
			c.UnusedBefore = time.Now().Add(24 * time.Hour)
		}
		if err := s.CreateTag(t.Context(), tag, c); err != nil {
			t.Fatal(err)
		}
		if got := takertest.Take(t, s, segment.Request{Tag: tag}); got.First != want {
			t.Errorf("tag %q: %+v; want %d as its first number", tag, got, want)
		}
	}
}

// A snapshot is from before the first write of the pool. No program creates tags by itself then, until somebody says that
// tags were lost, or that the pool is new.
func TestTagRestoredBeforePool(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"NewHistory", "new"} {
		t.Run(how, func(t *testing.T) {
			server := etcdtest.Start(t)
			if _, err := dial(t, server.Endpoint()).Put(t.Context(), "any", "x"); err != nil {
				t.Fatal(err)
			}
			snapshot := server.Snapshot()
			user := New(dial(t, server.Endpoint()))
			takertest.Create(t, user)
			day := segment.TagConfig{UnusedBefore: time.Now().Add(-time.Hour)}
			if err := user.CreateTag(t.Context(), "day", day); err != nil {
				t.Fatal(err)
			}
			takertest.Take(t, user, segment.Request{Tag: "day"})
			server.Restore(snapshot, "another")
			s := New(dial(t, server.Endpoint()))
			for range 3 {
				if err := s.CreateTag(t.Context(), "day", day); !errors.Is(err, segment.ErrNoTag) || !strings.Contains(err.Error(), `pool of tags is missing ("ringuid/tagpool")`) {
					t.Errorf("%v; want ErrNoTag, and that the pool is missing", err)
				}
			}
			want := int64(1_000_001)
			if how == "NewHistory" {
				if err := s.NewHistory(t.Context()); err != nil {
					t.Fatal(err)
				}
			} else {
				want = 1
				takertest.Create(t, s) // declares it new
			}
			if err := s.CreateTag(t.Context(), "day", day); err != nil {
				t.Fatal(err)
			}
			if got := takertest.Take(t, s, segment.Request{Tag: "day"}); got.First != want {
				t.Errorf("%+v; want %d as its first number", got, want)
			}
		})
	}
}

// A process is paused between its read and its write. Meanwhile others take numbers, and a snapshot from before that is
// restored, so that the write finds the values that it compares with. The numbers must not be handed out again.
func TestTagWriteToRestoredSnapshot(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"another", "ringuid"} {
		t.Run(token, func(t *testing.T) {
			server := etcdtest.Start(t)
			direct := dial(t, server.Endpoint())
			user := New(direct)
			takertest.Create(t, user)
			var once sync.Once
			var snapshot string
			paused := onTxn(t, func(ctx context.Context, write bool, _ *etcdserverpb.TxnRequest, send func() error) error {
				if write {
					once.Do(func() {
						takertest.Take(t, user, segment.Request{Tag: takertest.Tag, Size: 500})
						server.Restore(snapshot, token)
					})
				}
				return send()
			}, server.Endpoint())
			s := New(paused)
			snapshot = server.Snapshot()
			if _, err := direct.Put(t.Context(), "any", "x"); err != nil { // the process sees a later revision than that of the snapshot
				t.Fatal(err)
			}
			got, err := s.Take(t.Context(), segment.Request{Tag: takertest.Tag})
			if err != nil { // the connection was lost
				t.Log(err)
				got, err = reconnected(t, s, segment.Request{Tag: takertest.Tag})
			}
			if err != nil || got.First <= 1_000_000 {
				t.Errorf("%+v, %v; want a range beyond the gap", got, err)
			}
		})
	}
}

// Two snapshots are restored, of which the second one was taken after the first one was restored, but before a tag was used
// again, or created. What was handed out in between is not handed out again.
func TestTagRestoredTwice(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	s := New(dial(t, server.Endpoint()), WithFailoverGap(5000))
	takertest.Create(t, s)
	if err := s.CreateTag(t.Context(), "other", segment.TagConfig{}); err != nil {
		t.Fatal(err)
	}
	day := segment.TagConfig{UnusedBefore: time.Now().Add(-time.Hour)}
	takertest.Take(t, s, segment.Request{Tag: takertest.Tag})
	server.Restore(server.Snapshot(), "second")
	if _, err := reconnected(t, s, segment.Request{Tag: "other"}); err != nil {
		t.Fatal(err)
	}
	snapshot := server.Snapshot()
	for tag, want := range map[string]int64{takertest.Tag: 5021, "day": 5001} {
		if tag == "day" {
			if err := s.CreateTag(t.Context(), tag, day); err != nil {
				t.Fatal(err)
			}
		}
		if got := takertest.Take(t, s, segment.Request{Tag: tag, Size: 100}); got.First != want {
			t.Errorf("after the first restore: tag %q: %+v; want %d as its first number", tag, got, want)
		}
	}
	server.Restore(snapshot, "third")
	s = New(dial(t, server.Endpoint()), WithFailoverGap(5000))
	for tag, want := range map[string]int64{takertest.Tag: 10_021, "day": 10_001} {
		if tag == "day" {
			if err := s.CreateTag(t.Context(), tag, day); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := reconnected(t, s, segment.Request{Tag: tag}); err != nil || got.First != want {
			t.Errorf("after the second restore: tag %q: %+v, %v; want %d as its first number", tag, got, err, want)
		}
	}
}

// One snapshot is restored twice. An operator who calls NewHistory with a greater gap than the first one makes all tags
// continue beyond what was handed out after the first restore.
func TestTagSameSnapshotTwice(t *testing.T) {
	t.Parallel()
	r := restoreTag(t, "another", WithFailoverGap(5000))
	snapshot := r.server.Snapshot()
	for n, gap := range []int64{5000, 10_000} {
		if n > 0 {
			r.server.Restore(snapshot, "third")
			operator := New(dial(t, r.server.Endpoint()), WithFailoverGap(gap))
			if err := operator.NewHistory(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		s := New(dial(t, r.server.Endpoint()), WithFailoverGap(5000))
		if got := takertest.Take(t, s, segment.Request{Tag: takertest.Tag, Size: 4999}); got.First != 21+gap {
			t.Errorf("restore %d: %+v; want %d as its first number", n+1, got, 21+gap)
		}
	}
}
