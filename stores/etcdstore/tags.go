package etcdstore

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ringuid/ringuid/internal/tagrecord"
	"github.com/ringuid/ringuid/segment"
)

// Take implements segment.Source. It makes one linearizable read and one transaction, and both again for each race that
// is lost against another process. In this process the calls for one tag wait for each other.
func (s *Store) Take(ctx context.Context, r segment.Request) (segment.Range, error) {
	if s.tagErr != nil {
		return segment.Range{}, s.tagErr
	}
	if err := r.Validate(); err != nil {
		return segment.Range{}, err
	}
	var taken segment.Range
	err := s.replaceTag(ctx, r.Tag, func(t *tagrecord.State) (err error) {
		taken, err = t.Take(r)
		return err
	})
	if err != nil {
		return segment.Range{}, err
	}
	return taken, nil
}

// CreateTag implements segment.Creator. A tag with UnusedBefore is refused with an error that wraps segment.ErrNoTag if
// the prefix has no pool of tags. A tag without it declares then that the pool is new: that no tag was ever created in it.
func (s *Store) CreateTag(ctx context.Context, tag string, c segment.TagConfig) error {
	if s.tagErr != nil {
		return s.tagErr
	}
	if err := segment.CheckTag(tag); err != nil {
		return err
	}
	c, err := c.Validate()
	if err != nil {
		return err
	}
	return s.replaceTag(ctx, tag, func(t *tagrecord.State) error { return t.Create(tag, c) })
}

// tagState is a state of a tag, with the values of the keys.
type tagState struct {
	tagrecord.State
	poolText, tagText string // "" if there is none
}

// replaceTag reads the state of a tag, and replaces it by what change makes of it. If another process has changed it in
// between, it begins again. If the reply to a write is lost, it returns an error: what was written is a gap then.
func (s *Store) replaceTag(ctx context.Context, tag string, change func(*tagrecord.State) error) error {
	leave, err := s.tags.Enter(ctx, tag)
	if err != nil {
		return s.wrap(ctx, err)
	}
	defer leave()
	for lost := 0; ; {
		old, ok, err := s.readTag(ctx, tag)
		if err != nil {
			return err
		}
		if !ok {
			continue // the history has been written
		}
		next := old.State
		if err := change(&next); err != nil {
			return err
		}
		if ok, err := s.writeTag(ctx, old, next); ok || err != nil {
			return err
		}
		lost++
		if err := tagrecord.Pause(ctx, lost); err != nil {
			return s.wrap(ctx, err)
		}
	}
}

// readTag makes one attempt to read a tag. It returns false if it has written the history key, or another process has.
func (s *Store) readTag(ctx context.Context, tag string) (state tagState, ok bool, err error) {
	state.Store, state.PoolKey, state.Gap = s, s.tagPoolKey(), s.gap
	before := s.lastSeen()
	resp, wentBack, err := s.do(ctx, func(t clientv3.Txn) clientv3.Txn {
		return t.Then(clientv3.OpGet(s.historyKey()), clientv3.OpGet(s.tagPoolKey()), clientv3.OpGet(s.tagKey(tag)),
			clientv3.OpGet(s.tagsKey(), clientv3.WithPrefix(), clientv3.WithLimit(1), clientv3.WithKeysOnly()))
	})
	if err != nil {
		return state, false, err
	}
	if state.History, ok, err = s.checkHistory(ctx, before, resp, wentBack); !ok || err != nil {
		return state, false, err
	}
	// The clock is read after the history, and rounded up: tags that were created before are older than that.
	state.Now = time.UnixMilli(time.Now().UnixMilli() + 1).UTC()
	if kvs := kvsOf(resp, 1); len(kvs) > 0 {
		state.HasPool, state.poolText = true, string(kvs[0].Value)
		if state.Pool, err = s.decodeTagPool(kvs[0]); err != nil {
			return state, false, err
		}
	}
	if kvs := kvsOf(resp, 2); len(kvs) > 0 {
		state.HasTag, state.tagText = true, string(kvs[0].Value)
		if state.Tag, err = tagrecord.DecodeRecord(kvs[0].Value, tag); err != nil {
			return state, false, fmt.Errorf("%w (etcd: key %q)", err, kvs[0].Key)
		}
	}
	state.HasTags = len(kvsOf(resp, 3)) > 0
	return state, true, nil
}

// writeTag replaces the state that was read. It returns false if another process has changed it, or if the data of the
// cluster went back: then what it has written is a gap.
func (s *Store) writeTag(ctx context.Context, old tagState, next tagrecord.State) (bool, error) {
	// The values are compared, and not only revisions, which go back when a snapshot is restored.
	compare := []clientv3.Cmp{s.hasValue(s.historyKey(), old.History), s.hasValue(s.tagKey(next.Tag.Tag), old.tagText)}
	then := []clientv3.Op{clientv3.OpPut(s.tagKey(next.Tag.Tag), string(next.Tag.Encode()))}
	if next.Pool != old.Pool {
		then = append(then, clientv3.OpPut(s.tagPoolKey(), string(next.Pool.Encode())))
	}
	if next.Pool != old.Pool || old.tagText == "" { // a new tag depends on the pool
		compare = append(compare, s.hasValue(s.tagPoolKey(), old.poolText))
	}
	before := s.lastSeen()
	resp, wentBack, err := s.do(ctx, func(t clientv3.Txn) clientv3.Txn { return t.If(compare...).Then(then...) })
	if err != nil || !resp.Succeeded {
		return false, err
	}
	if isOnOldData(old.History, before, resp.Header, wentBack) {
		_, err := s.replaceHistory(ctx, old.History, resp.Header.ClusterId)
		return false, err
	}
	return true, nil
}

// followTagPool records the history in the pool of tags after NewHistory, so that the time of the change is the present. If
// there is no pool, it creates one: new tags must not begin at their starts then.
func (s *Store) followTagPool(ctx context.Context) error {
	for {
		before := s.lastSeen()
		resp, wentBack, err := s.do(ctx, func(t clientv3.Txn) clientv3.Txn {
			return t.Then(clientv3.OpGet(s.historyKey()), clientv3.OpGet(s.tagPoolKey()))
		})
		if err != nil {
			return err
		}
		history, ok, err := s.checkHistory(ctx, before, resp, wentBack)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		text, old := "", tagrecord.Pool{}
		if kvs := kvsOf(resp, 1); len(kvs) > 0 {
			text = string(kvs[0].Value)
			if old, err = s.decodeTagPool(kvs[0]); err != nil {
				return err
			}
		}
		next := old.Follow(history, time.Now(), s.gap)
		if next == old {
			return nil
		}
		put := clientv3.OpPut(s.tagPoolKey(), string(next.Encode()))
		_, err = s.client.Txn(ctx).If(s.hasValue(s.historyKey(), history), s.hasValue(s.tagPoolKey(), text)).Then(put).Commit()
		if err != nil {
			return s.wrap(ctx, err)
		}
	}
}

func (s *Store) decodeTagPool(kv *mvccpb.KeyValue) (tagrecord.Pool, error) {
	p, err := tagrecord.DecodePool(kv.Value)
	if err != nil {
		err = fmt.Errorf("%w (etcd: key %q)", err, kv.Key)
	}
	return p, err
}
