// Package sqlstore keeps the worker IDs of package recycled in two tables of a database: MySQL, MariaDB, Galera, TiDB or PostgreSQL.
// The scripts schema.sql and schema.postgres.sql create them:
//
//	workers := recycled.New(sqlstore.New(db))
//
// [New] says which servers and drivers, what it costs, and what a failover does.
package sqlstore
