// Package sqlstore keeps the worker IDs of package recycled, and the tags of package segment, in tables of a database: MySQL, MariaDB,
// Galera, TiDB or PostgreSQL. The scripts schema.sql and schema.postgres.sql create them:
//
//	store := sqlstore.New(db)
//	workers := recycled.New(store)
//	orders, err := segment.New(ctx, store, "orders")
//
// [New] says which servers and drivers, what it costs, and what a failover does. How to run a fleet is in doc/fleet.md, and what is
// guaranteed for tags in doc/segments.md.
package sqlstore
