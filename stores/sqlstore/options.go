package sqlstore

import (
	"time"
	"unicode/utf8"

	"github.com/ringuid/ringuid/internal/options"
	"github.com/ringuid/ringuid/internal/sqlattempt"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/workerassign"
)

// The default names of the tables of New, which schema.sql creates. On PostgreSQL they are worker_pool
// and worker_slot.
const (
	DefaultPoolTable = "WORKER_POOL"
	DefaultSlotTable = "WORKER_SLOT"
	DefaultTagTable  = "leaf_alloc" // the table of Leaf
)

// defaultAttemptTimeout is that of WithAttemptTimeout.
const defaultAttemptTimeout = 10 * time.Second

// An Option configures a Store. If its value is invalid, Read and Write return an error that wraps workerassign.ErrOption, and Take and
// CreateTag one that wraps segment.ErrOption.
type Option interface{ apply(*config) }

type option func(*config)

func (o option) apply(c *config) { o(c) }

type config struct {
	poolTable, slotTable string
	tagTable             string
	server               string // of WithServerName
	history              string // of WithHistory; "": the servers'
	attemptTimeout       time.Duration
	err, tagErr          error // the error of the first invalid option, for pools and for tags
}

func (c *config) setError(format string, args ...any) {
	options.SetError(&c.err, workerassign.ErrOption, "sqlstore: "+format, args...)
	options.SetError(&c.tagErr, segment.ErrOption, "sqlstore: "+format, args...)
}

// WithServerName sets what errors and log records call the server, for example "db:3306", the address in the DSN. It
// must not contain a password. Many errors of drivers do not say which server they are about: those of a server that
// refuses an account, or that accepts a connection and does not answer. The stripes of a segment.Group are told apart by their
// index; the name says which server that is. It has no other meaning.
func WithServerName(name string) Option { return option(func(c *config) { c.server = name }) }

// WithPoolTables sets the names of the two tables of a pool: each "table" or "database.table". The defaults
// are DefaultPoolTable and DefaultSlotTable. The names are quoted, so every name that the server accepts is
// allowed, except names that contain a dot.
//
// A pair of tables holds one pool, and so the worker IDs of one fleet. Several fleets in one database each
// have a pair of tables, with accounts that have privileges on that pair only.
func WithPoolTables(pool, slots string) Option {
	return option(func(c *config) {
		for _, name := range []string{pool, slots} {
			if _, err := sqlattempt.QuoteMySQL(name); err != nil {
				c.setError("%v", err)
				return
			}
		}
		if pool == slots {
			c.setError("the pool's table and the slots' table are both %q; must be different", pool)
			return
		}
		c.poolTable, c.slotTable = pool, slots
	})
}

// WithTagTable sets the name of the table of tags: "table" or "database.table", on PostgreSQL "table" or "schema.table". The
// default is DefaultTagTable. The name is quoted, so every name that the server accepts is allowed, except names that
// contain a dot.
func WithTagTable(name string) Option {
	return option(func(c *config) {
		if _, err := sqlattempt.QuoteMySQL(name); err != nil {
			c.setError("%v", err)
			return
		}
		c.tagTable = name
	})
}

// WithAttemptTimeout sets after what time an attempt fails that the server has not answered. It must be more than 0.
// The default is 10 s. If the connections of the database pool are lost, a call makes several attempts.
func WithAttemptTimeout(d time.Duration) Option {
	return option(func(c *config) {
		options.Set(&c.attemptTimeout, d, d > 0, c.setError, "the timeout of an attempt is %v; must be more than 0", d)
	})
}

// WithHistory declares that the database never loses a write that it has acknowledged, neither when a
// server is restarted nor when another server replaces it. It replaces the history that the store reads
// from the server by a name that you choose: 1 to 128 bytes. All processes of the fleet must use the same
// name. After a failover or a restart leases continue then, and no floor is set. Without WithHistory, each
// restart and each failover of a single server ends all leases, as New describes.
//
// If the declaration is wrong, UIDs are generated twice after a failover, and nothing detects it. Use
// WithHistory only in one of these cases:
//   - There is one server, which is never replaced by a replica. It runs with
//     innodb_flush_log_at_trx_commit = 1 and, if it writes a binary log, sync_binlog = 1. Its disk keeps
//     what was flushed to it, also when the machine loses power, or when the disk is attached to another
//     machine.
//   - A replica replaces the server only if it has received every acknowledged transaction, and it applies
//     all of them before it accepts connections. Semi-synchronous replication can ensure that, but only if
//     it waits before the commit (AFTER_SYNC), if its timeout is so long that it never becomes
//     asynchronous, and if the promoted replica is always the one that has received the most. All servers have the
//     two settings above. An old primary accepts no writes after the promotion.
//
// On PostgreSQL, the settings are fsync and full_page_writes, which must be on. A standby may replace the server
// only if it was synchronous (synchronous_standby_names), so that it has received every acknowledged
// transaction; synchronous_commit must not be local or remote_write then. With ANY k of n standbys, that is the one
// that has received the most, of at least n - k + 1 that are compared.
//
// After an operator has restored a backup, or has started the database from a server that lacked
// acknowledged writes, change the name before any generator reaches the database again. The new name is a
// new history: it ends all leases and sets a floor. Assigner.RaiseFloor is the alternative.
//
// The store returns an error if it finds settings with which the server can lose acknowledged writes.
func WithHistory(name string) Option {
	return option(func(c *config) {
		options.Set(&c.history, name, name != "" && len(name) <= maxHistoryLength && utf8.ValidString(name), c.setError,
			"the history's name is %q; must be 1 to %d bytes of UTF-8", name, maxHistoryLength)
	})
}

// maxHistoryLength is the greatest length of a history of WithHistory: the tables have columns for it.
const maxHistoryLength = 128
