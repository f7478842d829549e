package redisstore

import (
	"context"
	"crypto/rand"
	_ "embed" // for the scripts
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/ringuid/ringuid/internal/options"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// DefaultPool is the name of the pool if WithPool is not used.
const DefaultPool = "default"

var (
	//go:embed primary.lua
	primaryScript string
	//go:embed read.lua
	readScript string
	//go:embed write.lua
	writeScript string
)

// Store keeps the worker IDs of one fleet in Redis, and the counters of tags. It is a recycled.Store and a
// segment.Creator, and safe for concurrent use. New returns one.
type Store struct {
	client          redis.UniversalClient
	pool            string
	keys            []string // the pool's hash, and the index of its slots by the time at which they become free
	tagKeys         []string // the pool's hash, and the hash of its tags
	failoverGap     int64
	replicas        int64 // of WithReplicas; -1: what the hash says
	read, write     *redis.Script
	take, createTag *redis.Script
	err, tagErr     error // of New: an invalid argument, for pools and for tags

	needed atomic.Int64 // how many replicas must acknowledge a write, as the last script has reported it

	acknowledgeTimeout time.Duration // longer in tests whose servers may be slow
}

var _ recycled.Store = (*Store)(nil)

// An Option configures a Store. If its value is invalid, Read and Write return an error that wraps
// workerassign.ErrOption, Take and CreateTag one that wraps segment.ErrOption.
type Option interface{ apply(*Store) }

type option func(*Store)

func (o option) apply(s *Store) { o(s) }

// WithPool sets the name of the pool: 1 to 128 bytes without braces. Each fleet, and each format, has a pool
// of its own. The default is DefaultPool. The keys of a pool are "ringuid:{name}:slots", "ringuid:{name}:free"
// and "ringuid:{name}:tags". The braces make sure that Redis Cluster keeps them on one node.
func WithPool(name string) Option {
	return option(func(s *Store) {
		options.Set(&s.pool, name, name != "" && len(name) <= 128 && !strings.ContainsAny(name, "{}"), s.setError,
			"the pool's name is %q; must have 1 to 128 bytes, and no braces", name)
	})
}

// WithReplicas sets how many replicas must acknowledge a write before it counts, instead of half of the servers, rounded
// down: see the package documentation. n must be 0 to 1000. All processes of a pool must have the same. The servers are all
// that can ever be attached or promoted: one that replaces another one is one more, unless the other one never returns.
//
// With fewer than half of the servers, two primaries may both go on: one that was frozen, or cut off with fewer replicas than
// that, acknowledges grants, and UIDs and numbers come twice, unless it is fenced within F by other means (WithFencing of
// package recycled). min-replicas-to-write alone does not do that. 0 is for a primary and one replica if grants must
// go on without the replica. With more than half, fewer servers may fail.
func WithReplicas(n int) Option {
	return option(func(s *Store) {
		options.Set(&s.replicas, int64(n), n >= 0 && n <= 1000, s.setError, "the number of replicas is %d; must be 0 to 1000", n)
	})
}

// New returns a store on client. It does not use the server: an invalid argument is an error of the methods that
// wraps workerassign.ErrOption or segment.ErrOption. The client may be a *redis.Client, of one server or of Sentinel, or a
// *redis.ClusterClient, but not a *redis.Ring: it would change to another server, and back, without a new history. The
// caller closes the client after the generators.
func New(client redis.UniversalClient, opts ...Option) *Store {
	s := &Store{
		client: client, pool: DefaultPool, failoverGap: defaultFailoverGap, replicas: -1, acknowledgeTimeout: defaultAcknowledgeTimeout,
		read: redis.NewScript(readScript), write: redis.NewScript(primaryScript + writeScript),
		take: redis.NewScript(primaryScript + tagsScript + takeScript), createTag: redis.NewScript(primaryScript + tagsScript + createTagScript),
	}
	switch c := client.(type) {
	case nil:
		s.setError("the client is nil; must not be nil")
	case *redis.Client:
		if c == nil {
			s.setError("the client is nil; must not be nil")
		}
	case *redis.ClusterClient:
		if c == nil {
			s.setError("the client is nil; must not be nil")
		}
	default:
		s.setError("the client is a %T; must be a *redis.Client, of one server or of Sentinel, or a *redis.ClusterClient", client)
	}
	options.Apply(opts, func(o Option) { o.apply(s) }, s.setError)
	s.keys = []string{"ringuid:{" + s.pool + "}:slots", "ringuid:{" + s.pool + "}:free"}
	s.tagKeys = []string{s.keys[0], "ringuid:{" + s.pool + "}:tags"}
	return s
}

// setError sets the errors of the first invalid argument.
func (s *Store) setError(format string, args ...any) {
	options.SetError(&s.err, workerassign.ErrOption, "redisstore: "+format, args...)
	options.SetError(&s.tagErr, segment.ErrOption, "redisstore: "+format, args...)
}

// String implements recycled.Store and segment.Source: the addresses in the client's options, and the pool.
func (s *Store) String() string {
	if s.err != nil {
		return "Redis"
	}
	address := "an unknown address"
	switch c := s.client.(type) {
	case *redis.Client:
		if address = c.Options().Addr; address == "FailoverClient" { // what go-redis calls it
			address = "the primary that Sentinel names"
		}
	case *redis.ClusterClient:
		address = strings.Join(c.Options().Addrs, ",")
	}
	return fmt.Sprintf("Redis at %s, pool %q", address, s.pool)
}

// Read implements recycled.Store. Everything in its result is from the same instant. It fails on a
// replica, whose data may be old, and if Redis may delete the pool to free memory (maxmemory-policy).
func (s *Store) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	all := ""
	if q.All {
		all = "all"
	}
	args := []any{max(q.Free, 0), mathrand.Int32(), q.Name, all, rand.Text()}
	for _, id := range q.WorkerIDs {
		args = append(args, id)
	}
	reply, err := s.run(ctx, func() *redis.Cmd { return s.read.Run(ctx, s.client, s.keys, args...) }).Slice()
	if err != nil {
		return recycled.State{}, s.error("read", err)
	}
	return s.parse(reply)
}

