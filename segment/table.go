package segment

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"github.com/ringuid/ringuid/internal/options"
	"github.com/ringuid/ringuid/internal/sqlattempt"
)

// A DB is a pool of connections to a database. *sql.DB and *sqlx.DB have these methods.
type DB interface {
	Conn(ctx context.Context) (*sql.Conn, error)
	Stats() sql.DBStats
}

// Table is a Source that keeps its tags in the table leaf_alloc of a database, one row for each tag. It is the table
// of Leaf's segment mode, which Leaf's own servers can use at the same time. schema.sql creates it on MySQL, MariaDB
// and TiDB, and schema.postgres.sql on PostgreSQL. Create a Table with NewTable; the methods of the zero value return
// an error.
type Table struct {
	db  DB
	cfg tableConfig

	mu        sync.Mutex
	dialect   tableDialect // nil before the first connection
	inspected time.Time    // when the storage engine was checked; the zero time: never
	noIDs     bool         // see hidesInsertIDs
}

var _ Creator = (*Table)(nil)

const (
	// engineLifetime is how long the result of a check of the storage engine is used.
	engineLifetime = time.Minute
	// maxTableChanges is how often an attempt is repeated because the row was changed by others while it was read.
	maxTableChanges = 10
)

// NewTable returns a source that uses a table of db, which is a *sql.DB or *sqlx.DB. The servers are MariaDB 10.4 and
// later, MySQL 5.6, 5.7 and 8, Galera clusters and TiDB, with go-sql-driver/mysql, and PostgreSQL 12 and later, with
// jackc/pgx (package stdlib) or lib/pq. NewTable does not use the database. The caller closes db. Invalid arguments are
// reported by the methods.
//
// All statements must reach the primary.
//
// # The row
//
// The row of a tag has max_id, the next number that nobody has received, and step, how many numbers a Take reserves
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
// # Servers that lose writes
//
// If the server loses a Take that it has acknowledged, then the next process receives the same numbers. This can
// happen after a failover to a replica that lacked the last writes, after a backup was restored, and with settings
// that schema.sql describes under DURABILITY. A process that has received numbers of the tag notices it
// (SetBackError); others cannot, because the row has no record of the server. So an operator must raise max_id, as
// schema.sql describes. For the same reason TagConfig.UnusedBefore has no effect.
//
// # Errors
//
// A table that does not exist or has other columns, a row with impossible values, and a storage engine without
// transactions are errors that wrap ErrSource. If the table's collation does not distinguish the tag from another
// row's, the error wraps ErrNoTag and names that row. All errors of the database say what to do, and which server it
// was if WithServerName is used.
func NewTable(db DB, opts ...TableOption) *Table {
	t := &Table{db: db, cfg: tableConfig{table: DefaultTable, attemptTimeout: DefaultAttemptTimeout}}
	if sqlattempt.IsNilDB(db) {
		t.cfg.setError("the database is nil; must not be nil")
	}
	options.Apply(opts, func(o TableOption) { o.applyTable(&t.cfg) }, t.cfg.setError)
	return t
}

// String implements Source.
func (t *Table) String() string {
	if t == nil {
		return "table"
	}
	return sqlattempt.AtServer("table "+t.cfg.table, t.cfg.server)
}

// Take implements Source.
func (t *Table) Take(ctx context.Context, r Request) (Range, error) {
	if err := r.Validate(); err != nil {
		return Range{}, err
	}
	var taken Range
	err := t.try(ctx, func(ctx context.Context, a *tableAttempt) (err error) {
		taken, err = a.take(ctx, r)
		return err
	})
	if err != nil {
		return Range{}, err
	}
	return taken, nil
}

// CreateTag implements Creator. It has no use for UnusedBefore, see NewTable. The account must have the privilege to
// insert rows.
func (t *Table) CreateTag(ctx context.Context, tag string, c TagConfig) error {
	if err := CheckTag(tag); err != nil {
		return err
	}
	c, err := c.Validate()
	if err != nil {
		return err
	}
	return t.try(ctx, func(ctx context.Context, a *tableAttempt) error { return a.create(ctx, tag, c) })
}

// hidesInsertIDs reports whether a reply to an UPDATE of this table did not have the ID that it has set.
func (t *Table) hidesInsertIDs() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.noIDs
}

func (t *Table) setHidesInsertIDs() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.noIDs = true
}

// check returns the error of an invalid option, or of a value that NewTable has not made.
func (t *Table) check() error {
	if t == nil || t.db == nil && t.cfg.err == nil {
		return fmt.Errorf("%w: the Table must be created by NewTable", ErrOption)
	}
	return t.cfg.err
}
