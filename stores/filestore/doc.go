// Package filestore keeps the worker IDs of package recycled in a file, for all processes of one host. No server is required:
//
//	workers := recycled.New(filestore.New("/var/lib/myservice/slots"))
//
// [New] says what the file survives, and what it does not.
package filestore