// The elements of the reply of read.lua before the slots.
const (
	replySeconds = iota
	replyMicros
	replyReplicationID
	replyRunID
	replyPolicy
	replyPoolID
	replyPool
	replyHeader // how many there are
)

// parse returns what a reply of read.lua contains.
func (s *Store) parse(reply []any) (recycled.State, error) {
	text := make([]string, len(reply))
	for i, element := range reply {
		var ok bool
		if text[i], ok = element.(string); !ok {
			return recycled.State{}, s.damaged("element %d of a reply is a %T, want a string", i, element)
		}
	}
	if len(text) < replyHeader || (len(text)-replyHeader)%2 != 0 {
		return recycled.State{}, s.damaged("a reply has %d elements", len(text))
	}
	if policy := text[replyPolicy]; strings.HasPrefix(policy, "allkeys") {
		return recycled.State{}, s.permanent(fmt.Errorf("maxmemory-policy is %s, so Redis may delete the pool to free memory", policy), adviceEviction)
	}
	seconds, err1 := strconv.ParseInt(text[replySeconds], 10, 64)
	micros, err2 := strconv.ParseInt(text[replyMicros], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return recycled.State{}, s.damaged("the time: %v", err)
	}
	if text[replyReplicationID] == "" || text[replyRunID] == "" {
		return recycled.State{}, s.permanent(errors.New("INFO has no master_replid or no run_id"), adviceNoHistory)
	}
	h := history{server: text[replyReplicationID] + "/" + text[replyRunID], poolID: text[replyPoolID]}
	state := recycled.State{Now: time.UnixMilli(seconds*1000 + micros/1000).UTC(), History: h.String()}
	var err error
	if record := text[replyPool]; record != "" {
		if state.Pool, err = recycled.DecodePool([]byte(record)); err != nil {
			return recycled.State{}, s.damaged("the pool: %w", err)
		}
	}
	for i := replyHeader; i < len(text); i += 2 {
		slot, err := recycled.DecodeSlot([]byte(text[i+1]))
		if err == nil && strconv.FormatInt(slot.WorkerID, 10) != text[i] {
			err = fmt.Errorf("it is the slot of worker ID %d", slot.WorkerID)
		}
		if err != nil {
			return recycled.State{}, s.damaged("the slot of worker ID %s: %w", text[i], err)
		}
		state.Slots = append(state.Slots, slot)
	}
	return state, nil
}

// A history identifies what a pool is kept by: a server since its start, and the pool itself since its
// creation. The pool's ID distinguishes a pool from one that was deleted, for example by FLUSHALL, although both
// have the same revisions.
type history struct {
	server string // replication ID/run ID
	poolID string
}

// String returns the history as the text of recycled.State. A server's part has no further slash.
func (h history) String() string { return h.server + "/" + h.poolID }

// parseHistory parses the result of history.String. ok is false if it is not one.
func parseHistory(text string) (h history, ok bool) {
	n := strings.LastIndexByte(text, '/')
	if n <= 0 || n == len(text)-1 {
		return history{}, false
	}
	return history{server: text[:n], poolID: text[n+1:]}, true
}

// Write implements recycled.Store. It writes once, whatever MaxRetries in the client's options is: if a reply is
// lost, the result is an error. It is also an error if too few replicas have acknowledged the write.
func (s *Store) Write(ctx context.Context, w recycled.Write) (bool, error) {
	h, ok := parseHistory(w.History)
	if s.err == nil && !ok {
		return false, nil // it is no history of any server
	}
	args := []any{h.server, h.poolID, "", ""}
	if w.Pool != nil {
		args[2] = w.Pool.Encode()
		if was := w.ReplacedPool; w.Pool.Revision > 1 {
			args[3] = fmt.Sprintf("%s %d %d %d", was.History, was.Since.UnixMilli(), was.Floor.UnixMilli(), was.Slots)
		}
	}
	for i, slot := range w.Slots {
		was := w.Replaced[i]
		args = append(args, slot.WorkerID, slot.Encode(), was.Token+" "+strconv.FormatInt(was.Until.UnixMilli(), 10))
	}
	written, err := s.runWrite(ctx, s.write, s.keys, args).Int()
	if err != nil {
		return false, s.error("write", err)
	}
	return written == 1, nil
}
