package uid

import (
	"context"
	"runtime"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
)

// A generator with default options and a full ring uses at most 64 KiB of memory. The original's ring
// uses about 5 MiB.
func TestSizeOfCached(t *testing.T) {
	const generatorCount, maxSize = 200, 64 << 10
	heapInUse := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	a := new(disposableAssigner)
	generators := make([]*Cached, generatorCount)
	before := heapInUse()
	for i := range generators {
		generators[i] = newCached(t, a)
	}
	size := (heapInUse() - before) / generatorCount
	t.Logf("%d bytes", size)
	if size < 1<<10 || size > maxSize {
		t.Errorf("a generator uses %d bytes, want at most %d", size, maxSize)
	}
	testkit.Eventually(t, "the ring is full", func() bool { return generators[generatorCount-1].Stats().Ring.FillLevel() == 1 })
}

func TestHotCallsAllocateNothing(t *testing.T) {
	wide := WithLayout(layout(t, 31, 2, 30))
	c, d := newCached(t, new(disposableAssigner), wide), newDefault(t, new(disposableAssigner), wide)
	batch, local := make([]ID, 64), c.Local()
	for name, f := range map[string]func(){
		"Cached.Next":        func() { c.Next() },
		"Cached.NextContext": func() { c.NextContext(context.Background()) },
		"Cached.NextN":       func() { c.NextN(batch) },
		"Cached.Claim":       func() { c.Claim(context.Background(), 64) },
		"Local.Next":         func() { local.Next() },
		"Cached.Parse":       func() { c.Parse(1 << 40) },
		"Default.Next":       func() { d.Next() },
		"Default.NextN":      func() { d.NextN(batch) },
	} {
		if n := testing.AllocsPerRun(1_000, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
	// The iterator allocates when it starts, and not for each UID.
	forOne := testing.AllocsPerRun(100, func() { c.takeFromIterator(batch[:1]) })
	if forAll := testing.AllocsPerRun(100, func() { c.takeFromIterator(batch) }); forAll != forOne {
		t.Errorf("iterating allocates %v times for 1 UID, %v times for %d", forOne, forAll, len(batch))
	}
}
