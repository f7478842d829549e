package zookeeperstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/ringuid/ringuid/internal/options"
	"github.com/ringuid/ringuid/internal/recent"
	"github.com/ringuid/ringuid/internal/tagrecord"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// DefaultPath is the path of all znodes, unless WithPath sets another.
const DefaultPath = "/ringuid"

// freeParts is the number of parts of the index of released slots.
const freeParts = 8

// Store is a recycled.Store, and a segment.Source and segment.Creator. New returns one. It is safe for
// concurrent use. Its methods block until ZooKeeper answers, the client loses its connection, or the context ends.
type Store struct {
	conn   *zk.Conn
	root   string
	acl    []zk.ACL
	gap    int64
	err    error // of the options, for slots
	tagErr error // of the options, for tags

	mu      sync.Mutex
	history string // the name of the history's znode, as it was read last

	// What was read. A write requires the versions.
	records recent.Values[int64, record]
	pools   recent.Values[int64, poolRecord] // by the pool's revision

	tags tagrecord.Queue
}

// record is a slot with its version in ZooKeeper.
type record struct {
	slot    recycled.Slot
	version int32
}

// poolRecord is the pool with its version in ZooKeeper.
type poolRecord struct {
	pool    recycled.Pool
	version int32
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

// WithPath sets the path of all znodes. Missing znodes on the path are created. The default is DefaultPath.
// Each pool must have a path of its own.
func WithPath(p string) Option {
	return option(func(s *Store) {
		options.Set(&s.root, p, strings.HasPrefix(p, "/") && p != "/" && path.Clean(p) == p, s.setError,
			"the path is %q; must begin with a slash and name a znode", p)
	})
}

// WithACL sets the access control list of the znodes that the store creates. It must not be empty. By default,
// everybody has all permissions.
func WithACL(acl ...zk.ACL) Option {
	return option(func(s *Store) {
		options.Set(&s.acl, acl, len(acl) > 0, s.setError, "the ACL is empty; must have at least one entry")
	})
}

// WithFailoverGap sets how many numbers a tag skips after NewHistory, which an operator calls when the ensemble may have lost
// writes that it had acknowledged, for example because a backup was restored: see the package's documentation. It must be
// greater than the number of numbers that any tag hands out in the time that a restored backup can be old, and from 1 to
// segment.MaxStep. The default is 1,000,000.
func WithFailoverGap(n int64) Option {
	return option(func(s *Store) {
		options.Set(&s.gap, n, n >= 1 && n <= tagrecord.MaxGap, s.setError, "the gap after a failover is %d; must be 1 to %d", n, int64(tagrecord.MaxGap))
	})
}

func (s *Store) setError(format string, args ...any) {
	options.SetError(&s.err, workerassign.ErrOption, "zookeeperstore: "+format, args...)
	options.SetError(&s.tagErr, segment.ErrOption, "zookeeperstore: "+format, args...)
}

// New returns a store of one pool of slots, and of one pool of tags. It does not use the connection, and does not close it. The connection
// must exist as long as the generators.
func New(conn *zk.Conn, opts ...Option) *Store {
	s := &Store{conn: conn, root: DefaultPath, acl: zk.WorldACL(zk.PermAll), gap: tagrecord.DefaultGap}
	if conn == nil {
		s.setError("the connection is nil; must not be nil")
	}
	options.Apply(opts, func(o Option) { o.apply(s) }, s.setError)
	return s
}

// String implements recycled.Store and segment.Source. It has no address, because that of the connection changes: give the
// stores of several ensembles different paths.
func (s *Store) String() string { return fmt.Sprintf("ZooKeeper, path %q", s.root) }

func (s *Store) historyPath() string          { return s.root + "/history" }
func (s *Store) clockPath() string            { return s.root + "/clock" }
func (s *Store) poolPath() string             { return s.root + "/pool" }
func (s *Store) slotsPath() string            { return s.root + "/slots" }
func (s *Store) slotPath(id int64) string     { return fmt.Sprintf("%s/%019d", s.slotsPath(), id) }
func (s *Store) tagPoolPath() string          { return s.root + "/tagpool" }
func (s *Store) tagsPath() string             { return s.root + "/tags" }
func (s *Store) tagPath(tag string) string    { return s.tagsPath() + "/_" + url.PathEscape(tag) } // "." is no znode
func (s *Store) freePath(part int64) string   { return fmt.Sprintf("%s/free/%d", s.root, part) }
func (s *Store) namePath(name string) string  { return s.root + "/names/_" + url.PathEscape(name) } // "." is no znode
func (s *Store) freeSlotPath(id int64) string { return child(s.freePath(id%freeParts), id) }

// child returns the path of a slot's znode in an index.
func child(parent string, id int64) string { return parent + "/" + strconv.FormatInt(id, 10) }

// do calls f in a goroutine and waits until it returns, or ctx ends.
func do[T any](ctx context.Context, s *Store, f func() (T, error)) (T, error) {
	if s.err != nil {
		return *new(T), s.err
	}
	if ctx.Err() != nil {
		return *new(T), s.wrap(context.Cause(ctx))
	}
	value, err := await(ctx, f)
	return value, s.wrap(err)
}

// await calls f in a goroutine and waits until it returns, or ctx ends.
func await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return *new(T), context.Cause(ctx)
	}
}

