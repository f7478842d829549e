// Package workerassign assigns worker IDs to generators. The worker ID is the part of a UID that
// distinguishes generators that run concurrently. A generator gets it from an [Assigner] that is passed to its constructor:
//
//	g, err := uid.NewCached(ctx, workerassign.NewDisposable(db))
//
// The package has these assigners. doc/fleet.md says which one is for whom:
//
//   - [NewDisposable] inserts a row into a database table. The key that the database generates is
//     the worker ID, and it is never used again. Use it for services that share a database.
//   - [NewFile] increments a counter in a file. Use it for any number of processes on one host
//     that have no database.
//   - [recycled.New] leases worker IDs of a pool and uses them again, without trusting any clock. A fleet
//     needs as many as it has generators, and a few more, for any number of starts. The pool is in a
//     [recycled.Store]: in two tables of a database ([sqlstore.New]), in a file on one host ([filestore.New]), in
//     Redis, ZooKeeper or etcd (the modules stores/redisstore, stores/zookeeperstore and stores/etcdstore), or in a store
//     of your own, which package assigntest tests. [recycled.Saved] also keeps the lease in a local file, so that a
//     service starts while the store is down.
//   - [Static] uses the worker ID that the caller chooses. [StaticFile] does the same, and keeps the time
//     that was used in a file, so that it does not rely on the clock.
//
// Two wrappers change the worker IDs of another assigner. [Prefix] puts a fixed number into the
// upper bits, for example the number of a data center. [Divide] leases each worker ID as several, for
// generators that often change their worker ID under load (rollover). Both take the number of worker
// bits from [Request].MaxWorkerID and append a description of what they do to [Request].Format. Their
// documentation says which wrappers may be mixed on one store.
//
// An [Assigner] that you implement yourself must keep one rule, which is invariant 1 of
// doc/internals/design.md:
//
//	A worker ID and a time unit belong to at most one lease.
//
// This package does not know generators or layouts. The generator checks that a worker ID fits its
// layout.
package workerassign
