package etcdstore

import (
	"bytes"
	"context"
	"fmt"
	"net/url"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ringuid/ringuid/internal/slotindex"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// Write implements recycled.Store. It is one transaction (R2). If a record that it replaces was not
// read by this Store lately, it reads that first.
func (s *Store) Write(ctx context.Context, w recycled.Write) (bool, error) {
	if s.err != nil {
		return false, s.err
	}
	if w.History == "" {
		return false, nil // it was not read from this store
	}
	t := write{store: s, compare: []clientv3.Cmp{s.hasValue(s.historyKey(), w.History)}}
	if w.Pool != nil {
		if ok, err := t.addPool(ctx, w); !ok || err != nil {
			return false, err
		}
	}
	for i := range w.Slots {
		if ok, err := t.addSlot(ctx, w, i); !ok || err != nil {
			return false, err
		}
	}
	before := s.lastSeen()
	var reads []clientv3.Op // if the records are others than those that are replaced
	if len(w.Slots) > 0 {
		reads = append(reads, clientv3.OpGet(s.historyKey()), clientv3.OpGet(s.slotKey(w.Slots[0].WorkerID)))
	}
	resp, wentBack, err := s.do(ctx, func(txn clientv3.Txn) clientv3.Txn { return txn.If(t.compare...).Then(t.then...).Else(reads...) })
	if err != nil {
		return false, err
	}
	if resp.Succeeded && isOnOldData(w.History, before, resp.Header, wentBack) { // then it is no grant
		if _, err := s.replaceHistory(ctx, w.History, resp.Header.ClusterId); err != nil {
			return false, err
		}
		wentBack = true
	}
	if wentBack {
		return false, s.wentBackError()
	}
	if !resp.Succeeded && len(w.Slots) > 0 && wasMade(resp, w) {
		return false, fmt.Errorf("etcdstore: %s: the client has sent a write twice, because the first try, which was made, had no answer", s)
	}
	return resp.Succeeded, nil
}

// wasMade reports whether the first slot of a transaction that has failed is there already: it has a token that no other write has, or
// ends a lease. The client sends a request again whose reply says Canceled or DeadlineExceeded while the context has not ended, as an
// interceptor or a proxy may answer. Other processes may write the same new slot without a token, or the same pool. In another history
// the write has granted nothing.
func wasMade(resp *clientv3.TxnResponse, w recycled.Write) bool {
	has := func(i int, value []byte) bool {
		kvs := kvsOf(resp, i)
		return len(kvs) > 0 && bytes.Equal(kvs[0].Value, value)
	}
	slot := w.Slots[0]
	return (slot.Token != "" || slot.Revision > 1) && has(0, []byte(w.History)) && has(1, slot.Encode())
}

// isOnOldData reports whether a write that was made has met data of the past. A snapshot that was restored in another cluster contains
// the old history until somebody replaces it. In the same cluster, the revision of a write is greater than all that was seen before.
func isOnOldData(history string, before seen, h *etcdserverpb.ResponseHeader, wentBack bool) bool {
	return wentBack || !isOfCluster(history, h.ClusterId) || h.ClusterId == before.cluster && h.Revision <= before.revision
}

// write is a transaction that is being composed.
type write struct {
	store   *Store
	compare []clientv3.Cmp
	then    []clientv3.Op
}

// addPool adds the pool. It returns false if the store has another record than the one that is replaced.
func (t *write) addPool(ctx context.Context, w recycled.Write) (bool, error) {
	s, pool := t.store, *w.Pool
	var old poolRecord
	if pool.Revision > 1 {
		var known bool
		if old, known = s.pools.Get(pool.Revision - 1); !known {
			kv, err := s.getKey(ctx, s.poolKey())
			if kv == nil || err != nil {
				return false, err
			}
			if old.pool, err = s.decodePool(kv); err != nil {
				return false, err
			}
			old.value = string(kv.Value)
		}
	}
	if !w.ReplacesPool(old.pool) {
		return false, nil
	}
	t.compare = append(t.compare, s.hasValue(s.poolKey(), old.value))
	t.then = append(t.then, clientv3.OpPut(s.poolKey(), string(pool.Encode())))
	return true, nil
}

// addSlot adds the i-th slot, and what changes in the indexes. It returns false if the store has another record than the
// one that is replaced.
func (t *write) addSlot(ctx context.Context, w recycled.Write, i int) (bool, error) {
	s, slot := t.store, w.Slots[i]
	key := s.slotKey(slot.WorkerID)
	var old record
	if slot.Revision > 1 {
		if old, _ = s.records.Get(slot.WorkerID); old.slot.Revision != slot.Revision-1 {
			kv, err := s.getKey(ctx, key)
			if kv == nil || err != nil {
				return false, err
			}
			if old, err = s.decodeSlot(kv); old.slot.Revision != slot.Revision-1 || err != nil {
				return false, err
			}
		}
	}
	if !w.Replaces(i, old.slot) {
		return false, nil
	}
	t.compare = append(t.compare, s.hasValue(key, old.value))
	t.then = append(t.then, clientv3.OpPut(key, string(slot.Encode())))
	changes := slotindex.ChangesOf(old.slot, slot)
	if changes.Released {
		t.then = append(t.then, clientv3.OpPut(s.freeKey(slot.WorkerID), ""))
	}
	if changes.Leased {
		t.then = append(t.then, clientv3.OpDelete(s.freeKey(slot.WorkerID)))
	}
	if changes.FormerName != "" {
		t.then = append(t.then, clientv3.OpDelete(s.nameKey(changes.FormerName, slot.WorkerID)))
	}
	if changes.Name != "" {
		t.then = append(t.then, clientv3.OpPut(s.nameKey(changes.Name, slot.WorkerID), ""))
	}
	return true, nil
}

// getKey reads one key. It returns nil if the key does not exist.
func (s *Store) getKey(ctx context.Context, key string) (*mvccpb.KeyValue, error) {
	resp, err := s.get(ctx, []clientv3.Op{clientv3.OpGet(key)})
	if err != nil || len(kvsOf(resp, 0)) == 0 {
		return nil, err
	}
	return kvsOf(resp, 0)[0], nil
}

// decodeSlot returns the slot of a key.
func (s *Store) decodeSlot(kv *mvccpb.KeyValue) (record, error) {
	slot, err := recycled.DecodeSlot(kv.Value)
	if err == nil && s.slotKey(slot.WorkerID) != string(kv.Key) {
		err = fmt.Errorf("%w (%w): it is the slot of worker ID %d", recycled.ErrPool, workerassign.ErrPermanent, slot.WorkerID)
	}
	if err != nil {
		return record{}, fmt.Errorf("etcdstore: key %q: %w", kv.Key, err)
	}
	return record{slot, string(kv.Value)}, nil
}

// decodePool returns the pool, and keeps its value for the next write.
func (s *Store) decodePool(kv *mvccpb.KeyValue) (recycled.Pool, error) {
	pool, err := recycled.DecodePool(kv.Value)
	if err != nil {
		return pool, fmt.Errorf("etcdstore: key %q: %w", kv.Key, err)
	}
	s.pools.Put(pool.Revision, poolRecord{pool, string(kv.Value)})
	return pool, nil
}

// escape returns a name without slashes.
func escape(name string) string { return url.PathEscape(name) }
