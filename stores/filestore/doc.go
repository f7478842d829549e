// Package filestore keeps the worker IDs of package recycled, and the tags of package segment, in files, for all processes of one host. No
// server is required:
//
//	store := filestore.New("/var/lib/myservice/ids")
//	workers := recycled.New(store)
//	orders, err := segment.New(ctx, store, "orders")
//
// [New] says what the files survive, and what they do not.
package filestore
