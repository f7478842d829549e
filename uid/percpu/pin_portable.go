//go:build !gc || race || ringuid_portable

package percpu

import (
	"math/rand/v2"
	"sync"
)

// ps is the number of locks, which takes the place of the number of Ps.
const ps = 8

// pins are locks that represent Ps. A goroutine that holds lock n is pinned to P n.
type pins [ps]sync.Mutex

// pin locks a random P and returns its number. The caller must soon call unpin, and must not block
// before that.
func (p *pins) pin() int { return p.repin(rand.IntN(ps)) }

// repin locks P n again and returns n.
func (p *pins) repin(n int) int {
	p[n].Lock()
	return n
}

// unpin unlocks P n.
func (p *pins) unpin(n int) { p[n].Unlock() }

// count returns the number of Ps.
func (*pins) count() int { return ps }
