//go:build !race

// The race detector needs more memory. make test runs these tests without it.

package segment

import (
	"context"
	"runtime"
	"testing"
	"unsafe"
)

// A Sequence with default options uses at most 8 KiB of memory, whatever the size of its ranges is.
func TestSizeOfSequence(t *testing.T) {
	const count, maxSize = 500, 8 << 10
	heapInUse := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	sequences := make([]*Sequence, count)
	src := newMemorySource(1 << 30)
	before := heapInUse()
	for i := range sequences {
		sequences[i] = newTestSequence(t, src)
	}
	size := (heapInUse() - before) / count
	t.Logf("%d bytes", size)
	if size < 512 || size > maxSize {
		t.Errorf("a Sequence uses %d bytes, want at most %d", size, maxSize)
	}
	runtime.KeepAlive(sequences)
}

// Next reads the encoding of each number. Nothing that is written while numbers are taken may be on its cache line.
func TestEncodingHasItsOwnCacheLine(t *testing.T) {
	const line = 64 // some processors fetch two lines at once; the padding is for the greatest of the architecture
	var s Sequence
	ringEnd := unsafe.Offsetof(s.ring) + unsafe.Sizeof(s.ring)
	if enc := unsafe.Offsetof(s.enc); enc-ringEnd < line {
		t.Errorf("the encoding is at %d, and the ring ends at %d", enc, ringEnd)
	}
}

func TestHotCallsAllocateNothing(t *testing.T) {
	for _, stride := range []int64{1, 3} {
		s := newTestSequence(t, stripesInMemory{newMemorySource(1 << 30), stride})
		ctx, batch, local := context.Background(), make([]int64, 64), s.Local()
		for name, f := range map[string]func(){
			"Next":         func() { s.Next() },
			"NextContext":  func() { s.NextContext(ctx) },
			"NextN":        func() { s.NextN(batch) },
			"NextNContext": func() { s.NextNContext(ctx, batch) },
			"Claim":        func() { s.Claim(ctx, 64) },
			"Local.Next":   func() { local.Next() },
			"Stats":        func() { s.Stats() },
			"Health":       func() { s.Health() },
		} {
			if n := testing.AllocsPerRun(1000, f); n != 0 {
				t.Errorf("%s allocates %v times", name, n)
			}
		}
		iterate := func(n int) func() {
			return func() {
				left := n
				for _, err := range s.All(ctx) {
					if left--; err != nil || left <= 0 {
						return
					}
				}
			}
		}
		if one, all := testing.AllocsPerRun(100, iterate(1)), testing.AllocsPerRun(100, iterate(1000)); one != all {
			t.Errorf("iterating allocates %v times for 1 number, %v times for 1000", one, all)
		}
	}
}
