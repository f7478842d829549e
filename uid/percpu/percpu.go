// Package percpu takes UIDs from a uid.Cached with less contention between CPUs. Each P (the
// resource of the Go runtime that a thread must hold to run goroutines; there are GOMAXPROCS of
// them) holds a small block of consecutive UIDs. On the fast path CPUs write no shared memory, and a
// take needs no atomic operation.
//
//	c, err := uid.NewCached(ctx, workers)
//	if err != nil {
//		return err
//	}
//	g := percpu.New(c)
//	defer g.Close()
//	id, err := g.Next()
//
// The price is order: a UID may be smaller than UIDs that another P took within the last schedule interval
// (a second by default), also within a goroutine, because it can move to another P. There are also
// gaps: what is left of a block when the next scheduled padding of the generator begins is lost. These
// are at most uid.MaxBlock UIDs for each P, and hardly more than were taken.
//
// If scheduled padding is on, UIDs are no older than those of the Cached generator. They are unique
// in any case. When the time bits end, or a take policy returns an error, one P may have UIDs left
// while another has none.
//
// Do not use this package if you rely on the order of uid.Cached.Next. It has no advantage for one
// goroutine (uid.Cached.Local is faster), for batches (NextN), or if UIDs are taken rarely. doc/performance.md compares the calls.
//
// A Generator is a uid.Generator. Its Stats and Format are those of the Cached generator, and so are
// the UIDs of NextN, which need no block.
//
// The package finds the current P with the runtime's function procPin, which the runtime keeps
// available for such use. Under the race detector, with the build tag ringuid_portable, and with
// compilers other than gc, it keeps blocks under locks instead. The results are the same, but slower.
package percpu
