package uid

import "math/rand/v2"

// spread says at which sequence a time unit begins: a number that depends on the unit alone, so that it needs no state, and
// seems random. The zero value begins each unit at 0.
type spread struct {
	mask int64 // 2^bits - 1
	seed uint64
}

// newSpread returns a spread over 2^bits sequences that no other generator has.
func newSpread(bits int) spread {
	if bits == 0 {
		return spread{}
	}
	return spread{mask: 1<<bits - 1, seed: rand.Uint64()}
}

// first returns the first sequence of a unit, from 0 to mask.
func (s spread) first(unit int64) int64 {
	if s.mask == 0 {
		return 0
	}
	// The finalizer of SplitMix64, whose low bits depend on all bits of its input.
	x := uint64(unit)*0x9e3779b97f4a7c15 + s.seed
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int64(x^x>>31) & s.mask
}
