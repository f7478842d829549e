package zookeeperstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/ringuid/ringuid/internal/tagrecord"
)

// writeTag replaces the state that was read, with one multi. It returns false if another process has changed it.
//
// A multi compares versions, and not values. After a backup was restored, a version can come again with another value. If it
// came while a process is between its read and its write, that process would set the counter back. The first protection
// is the history, which an operator changes with NewHistory. But an operator may forget that. So the znode of a tag has one
// child, its mark, whose name is random and new with each write. A write deletes the mark that was read, which fails if
// somebody else has made the last write, with whatever version.
func (s *Store) writeTag(old tagState, next tagrecord.State) (bool, error) {
	tag := s.tagPath(next.Tag.Tag)
	ops := []any{&zk.CheckVersionRequest{Path: s.historyPath() + "/" + old.History, Version: -1}}
	if old.HasTag {
		ops = append(ops, &zk.SetDataRequest{Path: tag, Data: next.Tag.Encode(), Version: old.tagVersion})
	} else {
		ops = append(ops, &zk.CreateRequest{Path: tag, Data: next.Tag.Encode(), Acl: s.acl})
	}
	switch {
	case !old.HasPool:
		ops = append(ops, &zk.CreateRequest{Path: s.tagPoolPath(), Data: next.Pool.Encode(), Acl: s.acl})
	case next.Pool != old.Pool:
		ops = append(ops, &zk.SetDataRequest{Path: s.tagPoolPath(), Data: next.Pool.Encode(), Version: old.poolVersion})
	case !old.HasTag: // a new tag depends on the pool
		ops = append(ops, &zk.CheckVersionRequest{Path: s.tagPoolPath(), Version: old.poolVersion})
	}
	for _, mark := range old.marks {
		ops = append(ops, &zk.DeleteRequest{Path: tag + "/" + mark, Version: -1})
	}
	ops = append(ops, &zk.CreateRequest{Path: tag + "/" + rand.Text(), Acl: s.acl})
	return s.compareAndSwap(ops)
}

// compareAndSwap executes a multi whose first operation compares the history. It returns false if a comparison failed, or
// the multi was not made because znodes above the records were missing, which it has created.
func (s *Store) compareAndSwap(ops []any) (bool, error) {
	results, err := s.conn.Multi(ops...)
	if err == nil {
		return true, nil
	}
	// If a result has an error, nothing was written: a multi is made as a whole.
	for i, r := range results {
		if r.Error == nil {
			continue
		}
		_, isCreate := ops[min(i, len(ops)-1)].(*zk.CreateRequest)
		switch {
		case i == 0 && errors.Is(r.Error, zk.ErrNoNode):
			return false, s.readHistory()
		case isCreate && errors.Is(r.Error, zk.ErrNoNode): // an older version of this package has not created it
			return false, s.createTree()
		case errors.Is(r.Error, zk.ErrNoNode), errors.Is(r.Error, zk.ErrNodeExists), errors.Is(r.Error, zk.ErrBadVersion):
			return false, nil
		}
		return false, r.Error
	}
	return false, err
}

// followTagPool records the history in the pool of tags after NewHistory, so that the time of the change is the present. If
// there is no pool, it creates one: new tags must not begin at their starts then.
func (s *Store) followTagPool(ctx context.Context) error {
	for {
		history, now, err := s.readClock(ctx)
		if err != nil {
			return err
		}
		text, stat, err := s.conn.Get(s.tagPoolPath())
		old, exists := tagrecord.Pool{}, err == nil
		if exists {
			if old, err = s.decodeTagPool(text); err != nil {
				return err
			}
		} else if !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		next := old.Follow(history, now, s.gap)
		if next == old {
			return nil
		}
		ops := []any{&zk.CheckVersionRequest{Path: s.historyPath() + "/" + history, Version: -1}}
		if exists {
			ops = append(ops, &zk.SetDataRequest{Path: s.tagPoolPath(), Data: next.Encode(), Version: stat.Version})
		} else {
			ops = append(ops, &zk.CreateRequest{Path: s.tagPoolPath(), Data: next.Encode(), Acl: s.acl})
		}
		if ok, err := s.compareAndSwap(ops); ok || err != nil {
			return err
		}
	}
}

func (s *Store) decodeTagPool(text []byte) (tagrecord.Pool, error) {
	p, err := tagrecord.DecodePool(text)
	if err != nil {
		err = fmt.Errorf("%w (zookeeper: znode %q)", err, s.tagPoolPath())
	}
	return p, err
}
