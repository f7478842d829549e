package zookeeperstore

import (
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/ringuid/ringuid/internal/tagrecord"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/zookeepertest"
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

// opened are the clients of the store that was opened last.
type opened struct {
	address, root string
	conns         []*zk.Conn
}

// store returns another client of the store at root.
func (o *opened) store(tb testing.TB, root string) *Store {
	if root != o.root {
		o.root, o.conns = root, nil
	}
	conn := dialCase(tb, o.address)
	o.conns = append(o.conns, conn)
	return New(conn, WithPath(root))
}

// connected waits until all clients are connected again.
func (o *opened) connected(tb testing.TB) {
	for _, c := range o.conns {
		testkit.Retry(tb, "a client connects again", func() error {
			_, _, err := c.Exists("/")
			return err
		})
	}
}

// faults returns the faults of tags, except those of a proxy.
func (o *opened) faults(s *zookeepertest.Server) segmenttest.Faults {
	return segmenttest.Faults{
		Kill:   func(testing.TB) { s.Kill() },
		Start:  func(testing.TB) { s.Restart() },
		Pause:  func(testing.TB) { s.Pause() },
		Resume: func(testing.TB) { s.Resume() },
		LoseWritesUnnoticed: func(tb testing.TB, write func()) {
			conn := dial(tb, s.Address())
			s := New(conn, WithPath(o.root))
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
			setCounter(tb, conn, New(conn, WithPath(o.root)), tag, next)
		},
		LoseWrites: func(tb testing.TB, write func()) {
			// The ensemble shows no restored backup, so the operator calls NewHistory.
			backup := s.Backup()
			o.connected(tb)
			write()
			restoreTags(tb, s, backup, o.root)
			if err := New(dial(tb, s.Address()), WithPath(o.root)).NewHistory(tb.Context()); err != nil {
				tb.Fatal(err)
			}
			o.connected(tb)
		},
	}
}
