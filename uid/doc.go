// Package uid generates unique IDs: 64-bit, positive, roughly time-ordered, without a network call per
// ID.
//
//	workers := workerassign.NewDisposable(db) // each start takes a new worker ID from a table of your database
//	g, err := uid.NewCached(ctx, workers)
//	if err != nil {
//		return err
//	}
//	defer g.Close()
//	id, err := g.Next()
//
// doc/fleet.md says which assigner of worker IDs is for whom, doc/layout.md how wide the fields should be, and doc/time.md what
// happens when a clock is wrong. Package settings makes a generator from environment variables.
//
// A layout divides a UID into fields. From the top: a sign bit that is always 0, the time in units
// (seconds by default) since an epoch, the ID of the worker that generated it, and a sequence number
// within that unit. The default layout is 1-28-22-13:
//
//	 63 62                          35 34                    13 12           0
//	┌──┬──────────────────────────────┬────────────────────────┬──────────────┐
//	│0 │ time: 28 bits, to 2034-07-04 │ worker: 22 bits        │ seq: 13 bits │
//	└──┴──────────────────────────────┴────────────────────────┴──────────────┘
//
// A generator takes its worker ID from a [workerassign.Assigner] when it is constructed, and seldom
// after that: from an insert into a table ([workerassign.NewDisposable]), from a pool whose worker IDs are
// used again ([recycled.New]), from a counter in a file on one host ([workerassign.NewFile]), or
// from the caller ([workerassign.Static]). A worker ID of a pool is leased, and the generator extends the
// lease in the background. Health reports whether a generator can generate UIDs, and for how long it can if
// the store of its assigner is not reachable.
//
// There are two generators. [Cached] takes UIDs from a ring that a padding goroutine keeps full: a take
// is one atomic add, and bursts are served with time units that the clock has not reached yet.
// [Default] stamps each UID with the time of the call. When a unit's sequence is used up, callers wait.
//
// # Which call
//
// Next may be called by every goroutine, and keeps the order that is promised below. For bulk use,
// prefer NextN into a slice, a [Local] for one goroutine, or the iterator [Cached.All]. For many
// goroutines on many CPUs there is package percpu. NextContext and NextNContext limit how long a call waits. Both
// generators, Local and percpu have the same calls.
//
// [NewFormat] returns a [Format], which reads UIDs without a generator. [Move] checks a change of
// layout, epoch or time unit of a live fleet before it is made.
//
// # Values as text
//
// An [ID] is a string of decimal digits in JSON and in logs. Shorter forms are [ID.Base62], and [ID.Base32] for
// people who type an ID; a field of type [Base62ID], for example, has that form in JSON, and one of type [NumberID] is a
// number. In a database an ID is a 64-bit integer, and a Base62ID a text; package database/sql can write and scan both. The binary form
// has eight bytes. The documentation of ID says how to scan NULL. A [Format]
// is one line of text, "1-28-22-13 2026-01-01T00:00:00Z 1s", which [ParseFormat] reads, so that a fleet
// can keep it in its configuration. [Parts] have the JSON form of Baidu's UidGenerator. These forms
// can be read back; text of another form is an error. The JSON of [Stats] has the same keys as a log record, and is only written.
//
// # What makes UIDs unique
//
// These invariants have the same numbers in doc/internals/design.md. The code that keeps an invariant, and the
// tests that check it, name its number.
//
//  1. A worker ID and a time unit belong to at most one lease.
//  2. Within a lease, each (time unit, sequence) is put in at most one run, and runs are
//     disjoint.
//  3. Within a run, each UID is returned at most once.
//  4. Time units only increase within a lease, whatever the wall clock does.
//  5. A UID is never negative, and no field overflows into the next one. A value out of range is an
//     error, never a wrapped number.
//  6. No UID is returned twice to hide a failure. A lost UID (a gap) is always allowed.
//
// Not promised: no gaps, a global order across workers, or that a UID's time is the instant at which
// it was taken. Promised for one generator: if one call of Next returns before another one starts, the
// second UID is greater, until the generator changes to another lease.
package uid
