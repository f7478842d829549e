// Package uid makes unique IDs: 64-bit, positive, roughly time-ordered, without a network
// call per ID.
//
// A UID is cut into fields by a layout, from the top: a sign bit that is always 0, the time
// in units (seconds, unless said otherwise) since an epoch, the ID of the worker that made
// it, and a sequence within that unit. The default layout is 1-28-22-13:
//
//	 63 62                          35 34                    13 12           0
//	┌──┬──────────────────────────────┬────────────────────────┬──────────────┐
//	│0 │ time: 28 bits, to 2034-07-04 │ worker: 22 bits        │ seq: 13 bits │
//	└──┴──────────────────────────────┴────────────────────────┴──────────────┘
//
// The worker ID comes from a [workerassign.Assigner] at start-up, and seldom after it: from a counter in a
// file ([workerassign.NewFile]), from an insert into a table ([workerassign.NewDisposable]),
// or from the caller ([workerassign.Static]).
//
// There are two generators. [Cached] takes UIDs from a ring that a padding goroutine keeps
// full of them: a take is one atomic add, and bursts are served with time units that the
// clock has not reached yet. [Default] stamps each UID with the time of the call, and makes
// callers wait when a unit's sequence is used up.
//
// # Which call
//
// Next of a generator is for every goroutine, and keeps the order promised below. Who takes
// many UIDs takes them cheaper by NextN into a slice, from a [Local] of the goroutine's own, or by
// the iterator [Cached.All]; package percpu has a front for many goroutines on many CPUs. Where
// a take may have to wait, NextContext bounds it.
//
// [NewFormat] reads UIDs without a generator, and [Move] judges a change of layout, epoch or time
// unit of a live fleet before it is made.
//
// # Values as text
//
// An [ID] is a string of decimal digits in JSON and in logs, and a 64-bit integer in a database, which
// package database/sql handles without help; its documentation says how to scan NULL. A [Format] is
// one line of text, "1-28-22-13 2026-01-01T00:00:00Z 1s", which [ParseFormat] reads: a fleet can keep
// it in its configuration. [Parts] are written to JSON as the original writes them, and [Stats] with
// the names that they have in a log. All of these can be read back; text of another form is an error.
//
// # What makes UIDs unique
//
// The invariants, numbered as in doc/design.md; the code that keeps one and the tests that
// check one name its number.
//
//  1. A worker ID and a time unit belong to one lease at most.
//  2. Within a lease, each (time unit, sequence) is put in at most one run, and runs are
//     disjoint.
//  3. Within a run, each UID is handed out at most once.
//  4. Time units only go up within a lease, whatever the wall clock does.
//  5. A UID is never negative and never spills from one field into the next; out of range
//     is an error, never a wrapped number.
//  6. Nothing is handed out twice to hide a failure; a lost UID (a gap) is always allowed.
//
// Not promised: no gaps, global order across workers, or that a UID's time is the instant of
// its taking. Promised, of one generator: if one call of Next returns before another starts,
// the second UID is greater, until the generator changes to another lease.
package uid