// createTree creates the znodes that are missing, except the history.
func (s *Store) createTree() error {
	var paths []string
	for p := s.historyPath(); p != "/"; p = path.Dir(p) {
		paths = append([]string{p}, paths...)
	}
	paths = append(paths, s.clockPath(), s.slotsPath(), s.tagsPath(), path.Dir(s.freePath(0)), path.Dir(s.namePath("")))
	for part := range int64(freeParts) {
		paths = append(paths, s.freePath(part))
	}
	for _, p := range paths {
		// The account may not be permitted to create what exists above the path.
		if exists, _, err := s.conn.Exists(p); exists || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		if _, err := s.conn.Create(p, nil, 0, s.acl); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
	return nil
}

// NewHistory declares that the ensemble may have lost writes that it had acknowledged, because a backup was
// restored. Then the leases that were taken before cannot be extended any more, writes that are under way
// fail, and no new lease begins before the pool's floor, which follows from the present, H, F and M (rule
// R7). Each tag then continues beyond the gap of WithFailoverGap. An operator calls it after restoring a backup, before
// generators and sequences can reach the ensemble again.
func (s *Store) NewHistory(ctx context.Context) error {
	_, err := do(ctx, s, func() (struct{}, error) {
		for ctx.Err() == nil {
			if err := s.createTree(); err != nil {
				return struct{}{}, err
			}
			old, stat, err := s.conn.Children(s.historyPath())
			if err != nil {
				return struct{}{}, err
			}
			ok, err := s.replaceHistory(old, stat)
			if err != nil {
				return struct{}{}, err
			}
			if ok {
				return struct{}{}, s.followTagPool(ctx)
			}
		}
		return struct{}{}, context.Cause(ctx)
	})
	return err
}

// replaceHistory replaces the znodes below the history's, which were read with stat, by a new one. It returns
// false if another process was faster: the version of the history's znode makes sure that only one of several
// processes that find no history creates one.
func (s *Store) replaceHistory(old []string, stat *zk.Stat) (bool, error) {
	ops := []any{&zk.SetDataRequest{Path: s.historyPath(), Version: stat.Version},
		&zk.CreateRequest{Path: s.historyPath() + "/" + rand.Text(), Acl: s.acl}}
	for _, name := range old {
		ops = append(ops, &zk.DeleteRequest{Path: s.historyPath() + "/" + name, Version: -1})
	}
	switch _, err := s.conn.Multi(ops...); {
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrBadVersion):
		return false, nil
	default:
		return err == nil, err
	}
}

// wrap returns an error of ZooKeeper with what to do about it. If another try would fail in the same way, it
// wraps workerassign.ErrPermanent.
func (s *Store) wrap(err error) error {
	if err == nil {
		return nil
	}
	advice, permanent := "check that a majority of the ensemble runs, and that this host reaches one of its servers", false
	switch {
	case errors.Is(err, zk.ErrNoAuth), errors.Is(err, zk.ErrAuthFailed):
		advice, permanent = "grant the account create, read, write and delete on "+s.root+", and call AddAuth on the connection", true
	case errors.Is(err, zk.ErrInvalidPath):
		err = fmt.Errorf("%w: %w", workerassign.ErrOption, err)
		advice, permanent = "check WithPath: ZooKeeper does not permit control characters, for example", true
	case errors.Is(err, zk.ErrConnectionClosed): // lost, or closed by the program: the client returns the same error
		advice += "; if the program has closed the connection, close it only after the generators that use it"
	case errors.Is(err, zk.ErrInvalidACL):
		advice, permanent = "check WithACL", true
	case errors.Is(err, zk.ErrClosing):
		advice, permanent = "close the connection only after the generators that use it", true
	case errors.Is(err, workerassign.ErrPermanent):
		return fmt.Errorf("zookeeperstore: %s: %w", s, err)
	}
	if permanent {
		return fmt.Errorf("zookeeperstore: %s: %w: %w; %s", s, workerassign.ErrPermanent, err, advice)
	}
	return fmt.Errorf("zookeeperstore: %s: %w; %s", s, err, advice)
}
