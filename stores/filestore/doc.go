// Package filestore keeps the worker IDs of package recycled, and the tags of package segment, in files, for all processes of one host. No
// server is required:
//
//	store := filestore.New("/var/lib/myservice/ids")
//	workers := recycled.New(store)
//	orders, err := segment.New(ctx, store, "orders")
//
// [New] says what the files survive, and what they do not. doc/fleet.md compares it with other stores of worker IDs, and doc/segments.md
// with other sources of numbers.
package filestore
