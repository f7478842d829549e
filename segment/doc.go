// Package segment hands out short, dense numbers without a time in them, one sequence per business tag, as the segment mode
// of Meituan's Leaf does: for order numbers, invoice numbers and tickets. A sequence takes a range of numbers from a store, and
// serves them from memory:
//
//	orders, err := segment.New(ctx, sqlstore.New(db), "orders")
//	n, err := orders.Next()
//
// The store is a [Source]: of package sqlstore (a table of a database, which Leaf's servers can share), filestore (a file of one host),
// redisstore, etcdstore or zookeeperstore, or one of your own, which package storetest tests. [Tags] is for many tags, [Daily] for numbers
// that begin again each day, and [Group] for several independent stores. doc/segments.md says what is guaranteed on which store.
package segment
