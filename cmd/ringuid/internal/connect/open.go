package connect

import (
	"context"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/go-zookeeper/zk"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/await"
	"github.com/ringuid/ringuid/stores/etcdstore"
	"github.com/ringuid/ringuid/stores/filestore"
	"github.com/ringuid/ringuid/stores/redisstore"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/stores/zookeeperstore"
	"github.com/ringuid/ringuid/workerassign"
)

const (
	dialTimeout = 5 * time.Second
	// zkSession is the time after which a ZooKeeper server that does not answer is given up.
	zkSession = 10 * time.Second
)

// urlError returns an error that wraps ErrURL.
func (a *address) urlError(err error) error {
	err = a.explain(err)
	return fmt.Errorf("%w: %q: %w", ErrURL, a.redacted, hidePassword(err, a.password, url.QueryEscape(a.password), url.PathEscape(a.password)))
}

// A driverError is the error of a driver that has parsed an address, which names what the driver has made of it.
type driverError struct{ error }

func (e driverError) Unwrap() error { return e.error }

// explain returns an error of a driver that has parsed the address in other words: with the parameter that it does not accept.
func (a *address) explain(err error) error {
	var driver driverError
	isRedis := strings.HasPrefix(err.Error(), "redis: ") // of package redis
	if !errors.As(err, &driver) && !isRedis {
		return err
	}
	var file *fs.PathError // of a certificate, for example
	reason := ""
	if errors.As(err, &file) {
		reason = ": " + file.Error()
	}
	for pair := range strings.SplitSeq(a.query, "&") {
		one := *a
		if one.query = pair; pair != "" && one.check() != nil {
			name, _, _ := strings.Cut(pair, "=")
			return fmt.Errorf("the driver does not accept the parameter %s or its value%s", name, reason)
		}
	}
	if isRedis {
		return errors.New("its path does not end with the number of a database, as /0 does")
	}
	return fmt.Errorf("the driver does not accept it%s", reason)
}

// check returns an error if no client can be made of the address. It connects to nothing.
func (a *address) check() (err error) {
	switch a.kind {
	case MySQL:
		_, _, err = a.mysqlConnector()
	case PostgreSQL:
		_, err = a.postgresConfig()
	case Redis:
		_, err = a.redisClient()
	case ZooKeeper, Etcd:
		err = a.noParameters()
	}
	return err
}

func (s *Store) openFile() error {
	path, err := filepath.Abs(s.address.path)
	if err != nil {
		return s.address.urlError(err)
	}
	s.clients.Path = path
	s.store = filestore.New(path)
	if s.options.Assign == Disposable {
		var opts []workerassign.FileOption
		if s.options.Logger != nil {
			opts = append(opts, workerassign.WithLogger(s.options.Logger))
		}
		s.assigner = workerassign.NewFile(path, opts...)
	}
	return nil
}

func (s *Store) openMySQL() error {
	connector, server, err := s.address.mysqlConnector()
	if err != nil {
		return s.address.urlError(err)
	}
	s.useDatabase(sql.OpenDB(connector), server)
	return nil
}

// mysqlConnector returns what opens connections to the database of a URL or of a data source name, and the server's address.
func (a *address) mysqlConnector() (c driver.Connector, server string, err error) {
	config, err := a.mysqlConfig()
	if err != nil {
		return nil, "", err
	}
	config.Logger = &mysql.NopLogger{} // errors are returned too
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, "", driverError{err}
	}
	return connector, config.Addr, nil
}

// mysqlConfig returns the configuration of a URL or of a data source name.
func (a *address) mysqlConfig() (*mysql.Config, error) {
	if a.dsn != "" {
		config, err := mysql.ParseDSN(a.dsn)
		if err != nil {
			return nil, errors.New("it is not a data source name such as user:password@tcp(host:3306)/database")
		}
		a.password = config.Passwd
		if config.DBName == "" {
			return nil, errNoDatabase
		}
		if config, err = mysql.ParseDSN(a.dsn + "?" + a.query); err != nil {
			return nil, driverError{err}
		}
		return config, nil
	}
	database := strings.TrimPrefix(a.path, "/")
	hosts := a.hostsWithPort("3306")
	switch {
	case database == "" || strings.Contains(database, "/"):
		return nil, errNoDatabase
	case len(hosts) > 1:
		return nil, errors.New("it has several hosts; must be one, such as that of a proxy in front of a Galera cluster")
	}
	config, err := mysql.ParseDSN("tcp(" + hosts[0] + ")/" + url.PathEscape(database) + "?" + a.query)
	if err != nil {
		return nil, driverError{err}
	}
	config.User, config.Passwd = a.user, a.password
	return config, nil
}

var errNoDatabase = errors.New("it names no database; must end with /database")

func (s *Store) openPostgreSQL() error {
	config, err := s.address.postgresConfig()
	if err != nil {
		return s.address.urlError(err)
	}
	s.useDatabase(stdlib.OpenDB(*config), s.address.hosts)
	return nil
}

// postgresConfig returns the configuration of a URL.
func (a *address) postgresConfig() (*pgx.ConnConfig, error) {
	database := strings.TrimPrefix(a.path, "/")
	if database == "" || strings.Contains(database, "/") {
		return nil, errNoDatabase
	}
	u := url.URL{Scheme: "postgres", Host: a.hosts, Path: "/" + database, RawQuery: a.query}
	if a.user != "" || a.hasPassword {
		u.User = url.User(a.user)
		if a.hasPassword {
			u.User = url.UserPassword(a.user, a.password)
		}
	}
	config, err := pgx.ParseConfig(u.String())
	if err != nil {
		return nil, driverError{err}
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = dialTimeout
	}
	return config, nil
}

