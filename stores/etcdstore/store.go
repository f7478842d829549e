package etcdstore

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ringuid/ringuid/internal/options"
	"github.com/ringuid/ringuid/internal/recent"
	"github.com/ringuid/ringuid/internal/tagrecord"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// DefaultPrefix is the prefix of all keys, unless WithPrefix sets another.
const DefaultPrefix = "ringuid/"

// maxOps is the number of operations in one transaction: etcd's default limit is 128.
const maxOps = 100

// Store is a recycled.Store, and a segment.Source and segment.Creator. New returns one. It is safe for
// concurrent use, and has no goroutines of its own. Its methods block until etcd answers, or the context ends.
type Store struct {
	client *clientv3.Client
	prefix string
	gap    int64
	err    error // of the options, for slots
	tagErr error // of the options, for tags

	mu   sync.Mutex
	seen seen

	// records are the slots as they were read. A write compares with them.
	records recent.Values[int64, record]
	pools   recent.Values[int64, poolRecord] // the pool as it was read, by its revision

	tags tagrecord.Queue
}

// record is a slot with its value in etcd.
type record struct {
	slot  recycled.Slot
	value string
}

// poolRecord is the pool with its value in etcd.
type poolRecord struct {
	pool  recycled.Pool
	value string
}

// seen is what the cluster has shown to this process.
type seen struct {
	cluster    uint64
	revision   int64  // the greatest revision
	history    string // the value of the history key
	generation int    // increases when revision is reset
}

var (
	_ recycled.Store  = (*Store)(nil)
	_ segment.Creator = (*Store)(nil)
)

// An Option configures a Store. If its value is invalid, all methods return an error that wraps
// workerassign.ErrOption, or segment.ErrOption if they are those of a segment.Source.
type Option interface{ apply(*Store) }

type option func(*Store)

func (o option) apply(s *Store) { o(s) }

// WithPrefix sets the prefix of all keys. It must end with a slash. The default is DefaultPrefix. Each pool
// must have a prefix of its own, and none may begin with another's.
func WithPrefix(prefix string) Option {
	return option(func(s *Store) {
		options.Set(&s.prefix, prefix, len(prefix) >= 2 && strings.HasSuffix(prefix, "/"), s.setError,
			"the prefix is %q; must be a name and a slash", prefix)
	})
}

// WithFailoverGap sets how many numbers a tag skips when the cluster may have lost writes that it had acknowledged,
// for example because a snapshot was restored: see the package's documentation. It must be greater than the number of
// numbers that any tag hands out in the time that a restored snapshot can be old, and from 1 to segment.MaxStep. The
// default is 1,000,000.
func WithFailoverGap(n int64) Option {
	return option(func(s *Store) {
		options.Set(&s.gap, n, n >= 1 && n <= tagrecord.MaxGap, s.setError, "the gap after a failover is %d; must be 1 to %d", n, int64(tagrecord.MaxGap))
	})
}

func (s *Store) setError(format string, args ...any) {
	options.SetError(&s.err, workerassign.ErrOption, "etcdstore: "+format, args...)
	options.SetError(&s.tagErr, segment.ErrOption, "etcdstore: "+format, args...)
}

// New returns a store of one pool of slots, and of one pool of tags. It does not use the client, and does not close it. The client must exist
// as long as the generators.
func New(client *clientv3.Client, opts ...Option) *Store {
	s := &Store{client: client, prefix: DefaultPrefix, gap: tagrecord.DefaultGap}
	if client == nil {
		s.setError("the client is nil; must not be nil")
	}
	options.Apply(opts, func(o Option) { o.apply(s) }, s.setError)
	return s
}

// String implements recycled.Store and segment.Source.
func (s *Store) String() string {
	if s.client == nil {
		return "etcd"
	}
	return fmt.Sprintf("etcd at %s, prefix %q", strings.Join(s.client.Endpoints(), ","), s.prefix)
}

func (s *Store) historyKey() string          { return s.prefix + "history" }
func (s *Store) poolKey() string             { return s.prefix + "pool" }
func (s *Store) slotsKey() string            { return s.prefix + "slots/" }
func (s *Store) slotKey(id int64) string     { return fmt.Sprintf("%s%019d", s.slotsKey(), id) }
func (s *Store) tagPoolKey() string          { return s.prefix + "tagpool" }
func (s *Store) tagsKey() string             { return s.prefix + "tags/" }
func (s *Store) tagKey(tag string) string    { return s.tagsKey() + escape(tag) }
func (s *Store) freeKeys() string            { return s.prefix + "free/" }
func (s *Store) nameKeys(name string) string { return s.prefix + "names/" + escape(name) + "/" }

