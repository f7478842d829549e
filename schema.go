// Package ringuid is the root of a library for distributed unique IDs, which contains the SQL scripts that create its tables. A program begins
// with package uid:
//
//	workers := workerassign.NewDisposable(db)
//	g, err := uid.NewCached(ctx, workers)
//	id, err := g.Next()
//
// The other packages:
//
//   - uid has the generators, and what an ID is.
//   - workerassign assigns a worker ID to each generator: from a table, a file, or the caller.
//   - workerassign/recycled leases worker IDs of a pool, and uses them again.
//   - segment hands out short, dense numbers for each tag.
//   - stores/sqlstore, stores/filestore, and the modules stores/redisstore, stores/etcdstore and stores/zookeeperstore are stores: open
//     one, and hand it to recycled.New for worker IDs, or to segment.New for numbers.
//   - settings configures a generator from JSON, YAML, environment variables or flags.
//   - uid/percpu and uid/opaque are for many CPUs, and for IDs in public URLs.
//   - bitsalloc and ringbuffer are what uid is built on.
//   - metrics/promcollect, a module, has collectors for Prometheus.
//   - stores/storetest tests a store of your own.
package ringuid

import _ "embed" // for the scripts

var (
	//go:embed schema.sql
	mysqlSchema string
	//go:embed schema.postgres.sql
	postgreSQLSchema string
)

// MySQLSchema returns schema.sql, the script for MySQL, MariaDB, Galera clusters and TiDB: the tables WORKER_NODE,
// WORKER_POOL, WORKER_SLOT and leaf_alloc. Its statements end with semicolons. It creates what does not exist, and changes
// nothing else. Its comments are for database administrators.
func MySQLSchema() string { return mysqlSchema }

// PostgreSQLSchema returns schema.postgres.sql, the same for PostgreSQL.
func PostgreSQLSchema() string { return postgreSQLSchema }
