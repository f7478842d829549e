package uid

import (
	"runtime"
	"testing"
)

// A generator of default size, its ring full, holds at most 64 KiB; the original's ring holds
// about 5 MiB.
func TestSizeOfCached(t *testing.T) {
	const count, most = 200, 64 << 10
	held := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	a := new(numbers)
	keep := make([]*Cached, count)
	before := held()
	for i := range keep {
		keep[i] = newCached(t, a)
	}
	size := (held() - before) / count
	t.Logf("%d bytes", size)
	if size < 1<<10 || size > most {
		t.Errorf("a generator holds %d bytes, want at most %d", size, most)
	}
	if fill := keep[count-1].Stats().FillLevel; fill != 1 {
		t.Errorf("the ring's fill level is %v", fill)
	}
}
