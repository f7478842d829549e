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
func (g *Generator) pin() int { return g.repin(rand.IntN(ps)) }

// repin locks P p again.
func (g *Generator) repin(p int) int {
	g.pins[p].Lock()
	return p
}

func (g *Generator) unpin(p int) { g.pins[p].Unlock() }

// count is how many Ps there are.
func (g *Generator) count() int { return ps }
