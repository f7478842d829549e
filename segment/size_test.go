//go:build !race

// The race detector needs more memory. make test runs these tests without it.

package segment

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"unsafe"

	"github.com/ringuid/ringuid/internal/testkit"
)

// A Sequence with default options uses at most 8 KiB of memory, whatever the size of its ranges is. A process of its own
// measures it, so that the goroutines of other tests are not counted, and the least of five measurements counts.
func TestSizeOfSequence(t *testing.T) {
	if testkit.ChildArg() != "" {
		fmt.Println(sizeOfSequence(t))
		return
	}
	const maxSize = 8 << 10
	var size int64
	if _, err := fmt.Sscan(testkit.StartChild(t, "measure").Line(), &size); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", size)
	if size < 512 || size > maxSize {
		t.Errorf("a Sequence uses %d bytes, want at most %d", size, maxSize)
	}
}

// sizeOfSequence returns the least of five measurements of the memory of a Sequence.
func sizeOfSequence(t *testing.T) int64 {
	const measurements, count = 5, 500
	heapInUse := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc + m.StackInuse)
	}
	sequences := make([]*Sequence, 0, measurements*count)
	src := newMemorySource(1 << 30)
	least := int64(1 << 62)
	for range measurements {
		before := heapInUse()
		for range count {
			sequences = append(sequences, newTestSequence(t, src))
		}
		least = min(least, (heapInUse()-before)/count)
	}
	runtime.KeepAlive(sequences)
	return least
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
