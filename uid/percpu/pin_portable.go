//go:build !gc || race || ringuid_portable

package percpu

import (
	"math/rand/v2"
	"sync"
)

// ps is how many Ps there seem to be.
const ps = 8

// pins are locks that stand for Ps: who holds one is pinned.
type pins [ps]sync.Mutex

// pin picks a P, any of them, locks it and returns its number. It must be followed by unpin,
// soon, and without anything that may block in between.
func (p *pins) pin() int { return p.repin(rand.IntN(ps)) }

// repin locks P n again.
func (p *pins) repin(n int) int {
	p[n].Lock()
	return n
}

func (p *pins) unpin(n int) { p[n].Unlock() }

// count is how many Ps there are.
func (*pins) count() int { return ps }