// useDatabase sets what databases of all kinds have in common. server is for errors and log records.
func (s *Store) useDatabase(db *sql.DB, server string) {
	o := s.options
	s.clients.DB, s.close = db, db.Close
	db.SetMaxOpenConns(16)
	opts := []sqlstore.Option{sqlstore.WithServerName(server)}
	if o.PoolTable != "" {
		opts = append(opts, sqlstore.WithPoolTables(o.PoolTable, o.SlotTable))
	}
	if o.History != "" {
		opts = append(opts, sqlstore.WithHistory(o.History))
	}
	if o.TagTable != "" {
		opts = append(opts, sqlstore.WithTagTable(o.TagTable))
	}
	s.store = sqlstore.New(db, opts...)
	if o.Assign != Disposable {
		return
	}
	disposable := []workerassign.DisposableOption{workerassign.WithServerName(server)}
	if o.Table != "" {
		disposable = append(disposable, workerassign.WithTable(o.Table))
	}
	if o.Logger != nil {
		disposable = append(disposable, workerassign.WithLogger(o.Logger))
	}
	s.assigner = workerassign.NewDisposable(db, disposable...)
}

func (s *Store) openRedis() error {
	newClient, err := s.address.redisClient()
	if err != nil {
		return s.address.urlError(err)
	}
	client := newClient()
	var opts []redisstore.Option
	if s.options.Pool != "" {
		opts = append(opts, redisstore.WithPool(s.options.Pool))
	}
	if n := s.options.Replicas; n != nil {
		opts = append(opts, redisstore.WithReplicas(int(*n)))
	}
	if n := s.options.FailoverGap; n != nil {
		opts = append(opts, redisstore.WithFailoverGap(*n))
	}
	store := redisstore.New(client, opts...)
	s.clients.Redis, s.store, s.close = client, store, client.Close
	return nil
}

// noParameters returns an error if a URL has parameters for a driver, and the store has none.
func (a *address) noParameters() error {
	if a.query == "" {
		return nil
	}
	name, _, _ := strings.Cut(a.query, "=")
	return fmt.Errorf("the parameter %q is not known", name)
}

// discardLog discards what the client of ZooKeeper logs. Its errors are returned too.
type discardLog struct{}

func (discardLog) Printf(string, ...any) {}

func (s *Store) openZooKeeper(ctx context.Context) error {
	a := &s.address
	if err := a.noParameters(); err != nil {
		return a.urlError(err)
	}
	opts := []zookeeperstore.Option{zookeeperstore.WithPath(a.zookeeperPath())}
	conn, _, err := zk.Connect(a.hostsWithPort("2181"), zkSession, zk.WithLogger(discardLog{}), zk.WithLogInfo(false))
	if err != nil {
		return fmt.Errorf("connect: %s: %w", a.redacted, err)
	}
	if a.user != "" {
		login := func() (any, error) { return nil, conn.AddAuth("digest", []byte(a.user+":"+a.password)) }
		if _, err := await.Call(ctx, login); err != nil { // it waits for the server
			conn.Close()
			return fmt.Errorf("connect: %s: %w", a.redacted, err)
		}
		opts = append(opts, zookeeperstore.WithACL(zk.AuthACL(zk.PermAll)...))
	}
	if n := s.options.FailoverGap; n != nil {
		opts = append(opts, zookeeperstore.WithFailoverGap(*n))
	}
	store := zookeeperstore.New(conn, opts...)
	s.clients.ZooKeeper, s.store = conn, store
	s.close = func() error { conn.Close(); return nil }
	return nil
}

// zookeeperPath returns the path of all znodes.
func (a *address) zookeeperPath() string {
	if a.path == "" || a.path == "/" {
		return zookeeperstore.DefaultPath
	}
	return strings.TrimSuffix(a.path, "/")
}

// etcdPrefix returns the prefix of all keys.
func (a *address) etcdPrefix() string {
	// Of two slashes at the beginning, the second one is of the prefix: services may have one such as /prod/ringuid/.
	prefix := strings.TrimPrefix(a.path, "/")
	switch {
	case strings.Trim(prefix, "/") == "":
		return etcdstore.DefaultPrefix
	case strings.HasSuffix(prefix, "/"):
		return prefix
	}
	return prefix + "/"
}

func (s *Store) openEtcd(ctx context.Context) error {
	a := &s.address
	if err := a.noParameters(); err != nil {
		return a.urlError(err)
	}
	config := clientv3.Config{Endpoints: a.hostsWithPort("2379"), DialTimeout: dialTimeout, Logger: zap.NewNop(),
		Username: a.user, Password: a.password, DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 5 * time.Second}
	if a.tls {
		config.TLS = &tls.Config{MinVersion: tls.VersionTLS12} // the server's name is that of the endpoint
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	client, err := clientv3.New(config) // with a user name it logs in, for as long as DialTimeout
	if err != nil {
		return fmt.Errorf("connect: %s: %w", a.redacted, err)
	}
	opts := []etcdstore.Option{etcdstore.WithPrefix(a.etcdPrefix())}
	if n := s.options.FailoverGap; n != nil {
		opts = append(opts, etcdstore.WithFailoverGap(*n))
	}
	store := etcdstore.New(client, opts...)
	s.clients.Etcd, s.store, s.close = client, store, client.Close
	return nil
}
