// Package recycled leases worker IDs of a pool and uses them again, without trusting any clock. A fleet needs as many
// worker IDs as it has generators, and a few more, for any number of starts:
//
//	workers := recycled.New(store, recycled.WithName(hostname))
//	g, err := uid.NewCached(ctx, workers)
//
// The store is that of package sqlstore (two tables of a database), filestore (a file of one host), redisstore, etcdstore or
// zookeeperstore, or one of your own: see [Store]. [Saved] keeps a lease in a local file, for services that start while the
// store is down. The rules that all follow, R1 to R8, are in doc/internals/design.md, section 8; how to run a fleet is in
// doc/fleet.md.
package recycled
