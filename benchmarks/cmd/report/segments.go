package main

import (
	"fmt"
	"io"
	"runtime"

	"github.com/ringuid/ringuid/benchmarks"
)

// segmentRows are the rows of the table of package segment.
var segmentRows = []struct {
	label, source, step string
	name                string // of the subject
	ofAll               bool   // whether the subject is in Serial and Parallel, not in SegmentSerial and SegmentParallel
}{
	{"limit `atomic.Int64.Add`", "", "", benchmarks.LimitAtomicAdd, true},
	{"`Sequence.Next`", "memory", "from 10,000, `OutageStep` (the default)", benchmarks.SequenceNext, true},
	{"`Sequence.Next`", "memory", "10,000", benchmarks.SequenceFixed, false},
	{"`Sequence.Next`, `WithCapacity(8)`", "memory", "10,000", benchmarks.SequenceCapacity, false},
	{"`Local.Next`", "memory", "10,000", benchmarks.SequenceLocal, false},
	{"`Sequence.NextN` into 64, per number", "memory", "10,000", benchmarks.SequenceNextN, false},
	{"edwingeng/wuid", "none", "2³⁶", "peer:edwingeng/wuid", true},
	{"Leaf's algorithm", "memory", "10,000", benchmarks.LeafNext, false},
	{"`Sequence.Next`", "memory", "2³⁰", benchmarks.SequenceLong, false},
	{"CosId's `SegmentChainId`", "memory", "2³⁰", benchmarks.CosIDChainLong, false},
	{"CosId's `DefaultSegmentId`", "memory", "2³⁰", benchmarks.CosIDSegmentLong, false},
	{"`Sequence.Next`", "memory", "1,000", benchmarks.SequenceShort, false},
	{"CosId's `SegmentChainId`", "memory", "from 1,000, its rule", benchmarks.CosIDChainShort, false},
	{"CosId's `DefaultSegmentId`", "memory", "1,000", benchmarks.CosIDSegmentShort, false},
	{"Leaf's algorithm", "memory", "1,000", benchmarks.LeafShort, false},
	{"`Sequence.Next`", "5 ms", "10,000", benchmarks.SequenceSlow, false},
	{"Leaf's algorithm", "5 ms", "10,000", benchmarks.LeafSlow, false},
	{"`Sequence.Next`", "5 ms", "from 10,000, `OutageStep`", benchmarks.SequenceSlowAdapt, false},
	{"Leaf's algorithm", "5 ms", "from 10,000, Leaf's rule", benchmarks.LeafSlowAdapt, false},
}

// writeSegments writes the table of package segment.
func (r *results) writeSegments(w io.Writer) {
	cpus := r.maxProcs()
	fmt.Fprintf(w, `
## Segments

Numbers of package segment. A source in memory answers at once; one of 5 ms is as slow as a database in the same data center.
"Leaf's algorithm" is that of the segment mode of Meituan's Leaf, rebuilt in Go as its authors describe it: two segments, a
read-write lock, and a thread that fetches the next segment after 10 %% of the current one. (Leaf itself is a server, so its callers
also wait for the network.) The two classes of CosId are rebuilt in Go after its source: a call that finds no number asks the
source itself, without a limit for its wait, and SegmentChainId doubles its next range each time. wuid asks its source once in 2³⁶
numbers. Each benchmark takes numbers as fast as it can, so a range of 10,000
numbers is used up in some 20 µs. If a request takes 5 ms, the source limits the rate: 5 ms per 10,000 numbers are 500 ns
per number. A step that adapts removes this limit.

| call | source | step | time per call, one goroutine | ratio to an atomic add | time per call, %d goroutines | ratio to an atomic add |
|---|---|---|---|---|---|---|
`, cpus)
	for _, row := range segmentRows {
		fmt.Fprintf(w, "| %s | %s | %s", row.label, row.source, row.step)
		for _, group := range []string{"Serial", "Parallel"} {
			from := "Segment" + group
			if row.ofAll {
				from = group
			}
			values := r.figuresOf(from+"/"+row.name, cpus)
			fmt.Fprintf(w, " | %s | %.2f", nanoseconds(median(values)), ratio(values, r.figuresOf(group+"/"+benchmarks.LimitAtomicAdd, cpus)))
		}
		fmt.Fprintln(w, " |")
	}
}

// writeTags writes what it costs to use many tags in one process.
func (r *results) writeTags(w io.Writer) error {
	bytes, goroutines, err := tagMemory(benchmarks.ManyTags)
	if err != nil {
		return err
	}
	cpus := r.maxProcs()
	cost := func(group string, tags int) string {
		return nanoseconds(median(r.figuresOf(fmt.Sprintf("Tags/%s/%d", group, tags), cpus)))
	}
	fmt.Fprintf(w, `
### Many tags

%d tags that are open in one process take %.1f KiB and %.1f goroutines each, with their names and the stacks of the goroutines.

Tags.Next finds the Sequence of a tag by its name and takes a number. With %d tags each call uses another tag than the one before, in
random order, so that neither the name nor the Sequence is in the caches of the core.

| tags | one goroutine | %d goroutines |
|---|---|---|
| 1 | %s | %s |
| %d | %s | %s |
`, benchmarks.ManyTags, bytes/1024, goroutines, benchmarks.ManyTags, cpus, cost("Serial", 1), cost("Parallel", 1),
		benchmarks.ManyTags, cost("Serial", benchmarks.ManyTags), cost("Parallel", benchmarks.ManyTags))
	return nil
}

// tagMemory returns how many bytes, and how many goroutines, an open tag requires.
func tagMemory(count int) (bytes, goroutines float64, err error) {
	used := func() float64 {
		runtime.GC()
		runtime.GC() // what finalizers and pools held
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc + m.StackInuse)
	}
	usedBefore, goroutinesBefore := used(), runtime.NumGoroutine()
	tags, names, err := benchmarks.OpenTags(count)
	if err != nil {
		return 0, 0, err
	}
	bytes = (used() - usedBefore) / float64(count)
	goroutines = float64(runtime.NumGoroutine()-goroutinesBefore) / float64(count)
	runtime.KeepAlive(names)
	return bytes, goroutines, tags.Close()
}
