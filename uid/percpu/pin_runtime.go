//go:build gc && !race && !ringuid_portable

package percpu

import (
	"runtime"
	_ "unsafe" // for go:linkname
)

// procPin pins this goroutine to its P, so that the scheduler cannot preempt it, and returns the P's
// number, which is less than GOMAXPROCS. No other goroutine runs on the P until procUnpin is called,
// so the data of the P needs no lock. When the scheduler gives the P to another thread, the memory
// accesses of the first thread happen before those of the second.
//
//go:linkname procPin runtime.procPin
func procPin() int

// procUnpin ends the pinning.
//
//go:linkname procUnpin runtime.procUnpin
func procUnpin()

// pins has no fields, because the runtime keeps the state.
type pins struct{}

// pin pins the goroutine to its P and returns the P's number. The caller must soon call unpin, and must
// not block before that.
func (*pins) pin() int { return procPin() }

// repin pins the goroutine to the P that it runs on now, which may be another than before, and returns
// its number.
func (*pins) repin(int) int { return procPin() }

// unpin ends the pinning.
func (*pins) unpin(int) { procUnpin() }

// count returns the number of Ps.
func (*pins) count() int { return runtime.GOMAXPROCS(0) }
