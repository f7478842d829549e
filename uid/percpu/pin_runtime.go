//go:build gc && !race && !ringuid_portable

package percpu

import (
	"runtime"
	_ "unsafe" // for go:linkname
)

// procPin keeps the scheduler from taking this goroutine off its P, and returns the P's
// number, which is below GOMAXPROCS. No other goroutine runs on the P until procUnpin, so
// that what belongs to the P needs no lock; and when the scheduler gives the P to another
// thread, it orders what the two do.
//
//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()

// pins is empty: the runtime keeps the pins.
type pins struct{}

// pin pins the goroutine to its P and returns the P's number. It must be followed by unpin,
// soon, and without anything that may block in between.
func (*pins) pin() int { return procPin() }

// repin pins again, to the P that it is now.
func (*pins) repin(int) int { return procPin() }

func (*pins) unpin(int) { procUnpin() }

// count is how many Ps there are.
func (*pins) count() int { return runtime.GOMAXPROCS(0) }
