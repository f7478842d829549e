// Package workerassign grants worker IDs: the field of a UID that keeps generators apart.
//
// There are three assigners. [NewDisposable] inserts a row into a table and uses the generated
// key, once: for fleets with a database. [NewFile] counts in a file: for one host with any
// number of processes, and no database. [Static] uses the ID that the caller chooses.
//
// Two wrappers change the worker IDs of any assigner. [Prefix] puts a fixed number into their
// upper bits, such as a data centre's. [Divide] leases each as several, for generators that roll
// over often. Both take their widths from the generator's layout, in [Request].MaxWorkerID, and
// append what they do to [Request].Format. Their documentation says what may be mixed on one
// store.
//
// An [Assigner] of the user's own must keep one rule, which is invariant 1 of doc/design.md:
//
//	A worker ID and a time unit belong to one lease at most.
//
// The package knows nothing of generators or layouts: the generator checks that a worker ID fits
// its layout.
package workerassign
