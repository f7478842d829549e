package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ringuid/ringuid/internal/options"
	"github.com/ringuid/ringuid/internal/sqlattempt"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// New returns a store that keeps a pool in two tables of a database, and tags of package segment in a third one. schema.sql creates
// them, or schema.postgres.sql on PostgreSQL. Those that are not used need not exist. db is a *sql.DB or *sqlx.DB. The servers are MariaDB 10.4 and later, MySQL
// 5.6, 5.7 and 8, Galera clusters and TiDB, with go-sql-driver/mysql, and PostgreSQL 12 and later, with
// jackc/pgx (package stdlib) or lib/pq. Prefer pgx: while the network loses all packets, a call of lib/pq does not end with its
// context, and no lease is extended; while a commit waits for a synchronous standby, it may not end either. New does not use the
// database. The caller closes db.
//
// All statements must reach the primary. A proxy that sends reads to replicas must not do so for the account
// of the services, because a replica has another history, so that no Write would ever succeed.
//
// # Round trips
//
// A Read is one statement. A Write of one record is one statement and a COMMIT, which has no effect if
// autocommit is on. Any other Write is one transaction, and so is each Write on TiDB. No statement is prepared. The store works with any
// setting of autocommit, any isolation level and SQL mode, and any setting of the driver.
//
// On PostgreSQL, every Write is a transaction, and pgx prepares the statement of a Read unless
// default_query_exec_mode in the DSN is exec or simple_protocol. Use one of these with a connection pooler that
// does not support prepared statements. A pooler in statement mode is refused, because it has no transactions. A proxy
// must not send a statement again, as with delayed_retry or transaction_replay of MaxScale: the lease would look like
// one that was copied (workerassign.ErrVoid).
//
// Each attempt of a call ends after WithAttemptTimeout, 10 seconds by default, or when its context ends. A call that fails because its connection was
// lost, or because its server is read-only or outside of its cluster, tries the pool's other connections at
// once, if it is certain that nothing was written.
//
// # Clock
//
// The clock is the one of the server that executes the statement, in UTC. The session's time zone does not
// matter. All servers that may execute statements must have synchronized clocks, see recycled.WithSkew.
//
// # History and durability of a pool
//
// The history of a single server is its identity and its start: server_uuid on MySQL, host name, port and
// server ID on MariaDB. It is compared in the statement that writes. So each restart and each failover
// ends all leases, and new ones begin at a floor, F + H + M later. Generators use up what they were granted, and
// then wait: see recycled.WithHorizon, WithFencing and WithSkew. Servers in a replication topology must differ in
// these identities, and a server must not be restarted twice within one second. A server that was demoted
// must be restarted before it may be promoted again. Replicas must be read-only until they are promoted: clients that reach
// one before that calculate no floor from what it says. WithHistory avoids the cost, for databases that lose no
// acknowledged write.
//
// On PostgreSQL, the history is the identifier of the database cluster, the timeline, which changes with each
// promotion, and the start of the server. A standby refuses reads and writes of the store. The transaction of a
// Write sets synchronous_commit to on if it is off. The database's encoding must be UTF8.
//
// On a Galera cluster, the history is the UUID of the cluster's state, because all nodes have received what
// one node has acknowledged: a node may fail, and leases continue. If a whole cluster is bootstrapped from a
// node that was not the most advanced one, it keeps that UUID although acknowledged writes are lost. An
// operator who does that must give the cluster a new UUID or call Assigner.RaiseFloor, as schema.sql
// describes (GALERA CLUSTERS). On TiDB, the history is constant: after a backup was restored, an operator must call
// Assigner.RaiseFloor.
//
// The server must flush its log at each commit (innodb_flush_log_at_trx_commit = 1, sync_binlog = 1). For a
// single server this is not a matter of uniqueness, because the history changes with each restart. On a
// Galera cluster it is, if all nodes fail together.
//
// The store refuses to work with binlog_format = STATEMENT, because a replica would compare its own
// history when it applies the statement.
//
// # Tags
//
// The table leaf_alloc is that of Leaf's segment mode, which Leaf's own servers can use at the same time. The row of a tag has max_id, the next number that nobody has received, and step, how many numbers a Take reserves
// that sets no Size. A Take increases max_id in one transaction, and the numbers in between are its range: [max_id -
// added, max_id). Leaf does the same. So all numbers are different, whatever sizes the processes ask for, and whether
// they use this package or Leaf.
//
// On MySQL, MariaDB and TiDB, a Take is one transaction of four statements, none of which is prepared, and reads the
// row before if the request has no Size. On PostgreSQL it is a single statement, and a second one that checks that
// the first one was committed. The settings of the session and of the driver do not matter.
//
// A Take fails after WithAttemptTimeout or when its context ends. Unless it is certain that nothing was written, it
// is not tried again, and the numbers of a Take whose reply was lost are a gap. A transaction that the server has
// rolled back because of a conflict, as happens on a Galera cluster when several nodes write, is tried again for as
// long as WithAttemptTimeout.
//
// # Tags behind proxies and poolers
//
// A Take is safe behind a proxy that shares server connections between clients, such as ProxySQL, MaxScale or PgBouncer, if the
// proxy sends the statements to the primary. Each range follows from one statement: on MySQL, MariaDB and TiDB the reply to the
// UPDATE has the counter that it has found. If the reply does not have it, because a trigger or the driver hides it, the UPDATE
// compares the counter with the one that was read. So a proxy that sends the SELECT of a transaction to another connection or to a
// replica (ProxySQL with transaction_persistent=0 and a rule for ^SELECT) does not lead to a number that is handed out twice. But
// Takes may fail with segment.ErrSource, and the error says that a proxy splits the transaction. If the replica lags, the error may
// also wrap segment.ErrSetBack or ErrNoTag, although the row of the primary is right. Let the proxy keep transactions together.
//
// No client can be protected from a proxy that sends the COMMIT to another connection than the UPDATE, or the transactions of
// several clients to one connection at the same time: a Take that was acknowledged may then be rolled back, and its numbers
// are handed out twice.
//
// On PostgreSQL, Takes also work behind a pooler in statement mode. CreateTag is a transaction, which such a pooler refuses. Behind
// PgBouncer in the modes transaction and statement, add default_query_exec_mode=exec to the DSN of pgx, or
// binary_parameters=yes to that of lib/pq.
//
// # Tags on servers that lose writes
//
// If the server loses a Take that it has acknowledged, then the next process receives the same numbers. This can
// happen after a failover to a replica that lacked the last writes, after a backup was restored, and with settings
// that schema.sql describes under DURABILITY. A process that has received numbers of the tag notices it
// (segment.SetBackError); others cannot, because the row has no record of the server. So an operator must raise max_id, as
// schema.sql describes. For the same reason segment.TagConfig.UnusedBefore has no effect.
//
// # Errors of tags
//
// A table that does not exist or has other columns, a row with impossible values, and a storage engine without
// transactions are errors that wrap segment.ErrSource. If the table's collation does not distinguish the tag from another
// row's, the error names that row, and wraps segment.ErrNoTag (Take) or segment.ErrTag (CreateTag). All errors of the
// database say what to do, and which server it was if WithServerName is used.
func New(db workerassign.DB, opts ...Option) *Store {
	t := &Store{db: db, cfg: config{poolTable: DefaultPoolTable, slotTable: DefaultSlotTable, tagTable: DefaultTagTable, attemptTimeout: defaultAttemptTimeout}}
	t.tags.db, t.tags.cfg = db, &t.cfg
	if sqlattempt.IsNilDB(db) {
		t.cfg.setError("the database is nil; must not be nil")
	}
	options.Apply(opts, func(o Option) { o.apply(&t.cfg) }, t.cfg.setError)
	return t
}

