// Package workerassign grants worker IDs: the field of a UID that keeps generators apart.
//
// There are three assigners. [NewDisposable] inserts a row into a table and uses the
// generated key, once: for fleets with a database. [NewFile] counts in a file: for one host
// with any number of processes, and no database. [Static] uses the ID that it is told. An
// [Assigner] of the user's own keeps the one rule, which is invariant 1 of doc/design.md:
//
//	A worker ID and a time unit belong to one lease at most.
//
// The package knows nothing of generators or layouts: that a worker ID fits the layout is
// checked by who uses it.
package workerassign
