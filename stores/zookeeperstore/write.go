package zookeeperstore

import (
	"context"
	"errors"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/ringuid/ringuid/internal/slotindex"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// Write implements recycled.Store. It is one multi (R2). If a record that it replaces was not read by
// this Store lately, it reads that first.
func (s *Store) Write(ctx context.Context, w recycled.Write) (bool, error) {
	return do(ctx, s, func() (bool, error) {
		if w.History == "" {
			return false, nil // it was not read from this store
		}
		m := multi{store: s}
		m.add(isHistory, &zk.CheckVersionRequest{Path: s.historyPath() + "/" + w.History, Version: -1})
		if w.Pool != nil {
			if ok, err := m.addPool(w); !ok || err != nil {
				return false, err
			}
		}
		for i := range w.Slots {
			if ok, err := m.addSlot(w, i); !ok || err != nil {
				return false, err
			}
		}
		return m.execute(ctx)
	})
}

// multi is a transaction that is being composed.
type multi struct {
	store *Store
	ops   []any
	kinds []opKind
}

// opKind is what an operation is for.
type opKind int

const (
	isHistory opKind = iota // the comparison of the history
	isRecord                // the pool or a slot
	isIndex                 // an index, which may be wrong
)

func (m *multi) add(kind opKind, op any) {
	m.ops, m.kinds = append(m.ops, op), append(m.kinds, kind)
}

// addPool adds the pool. It returns false if the store has another record than the one that is replaced.
func (m *multi) addPool(w recycled.Write) (bool, error) {
	s, pool := m.store, *w.Pool
	text := pool.Encode()
	if pool.Revision == 1 {
		m.add(isRecord, &zk.CreateRequest{Path: s.poolPath(), Data: text, Acl: s.acl})
		return true, nil
	}
	old, known := s.pools.Get(pool.Revision - 1)
	if !known {
		read, stat, err := s.conn.Get(s.poolPath())
		if err != nil {
			return false, ignore(err, zk.ErrNoNode)
		}
		if old.pool, err = s.decodePool(read, stat); err != nil {
			return false, err
		}
		old.version = stat.Version
	}
	if !w.ReplacesPool(old.pool) {
		return false, nil
	}
	m.add(isRecord, &zk.SetDataRequest{Path: s.poolPath(), Data: text, Version: old.version})
	return true, nil
}

// addSlot adds the i-th slot, and what changes in the indexes. It returns false if the store has another record than the
// one that is replaced.
func (m *multi) addSlot(w recycled.Write, i int) (bool, error) {
	s, slot := m.store, w.Slots[i]
	id, text := slot.WorkerID, slot.Encode()
	var old record
	if slot.Revision == 1 {
		m.add(isRecord, &zk.CreateRequest{Path: s.slotPath(id), Data: text, Acl: s.acl})
	} else {
		if old, _ = s.records.Get(id); old.slot.Revision != slot.Revision-1 {
			read, stat, err := s.conn.Get(s.slotPath(id))
			if err != nil {
				return false, ignore(err, zk.ErrNoNode)
			}
			if old, err = s.decodeSlot(id, read, stat); old.slot.Revision != slot.Revision-1 || err != nil {
				return false, err
			}
		}
		if !w.Replaces(i, old.slot) {
			return false, nil
		}
		m.add(isRecord, &zk.SetDataRequest{Path: s.slotPath(id), Data: text, Version: old.version})
	}
	changes := slotindex.ChangesOf(old.slot, slot)
	if changes.Released {
		m.add(isIndex, &zk.CreateRequest{Path: s.freeSlotPath(id), Acl: s.acl})
	}
	if changes.Leased {
		m.add(isIndex, &zk.DeleteRequest{Path: s.freeSlotPath(id), Version: -1})
	}
	if changes.FormerName != "" {
		m.add(isIndex, &zk.DeleteRequest{Path: child(s.namePath(changes.FormerName), id), Version: -1})
	}
	if changes.Name != "" {
		m.add(isIndex, &zk.CreateRequest{Path: child(s.namePath(changes.Name), id), Acl: s.acl})
	}
	return true, nil
}

// execute executes the transaction. If the index is not as expected, it tries again without that operation.
func (m *multi) execute(ctx context.Context) (bool, error) {
	s := m.store
	for {
		results, err := s.conn.Multi(m.ops...)
		if err == nil {
			return true, nil
		}
		failed := -1
		for i, r := range results {
			if r.Error != nil {
				failed = i
				break
			}
		}
		if failed < 0 || failed >= len(m.ops) || ctx.Err() != nil {
			return false, err
		}
		// Nothing was written: a multi is made as a whole.
		err = results[failed].Error
		create, isCreate := m.ops[failed].(*zk.CreateRequest)
		switch kind := m.kinds[failed]; {
		case kind == isHistory && errors.Is(err, zk.ErrNoNode),
			kind == isRecord && errors.Is(err, zk.ErrBadVersion),
			kind == isRecord && errors.Is(err, zk.ErrNodeExists),
			kind == isRecord && errors.Is(err, zk.ErrNoNode) && !isCreate:
			return false, nil
		case kind == isIndex && isCreate && errors.Is(err, zk.ErrNoNode):
			if err := s.createIndex(path.Dir(create.Path)); err != nil {
				return false, err
			}
		case kind == isIndex && (errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNodeExists)):
			m.ops = append(m.ops[:failed], m.ops[failed+1:]...)
			m.kinds = append(m.kinds[:failed], m.kinds[failed+1:]...)
		default:
			return false, err
		}
	}
}

// createIndex creates the znode of a name, or of a part of the index of released slots. It is a container: the
// ensemble deletes it some time after its last child, so that names which are not used again leave nothing.
func (s *Store) createIndex(p string) error {
	_, err := s.conn.CreateContainer(p, nil, zk.FlagContainer, s.acl)
	if errors.Is(err, zk.ErrNoNode) { // somebody has deleted the whole index
		if err := s.createTree(); err != nil {
			return err
		}
		_, err = s.conn.CreateContainer(p, nil, zk.FlagContainer, s.acl)
	}
	return ignore(err, zk.ErrNodeExists)
}

// ignore returns nil if err is the other error.
func ignore(err, other error) error {
	if errors.Is(err, other) {
		return nil
	}
	return err
}