// A Store is a recycled.Store in two tables of a database, and a segment.Source and segment.Creator in a third one. New returns one. It
// is safe for concurrent use, and has no goroutines of its own.
type Store struct {
	db   workerassign.DB
	cfg  config
	tags tagTable

	mu         sync.Mutex
	dialect    dialect // nil before the first connection
	durability serverDurability
	inspected  string    // the history of the server that durability was read from
	expires    time.Time // when durability is to be read again
}

var (
	_ recycled.Store  = (*Store)(nil)
	_ segment.Creator = (*Store)(nil)
)

const (
	durabilityLifetime = time.Minute // an operator may change settings while the server runs
	maxRolledBack      = 5           // how many times a read is repeated that was rolled back
)

// String implements recycled.Store and segment.Source.
func (t *Store) String() string {
	if t == nil || t.cfg.poolTable == "" {
		return "invalid tables"
	}
	return sqlattempt.AtServer("tables "+t.cfg.poolTable+", "+t.cfg.slotTable+" and "+t.cfg.tagTable, t.cfg.server)
}

// Read implements recycled.Store.
func (t *Store) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	var state recycled.State
	err := t.try(ctx, func(ctx context.Context, a *sqlattempt.Attempt, d dialect) (err error) {
		state, err = t.readOnce(ctx, a, d, q)
		return err
	}, true)
	return state, err
}

// Write implements recycled.Store.
func (t *Store) Write(ctx context.Context, w recycled.Write) (bool, error) {
	if t != nil && t.cfg.err != nil {
		return false, t.cfg.err
	}
	if err := checkTexts(w); err != nil {
		return false, err
	}
	if t != nil && t.cfg.history != "" && w.History != t.cfg.history {
		return false, nil
	}
	written := false
	err := t.try(ctx, func(ctx context.Context, a *sqlattempt.Attempt, d dialect) (err error) {
		written, err = t.writeOnce(ctx, a, d, w)
		return err
	}, false)
	return written && err == nil, err
}

// forgetDialect makes the next call detect the server again: it may have been replaced by one of another kind or version.
func (t *Store) forgetDialect() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dialect = nil
}

// detect returns the dialect of the server. The server of the first connection decides, until a statement is refused.
func (t *Store) detect(ctx context.Context, conn *sql.Conn) (dialect, error) {
	t.mu.Lock()
	d := t.dialect
	t.mu.Unlock()
	if d != nil {
		return d, nil
	}
	d, err := detectDialect(ctx, conn)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dialect = d
	return d, nil
}

// inspect returns what the server's settings say about durability.
func (t *Store) inspect(ctx context.Context, conn *sql.Conn, d dialect, history string) (serverDurability, error) {
	t.mu.Lock()
	known, valid := t.durability, t.inspected == history && time.Now().Before(t.expires)
	t.mu.Unlock()
	if !valid {
		pool, slots, err := t.tables(d)
		if err != nil {
			return known, err
		}
		if known, err = d.inspect(ctx, conn, pool, slots); err != nil {
			return known, err
		}
		t.mu.Lock()
		t.durability, t.inspected, t.expires = known, history, time.Now().Add(durabilityLifetime)
		t.mu.Unlock()
	}
	switch {
	case known.refused != "":
		return known, sqlattempt.Found(errors.New(known.refused), sqlattempt.ReasonSettings)
	case t.cfg.history != "" && known.risk != "":
		return known, sqlattempt.Found(fmt.Errorf("WithHistory declares that the server loses no acknowledged write, but it can: %s", known.risk),
			sqlattempt.ReasonHistory)
	case t.cfg.history != "":
		known.noLoss = true
	}
	return known, nil
}
