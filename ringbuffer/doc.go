// Package ringbuffer is a bounded ring of runs of consecutive integers, with a lock-free
// take and a padder that keeps it filled.
//
// The ring that it follows, that of Baidu's UidGenerator, keeps one integer a slot, and
// every put and every take of it moves cache lines. Here a slot keeps a whole [Run], and a
// take is one atomic add on the counter of the run that takers are at:
//
//	takers ──► current ──► run 41 [first 5000, length 8192 | taken 811]
//	slots      … 40 · 41 · 42 · 43 · 44 …
//	                              tail ─┘   the padder puts 45 next
//
// When the current run is spent, a taker swaps in its successor by compare-and-swap and
// wakes the padder if the fill level has fallen below the threshold, or stands in for it
// ([Config].Assist). When there is no
// successor, the [TakePolicy] says what happens: [Fail], [Wait], [CallerPads] or one of the
// user's own. Runs come from a [Provider], in the padder's goroutine or, with CallerPads,
// in a taker's, but never in two at a time.
//
// # Invariants
//
// The numbers are those of doc/design.md, section 4; tests name the number they check.
//
//  2. The provider is called by one goroutine at a time, and each of its runs is put once, so a
//     provider whose runs are disjoint makes a ring whose runs are disjoint.
//  3. Within a run each integer is handed out at most once, whatever the interleaving of
//     takers, padder and lapping: it is the result of one atomic add, a run is a fresh
//     object, its bounds never change, and its counter is never set back below its length.
//     A taker that slept through a whole lap finds a spent counter.
//  6. An integer that could not be handed out is lost, never handed out again.
//
// And two of the ring's own: the current run only moves forward, so of two takes, one of
// which returns before the other starts, the second comes from the same run at a greater
// offset or from a later run; and a take returns either an integer of a run that was put
// or an error, whatever a policy does.
//
// # The user's code
//
// Providers, policies, hooks and log handlers may take their time, panic or call Close: no lock is
// held while they run, but for the token that keeps two calls of the provider apart. A panic is an
// error or a failure of the provider, and an error of theirs that wraps ErrClosed, say, is not taken
// for the ring's own.
package ringbuffer
