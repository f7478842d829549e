// Package percpu takes UIDs from a Cached generator by the CPU: each P, which is what runs
// goroutines on a CPU, holds a small span of UIDs, so that on the fast path CPUs share
// nothing that is written, and a take needs no atomic operation.
//
// What it gives up is order: UIDs of different Ps interleave, so that a UID may be less than any
// that other Ps took since its span was claimed, which is a schedule interval ago at most; and a
// goroutine that is moved to another P may get a UID less than its last. What it costs is
// gaps: what is left of a span when the generator's schedule comes round (a second), at most
// uid.MaxBlock UIDs a P, and no more than were taken. UIDs are no older than the Cached
// generator's where there is a schedule, and no less unique. When the time bits end, or a take
// policy returns an error, one P may have UIDs left when another has none.
//
// It is not for those who need the order of a strict generator (uid.Cached.Next), and has
// nothing for those who take UIDs from one goroutine (uid.Cached.Local is faster there), in
// batches (NextN), or seldom.
//
// A Generator is a uid.Generator. Its Stats and Format are those of the Cached generator, and so are
// the UIDs of NextN, which need no span.
//
// The P is asked of the runtime by its function procPin, which the runtime keeps for such
// users. Under the race detector, with the build tag ringuid_portable, and with compilers
// other than gc, spans are kept under locks instead: the same results, more slowly.
package percpu
