package connect

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-zookeeper/zk"
	goredis "github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/await"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A Store is an opened store. Open returns one. Its methods are safe for concurrent use, and those that contact the server say
// so.
type Store struct {
	address address
	options Options
	clients Clients

	assigner workerassign.Assigner
	recycled *recycled.Assigner
	store    interface {
		recycled.Store
		segment.Creator
	}

	close    func() error
	closing  sync.Once
	closeErr error
}

// Clients are the connections of a Store. Only that of its kind is set.
type Clients struct {
	Path      string // of the file of worker IDs
	DB        *sql.DB
	Redis     goredis.UniversalClient
	ZooKeeper *zk.Conn
	Etcd      *clientv3.Client
}

// Open opens a store: a path, a URL or a data source name, as the documentation of the package describes. It does not wait
// for the server, except for etcd and ZooKeeper with a user name, where it logs in. An error of the text or of the options wraps ErrURL.
// Close the Store after the generators and sequences that use it.
func Open(ctx context.Context, rawURL string, opts Options) (*Store, error) {
	a, err := parseAddress(rawURL, &opts)
	if err != nil {
		return nil, err
	}
	s := &Store{address: a, options: opts, close: func() error { return nil }}
	switch a.kind {
	case File:
		err = s.openFile()
	case MySQL:
		err = s.openMySQL()
	case PostgreSQL:
		err = s.openPostgreSQL()
	case Redis:
		err = s.openRedis()
	case ZooKeeper:
		err = s.openZooKeeper(ctx)
	case Etcd:
		err = s.openEtcd(ctx)
	}
	if err != nil {
		return nil, err
	}
	s.recycled = recycled.New(s.store, opts.recycled()...)
	if s.assigner == nil {
		s.assigner = s.recycled
	}
	return s, nil
}

// Check returns the error that Open returns for the text or the options, and opens nothing. It wraps ErrURL.
func Check(rawURL string, opts Options) error {
	a, err := parseAddress(rawURL, &opts)
	if err != nil {
		return err
	}
	if err := a.check(); err != nil {
		return a.urlError(err)
	}
	return nil
}

// Kind returns the kind of the store.
func (s *Store) Kind() Kind { return s.address.kind }

// Options returns the options, with those that the URL contained and the default of Assign.
func (s *Store) Options() Options { return s.options }

// String returns the URL without its password.
func (s *Store) String() string { return s.address.redacted }

// Clients returns the connections of the store, for checks. The caller must not close them.
func (s *Store) Clients() Clients { return s.clients }

// Assigner returns the assigner that the options ask for: the same one at each call.
func (s *Store) Assigner() workerassign.Assigner { return s.assigner }

// Recycled returns the assigner of recycled worker IDs, whatever the options ask for: for its methods State and RaiseFloor.
func (s *Store) Recycled() *recycled.Assigner { return s.recycled }

// CreatePool creates the pool of recycled worker IDs with the options: see recycled.CreatePool.
func (s *Store) CreatePool(ctx context.Context) error {
	return recycled.CreatePool(ctx, s.store, s.options.recycled()...)
}

// CreatePoolStatement is CreatePool, but returns the statement that a database administrator can execute on the same server, and executes
// it not. The store must be a database.
func (s *Store) CreatePoolStatement(ctx context.Context) (string, error) {
	tables, ok := s.store.(*sqlstore.Store)
	if !ok {
		return "", fmt.Errorf("%w: %s is no database", ErrURL, s)
	}
	planned := &plannedPool{Store: tables}
	if err := recycled.CreatePool(ctx, planned, s.options.recycled()...); err != nil {
		return "", err
	}
	return tables.CreatePoolStatement(ctx, planned.pool)
}

// A plannedPool is a store that keeps the pool that is to be created, and writes nothing.
type plannedPool struct {
	recycled.Store
	pool recycled.Pool
}

// Write implements recycled.Store.
func (p *plannedPool) Write(_ context.Context, w recycled.Write) (bool, error) {
	p.pool = *w.Pool
	return true, nil
}

// Slots returns the store of recycled worker IDs, whatever the options ask for.
func (s *Store) Slots() recycled.Store { return s.store }

// Missing reports whether the store is a file that does not exist. To read its slots would create its lock file.
func (s *Store) Missing() bool {
	missing := func(name string) bool {
		_, err := os.Stat(name)
		return errors.Is(err, os.ErrNotExist)
	}
	return s.address.kind == File && missing(s.clients.Path) && missing(s.clients.Path+".lock")
}

// Source returns the store of the tags of segments. For a file it is another file, whose name ends with filestore.TagsSuffix.
func (s *Store) Source() segment.Creator { return s.store }

// Ping contacts the server, and returns nil if it answers and accepts the account. It blocks until the server answers or
// ctx ends, whose deadline should be a few seconds. For a file it checks that the directory exists.
func (s *Store) Ping(ctx context.Context) error {
	err := s.ping(ctx)
	if err != nil && s.address.kind == File {
		return fmt.Errorf("connect: the directory of %s cannot be used: %w", s, err)
	}
	if err != nil {
		if ctx.Err() != nil && context.Cause(ctx) != err {
			err = fmt.Errorf("%w (%w)", err, context.Cause(ctx))
		}
		return fmt.Errorf("connect: %s does not answer: %w", s, err)
	}
	return nil
}

func (s *Store) ping(ctx context.Context) error {
	switch c := s.clients; s.address.kind {
	case MySQL, PostgreSQL:
		return c.DB.PingContext(ctx)
	case Redis:
		return c.Redis.Ping(ctx).Err()
	case Etcd:
		_, err := c.Etcd.Get(ctx, s.address.etcdPrefix()+"pool", clientv3.WithCountOnly())
		return err
	case ZooKeeper:
		_, err := await.Call(ctx, func() (any, error) {
			_, _, err := c.ZooKeeper.Exists("/zookeeper") // exists always
			return nil, err
		})
		return err
	}
	directory := filepath.Dir(s.clients.Path)
	info, err := os.Stat(directory)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", directory)
	}
	return err
}

// Close closes the connections. Further calls return the result of the first one.
func (s *Store) Close() error {
	s.closing.Do(func() { s.closeErr = s.close() })
	return s.closeErr
}

// EtcdPrefix returns the prefix of all keys in etcd. It ends with a slash.
func (s *Store) EtcdPrefix() string { return s.address.etcdPrefix() }

// ZooKeeperPath returns the path of all znodes in ZooKeeper.
func (s *Store) ZooKeeperPath() string { return s.address.zookeeperPath() }
