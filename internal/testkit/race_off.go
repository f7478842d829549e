//go:build !race

package testkit

// Race is whether the race detector is on. Large tests are smaller with it, and run in full size without it.
const Race = false
