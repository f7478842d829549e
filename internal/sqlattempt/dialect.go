package sqlattempt

import (
	"context"
	"database/sql"
	"strings"
)

// A Dialect is what is the same for all tables on a kind of server.
type Dialect struct {
	Kind    Kind
	Version string // what the server says; "" if it was not asked
}

// Detect returns the dialect of the server behind a connection.
func Detect(ctx context.Context, conn *sql.Conn) (Dialect, error) {
	var version string
	if err := conn.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return Dialect{}, err
	}
	if strings.HasPrefix(version, "PostgreSQL ") || strings.HasPrefix(version, "CockroachDB ") {
		return Dialect{Postgres, version}, nil
	}
	return Dialect{MySQL, version}, nil
}

// Base returns d: a type that embeds a Dialect has this method.
func (d Dialect) Base() Dialect { return d }

// IsTiDB reports whether the server is TiDB.
func (d Dialect) IsTiDB() bool { return d.Kind == MySQL && strings.Contains(d.Version, "TiDB") }

// IsMariaDB reports whether the server is MariaDB.
func (d Dialect) IsMariaDB() bool {
	return d.Kind == MySQL && strings.Contains(d.Version, "MariaDB") && !d.IsTiDB()
}

// Quote quotes the name of a table.
func (d Dialect) Quote(name string) (string, error) {
	if d.Kind == Postgres {
		return QuotePostgres(name)
	}
	return QuoteMySQL(name)
}

// Begin is the statement that begins a transaction. A transaction of TiDB that is not pessimistic may be executed again by the server
// when it is committed, with other results than those that it has returned. At READ COMMITTED, an update of PostgreSQL that had to
// wait for another one compares the row again. READ WRITE is not set, so that default_transaction_read_only protects a server
// during a failover.
func (d Dialect) Begin() string {
	switch {
	case d.Kind == Postgres:
		return "START TRANSACTION ISOLATION LEVEL READ COMMITTED"
	case d.IsTiDB():
		return "BEGIN PESSIMISTIC"
	}
	return "START TRANSACTION"
}

// Commit is the statement that commits a transaction. That of PostgreSQL is standard SQL: no setting changes what it does.
func (d Dialect) Commit() string {
	if d.Kind == Postgres {
		return "COMMIT"
	}
	return CommitMySQL
}

// Rollback is the statement that rolls a transaction back.
func (d Dialect) Rollback() string {
	if d.Kind == Postgres {
		return "ROLLBACK"
	}
	return RollbackMySQL
}

// Locked is the reason if the server does not answer a statement that may wait for a lock.
func (d Dialect) Locked() Reason {
	if d.Kind == Postgres {
		return ReasonLockedPostgres
	}
	return ReasonLocked
}
