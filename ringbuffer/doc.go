// Package ringbuffer implements a bounded ring of runs of consecutive integers. Takes are lock-free,
// and a background goroutine, the padder, keeps the ring filled. Package uid takes UIDs from one, and package segment numbers; use it
// by itself for integers of your own:
//
//	r, err := ringbuffer.New(ctx, ringbuffer.Config{Provider: provider})
//	if err != nil {
//		return err
//	}
//	defer r.Close()
//	n, err := r.Take(ctx)
//
// The ring of Baidu UidGenerator ("the original") holds one integer per slot, and every put and
// every take moves cache lines between CPUs. Here a slot holds a whole [Run], and a take is one
// atomic add on the counter of the current run:
//
//	takers ──► current ──► run 41 [first 5000, length 8192 | taken 811]
//	slots      … 40 · 41 · 42 · 43 · 44 …
//	                              tail ─┘   the padder puts 45 next
//
// When the current run is used up, a taker replaces it with its successor by compare-and-swap. If
// the fill level has then fallen below the threshold, that taker also wakes the padder, or puts a
// run itself ([Config].Assist). If there is no successor, the [TakePolicy] decides: [Fail], [Wait],
// [CallerPads], or a policy that the program implements. Runs come from a [Provider]. The padder calls it, and with
// CallerPads a taker may, but never two goroutines concurrently: each has its turn, in which it requests a
// run and puts it. A ring without a provider is filled by [Ring.Put] instead.
//
// # Invariants
//
// The numbers are those of doc/internals/design.md, section 4. Tests name the number that they check.
//
//  2. Only one goroutine calls the provider at any time, and each run that it returns is put once.
//     So if the provider's runs are disjoint, the runs of the ring are disjoint.
//  3. Each integer of a run is handed out at most once, in whatever order takers and the padder are
//     scheduled. A taker gets its integers by one atomic add. Every run is a new object, even if it
//     reuses a slot. The bounds of a run never change, and its counter is never set back below its
//     length. So a taker that was suspended while all slots were reused finds a run that is used
//     up.
//  6. An integer that could not be handed out is lost. It is never handed out again.
//
// The ring guarantees two more:
//
//   - The current run only moves forward. If one take returns before another starts, the second
//     takes from the same run at a greater offset, or from a later run.
//   - A take returns either an integer of a run that was put, or an error, whatever a policy does.
//
// # User code
//
// Providers, policies, hooks and log handlers may run for long or call Close. The ring holds no lock
// while they run, except the turn while the provider runs. If an error of theirs wraps ErrClosed or
// ErrExhausted where only the ring may report it, errors.Is does not find it there.
//
// A panic stays a panic. In a take, a put or Drop, a caller that recovers can use the ring as before;
// New and Init have closed it. In the padder it ends the process, and runtime.Goexit ends the padder.
package ringbuffer
