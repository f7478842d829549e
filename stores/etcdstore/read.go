package etcdstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ringuid/ringuid/internal/slotindex"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

const (
	maxRead = 128  // how many slots are read at most to find one whose holder crashed
	page    = 2000 // how many slots are read at once by recycled.Query.All
)

// Read implements recycled.Store. It makes linearizable reads.
func (s *Store) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	if s.err != nil {
		return recycled.State{}, s.err
	}
	for {
		state, ok, err := s.read(ctx, q)
		if ok || err != nil {
			return state, err
		}
		if err := ctx.Err(); err != nil {
			return state, s.wrap(ctx, err)
		}
	}
}

// read makes one attempt. It returns false if it has written the history key, or another process has.
func (s *Store) read(ctx context.Context, q recycled.Query) (recycled.State, bool, error) {
	r := reader{store: s, Answer: slotindex.Answer{Query: q, State: recycled.State{HostClock: true, NoLoss: true}}}
	ok, err := r.first(ctx)
	if !ok || err != nil {
		return r.State, false, err
	}
	if q.All {
		err = r.all(ctx)
	} else {
		err = r.second(ctx)
	}
	return r.State, err == nil, err
}

// reader is one Read.
type reader struct {
	slotindex.Answer
	store *Store

	ids   []int64 // slots to be read
	named int     // ids from here on are of the index of names
	free  int     // and from here on of the index of released slots
}

// first reads the history, the pool and the indexes. It returns false if the history is new.
func (r *reader) first(ctx context.Context) (bool, error) {
	s := r.store
	before := s.lastSeen()
	ops := []clientv3.Op{clientv3.OpGet(s.historyKey()), clientv3.OpGet(s.poolKey())}
	inline := 0
	if !r.Query.All {
		inline = min(len(r.Query.WorkerIDs), maxOps-8)
		for _, id := range r.Query.WorkerIDs[:inline] {
			ops = append(ops, clientv3.OpGet(s.slotKey(id)))
		}
		if r.Query.Name != "" {
			keys := s.nameKeys(r.Query.Name)
			ops = append(ops, clientv3.OpGet(keys, clientv3.WithPrefix(), clientv3.WithKeysOnly(), clientv3.WithLimit(maxOps/2)))
		}
		if r.Query.Free > 0 {
			// From a random position to the end, and from the beginning to that position.
			start, end := fmt.Sprintf("%s%016x", s.freeKeys(), rand.Uint64()), clientv3.GetPrefixRangeEnd(s.freeKeys())
			limit, keysOnly := clientv3.WithLimit(slotindex.MaxFree), clientv3.WithKeysOnly()
			ops = append(ops, clientv3.OpGet(start, clientv3.WithRange(end), limit, keysOnly),
				clientv3.OpGet(s.freeKeys(), clientv3.WithRange(start), limit, keysOnly))
		}
	}
	resp, wentBack, err := s.do(ctx, func(t clientv3.Txn) clientv3.Txn { return t.Then(ops...) })
	if err != nil {
		return false, err
	}
	history, ok, err := s.checkHistory(ctx, before, resp, wentBack)
	if !ok || err != nil {
		return false, err
	}
	r.State.History = history
	// The clock is read after the history: a floor follows from it, which must not come from a time before the
	// history, however long the answer took.
	r.State.Now = time.UnixMilli(time.Now().UnixMilli()).UTC()
	if kvs := kvsOf(resp, 1); len(kvs) > 0 {
		if r.State.Pool, err = s.decodePool(kvs[0]); err != nil {
			return false, err
		}
	}
	next := 2
	for ; next < 2+inline; next++ {
		if err := r.addSlots(kvsOf(resp, next), r.Add); err != nil {
			return false, err
		}
	}
	if r.Query.All {
		return true, nil
	}
	r.ids = append(r.ids, r.Query.WorkerIDs[inline:]...)
	r.named, r.free = len(r.ids), len(r.ids)
	if r.Query.Name != "" {
		r.addIDs(kvsOf(resp, next))
		r.free = len(r.ids)
		next++
	}
	released := int64(0)
	for ; next < len(ops); next++ {
		kvs := kvsOf(resp, next)
		r.addIDs(kvs[:min(len(kvs), r.free+slotindex.MaxFree-len(r.ids))])
		released += resp.Responses[next].GetResponseRange().GetCount() // of all, also of those beyond the limit
	}
	r.State.MoreFree = released > slotindex.MaxFree
	return true, nil
}

