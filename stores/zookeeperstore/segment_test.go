package zookeeperstore

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/ringuid/ringuid/internal/tagrecord"
	"github.com/ringuid/ringuid/internal/takertest"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testserver"
	"github.com/ringuid/ringuid/internal/zookeepertest"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/segment/segmenttest"
)

// setCounter sets the next number of a tag by hand.
func setCounter(tb testing.TB, conn *zk.Conn, s *Store, tag string, next int64) {
	tb.Helper()
	for {
		text, stat, err := conn.Get(s.tagPath(tag))
		if err != nil {
			tb.Fatal(err)
		}
		r, err := tagrecord.DecodeRecord(text, tag)
		if err != nil {
			tb.Fatal(err)
		}
		r.Next = next
		switch _, err := conn.Set(s.tagPath(tag), r.Encode(), stat.Version); {
		case err == nil:
			return
		case !errors.Is(err, zk.ErrBadVersion):
			tb.Fatal(err)
		}
	}
}

// restoreTags restores a backup, and makes so many transactions that clients which have seen later ones are accepted.
func restoreTags(tb testing.TB, server *zookeepertest.Server, backup, root string) {
	tb.Helper()
	touch := func(conn *zk.Conn) int64 {
		stat, err := conn.Set(New(conn, WithPath(root)).clockPath(), nil, -1)
		if err != nil {
			tb.Fatal(err)
		}
		return stat.Mzxid
	}
	last := touch(dial(tb, server.Address()))
	server.Restore(backup)
	conn := dial(tb, server.Address())
	for touch(conn) <= last {
	}
}

// The store fulfils the contract of a source.
func TestSource(t *testing.T) {
	t.Parallel()
	s := zookeepertest.Start(t)
	p := testserver.NewProxy(t, s.Address())
	root := ""
	var conns []*zk.Conn // of the store of root
	client := func(tb testing.TB) segment.Creator {
		conns = append(conns, dialShort(tb, p.Address()))
		return New(conns[len(conns)-1], WithPath(root))
	}
	connected := func(tb testing.TB) { // waits until all are connected again
		for _, c := range conns {
			testkit.Retry(tb, "a client connects again", func() error {
				_, _, err := c.Exists("/")
				return err
			})
		}
	}
	segmenttest.Run(t, takertest.WithoutKills(segmenttest.Harness{
		New: func(tb testing.TB) segment.Creator {
			conns = nil
			root = fmt.Sprintf("/tests/%d", time.Now().UnixNano())
			return client(tb)
		},
		Client: client,
		Faults: segmenttest.Faults{
			Kill:        func(testing.TB) { s.Kill() },
			Start:       func(testing.TB) { s.Restart() },
			Pause:       func(testing.TB) { s.Pause() },
			Resume:      func(testing.TB) { s.Resume() },
			LoseReplies: p.LoseReplies,
			LoseWritesUnnoticed: func(tb testing.TB, write func()) {
				conn := dial(tb, s.Address())
				s := New(conn, WithPath(root))
				before := map[string][]byte{}
				tags, _, err := conn.Children(s.tagsPath())
				if err != nil {
					tb.Fatal(err)
				}
				for _, tag := range tags {
					if before[tag], _, err = conn.Get(s.tagsPath() + "/" + tag); err != nil {
						tb.Fatal(err)
					}
				}
				write()
				for tag, text := range before {
					if _, err := conn.Set(s.tagsPath()+"/"+tag, text, -1); err != nil {
						tb.Fatal(err)
					}
				}
			},
			SetCounter: func(tb testing.TB, tag string, next int64) {
				conn := dial(tb, s.Address())
				setCounter(tb, conn, New(conn, WithPath(root)), tag, next)
			},
			LoseWrites: func(tb testing.TB, write func()) {
				// The ensemble shows no restored backup, so the operator calls NewHistory.
				backup := s.Backup()
				connected(tb)
				write()
				restoreTags(tb, s, backup, root)
				if err := New(dial(tb, s.Address()), WithPath(root)).NewHistory(tb.Context()); err != nil {
					tb.Fatal(err)
				}
				connected(tb)
			},
		},
	}))
}
