// Package workerassign assigns worker IDs to generators. The worker ID is the part of a UID that
// distinguishes generators that run concurrently.
//
// The package has these assigners:
//
//   - [NewDisposable] inserts a row into a database table. The key that the database generates is
//     the worker ID, and it is never used again. Use it for services that share a database.
//   - [NewFile] increments a counter in a file. Use it for any number of processes on one host
//     that have no database.
//   - [Static] uses the worker ID that the caller chooses. [StaticFile] also keeps the time up to which
//     it was used in a file, so that it does not depend on the clock.
//   - [NewRecycled] leases worker IDs from a [SlotStore] and uses them again. [NewSlotFile] is a store
//     in a file, for one host. [Saved] also keeps the lease in a local file, so that a service starts
//     while the store is down.
//
// Two wrappers change the worker IDs of another assigner. [Prefix] puts a fixed number into the
// upper bits, for example the number of a data center. [Divide] leases each worker ID as several, for
// generators that often change their worker ID under load (rollover). Both take the number of worker
// bits from [Request].MaxWorkerID and append a description of what they do to [Request].Format. Their
// documentation says which wrappers may be mixed on one store.
//
// An [Assigner] that you implement yourself must keep one rule, which is invariant 1 of
// doc/design.md:
//
//	A worker ID and a time unit belong to at most one lease.
//
// This package does not know generators or layouts. The generator checks that a worker ID fits its
// layout.
package workerassign
