// Package ringuid contains the SQL scripts that create the tables of ringuid. The generators are in package uid, the sources
// of worker IDs in package workerassign, and the numbers from segments in package segment.
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