// checkHistory returns the history of an answer whose first operation is a range of its key. before is what the
// store had seen when the request was sent. It returns false if the key had to be written, because there is none, or the
// cluster is another, or its data went back. If somebody has noted that it went back, the history is a later one than before, and not
// an earlier one, which a snapshot of that time has. An earlier one also shows that the data went back if the revision does not.
func (s *Store) checkHistory(ctx context.Context, before seen, resp *clientv3.TxnResponse, wentBack bool) (string, bool, error) {
	history := ""
	if kvs := kvsOf(resp, 0); len(kvs) > 0 {
		history = string(kvs[0].Value)
	}
	wentBack = wentBack || before.cluster == resp.Header.ClusterId && changes(history) < changes(before.history)
	if !isOfCluster(history, resp.Header.ClusterId) || wentBack && changes(history) <= changes(before.history) {
		_, err := s.replaceHistory(ctx, history, resp.Header.ClusterId)
		return "", false, err
	}
	s.setHistory(history, resp.Header.Revision, wentBack)
	return history, true, nil
}

// isOfCluster reports whether a history is of the cluster with the given ID.
func isOfCluster(history string, cluster uint64) bool {
	return strings.HasPrefix(history, fmt.Sprintf("%x.", cluster))
}

// changes returns the second part of the text of a history, which increases with each change.
func changes(history string) int64 {
	parts := strings.Split(history, ".")
	if len(parts) != 3 {
		return 0
	}
	n, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// addIDs adds worker IDs of an index to those that are to be read.
func (r *reader) addIDs(kvs []*mvccpb.KeyValue) {
	for _, kv := range kvs {
		if id, ok := idOf(kv.Key); ok {
			r.ids = append(r.ids, id)
		}
	}
}

// second reads the slots of the indexes. If none is free, or more than the usual number are wanted, it also
// reads a range of the slots.
func (r *reader) second(ctx context.Context) error {
	s := r.store
	for first := 0; first < len(r.ids); first += maxOps {
		last := min(first+maxOps, len(r.ids))
		var ops []clientv3.Op
		for _, id := range r.ids[first:last] {
			ops = append(ops, clientv3.OpGet(s.slotKey(id)))
		}
		resp, err := s.get(ctx, ops)
		if err != nil {
			return err
		}
		for i := range ops {
			add := r.AddFree
			switch position := first + i; {
			case position < r.named:
				add = r.Add
			case position < r.free:
				add = r.AddNamed
			}
			if err := r.addSlots(kvsOf(resp, i), add); err != nil {
				return err
			}
		}
	}
	p := r.State.Pool
	if r.Query.Free == 0 || p.Slots == 0 || r.HasFree() {
		return nil
	}
	start := s.slotsKey()
	if p.Slots > maxRead {
		start = s.slotKey(p.First + rand.Int64N(p.Slots-maxRead+1))
	}
	resp, err := s.get(ctx, []clientv3.Op{clientv3.OpGet(start,
		clientv3.WithRange(clientv3.GetPrefixRangeEnd(s.slotsKey())), clientv3.WithLimit(maxRead))})
	if err != nil {
		return err
	}
	return r.addSlots(kvsOf(resp, 0), r.AddFree)
}

// all reads all slots, one page after the other.
func (r *reader) all(ctx context.Context) error {
	s := r.store
	start, end := s.slotsKey(), clientv3.GetPrefixRangeEnd(s.slotsKey())
	for {
		resp, err := s.get(ctx, []clientv3.Op{clientv3.OpGet(start, clientv3.WithRange(end), clientv3.WithLimit(page))})
		if err != nil {
			return err
		}
		kvs := kvsOf(resp, 0)
		if err := r.addSlots(kvs, r.Add); err != nil {
			return err
		}
		if len(kvs) < page {
			return nil
		}
		start = string(kvs[len(kvs)-1].Key) + "\x00"
	}
}

// addSlots adds slots to the answer, and keeps those that were added for the next write, which must compare with what the caller has
// seen.
func (r *reader) addSlots(kvs []*mvccpb.KeyValue, add func(recycled.Slot) bool) error {
	for _, kv := range kvs {
		rec, err := r.store.decodeSlot(kv)
		if err != nil {
			return err
		}
		if add(rec.slot) {
			r.store.records.Put(rec.slot.WorkerID, rec)
		}
	}
	return nil
}

// get executes a transaction that only reads.
func (s *Store) get(ctx context.Context, ops []clientv3.Op) (*clientv3.TxnResponse, error) {
	resp, wentBack, err := s.do(ctx, func(t clientv3.Txn) clientv3.Txn { return t.Then(ops...) })
	if wentBack {
		err = s.wentBackError()
	}
	return resp, err
}

// kvsOf returns the keys and values of the i-th operation of a transaction, which is a range.
func kvsOf(resp *clientv3.TxnResponse, i int) []*mvccpb.KeyValue {
	return resp.Responses[i].GetResponseRange().GetKvs()
}