// freeKey returns the key of a slot in the index of released slots, which is sorted by a hash, so that
// the slots of any range are a random choice.
func (s *Store) freeKey(id int64) string {
	return fmt.Sprintf("%s%016x/%d", s.freeKeys(), uint64(id)*0x9e3779b97f4a7c15, id)
}

// nameKey returns the key of a slot in the index of names.
func (s *Store) nameKey(name string, id int64) string {
	return s.nameKeys(name) + strconv.FormatInt(id, 10)
}

// idOf returns the worker ID at the end of a key of an index.
func idOf(key []byte) (int64, bool) {
	id, err := strconv.ParseInt(string(key[strings.LastIndexByte(string(key), '/')+1:]), 10, 64)
	return id, err == nil
}

// do executes a transaction. It reports whether the cluster shows less than it has shown before the
// transaction was sent: its data went back.
func (s *Store) do(ctx context.Context, txn func(clientv3.Txn) clientv3.Txn) (resp *clientv3.TxnResponse, wentBack bool, err error) {
	before := s.lastSeen()
	resp, err = txn(s.client.Txn(ctx)).Commit()
	if err != nil {
		return nil, false, s.wrap(ctx, err)
	}
	h := resp.Header
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case h.ClusterId == before.cluster && h.Revision < before.revision:
		return resp, true, nil
	case s.seen.generation != before.generation: // an answer of the time before
	case h.ClusterId != s.seen.cluster:
		s.seen = seen{cluster: h.ClusterId, revision: h.Revision, generation: before.generation + 1}
	default:
		s.seen.revision = max(s.seen.revision, h.Revision)
	}
	return resp, false, nil
}

func (s *Store) lastSeen() seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// setHistory notes the value of the history key. If reset is true, the cluster's revision went back, which
// somebody has noticed and noted in the key.
func (s *Store) setHistory(history string, revision int64, reset bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen.history = history
	if reset {
		s.seen.revision = revision
		s.seen.generation++
	}
}

// NewHistory declares that the cluster may have lost writes that it had acknowledged, because a snapshot was
// restored. Then the leases that were taken before cannot be extended any more, writes that are under way
// fail, and no new lease begins before the pool's floor, which follows from the present, H, F and M (rule
// R7). Each tag then continues beyond the gap of WithFailoverGap. An operator calls it after restoring a snapshot, before
// generators and sequences can reach the cluster again. Unlike Assigner.RaiseFloor, it does not have to write the slots.
func (s *Store) NewHistory(ctx context.Context) error {
	if s.err != nil {
		return s.err
	}
	for {
		resp, err := s.client.Get(ctx, s.historyKey())
		if err != nil {
			return s.wrap(ctx, err)
		}
		old := ""
		if len(resp.Kvs) > 0 {
			old = string(resp.Kvs[0].Value)
		}
		ok, err := s.replaceHistory(ctx, old, resp.Header.ClusterId)
		if err != nil {
			return err
		}
		if ok {
			return s.followTagPool(ctx)
		}
	}
}

// replaceHistory gives the history key a new value. It returns false if another process was faster.
func (s *Store) replaceHistory(ctx context.Context, old string, cluster uint64) (bool, error) {
	// The time makes a history later than those that the writer has not seen, because a snapshot lacks them.
	n := max(changes(old)+1, changes(s.lastSeen().history)+1, time.Now().UnixMilli())
	history := fmt.Sprintf("%x.%d.%s", cluster, n, rand.Text())
	resp, err := s.client.Txn(ctx).If(s.hasValue(s.historyKey(), old)).Then(clientv3.OpPut(s.historyKey(), history)).Commit()
	if err != nil {
		return false, s.wrap(ctx, err)
	}
	return resp.Succeeded, nil
}

// hasValue returns a comparison: the key has a value, or does not exist if value is "".
func (s *Store) hasValue(key, value string) clientv3.Cmp {
	if value == "" {
		return clientv3.Compare(clientv3.CreateRevision(key), "=", 0)
	}
	return clientv3.Compare(clientv3.Value(key), "=", value)
}
