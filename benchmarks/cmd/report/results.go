package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/ringuid/ringuid/benchmarks"
)

// results are the figures of the benchmarks. figures has the times in seconds and bytes the allocated
// bytes per operation, one for each round, indexed by the name of the benchmark as printed.
type results struct {
	figures map[string][]float64
	bytes   map[string][]float64
	cpu     string
}

// readResults reads the output of the benchmarks.
func readResults(path string) (*results, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := &results{figures: make(map[string][]float64), bytes: make(map[string][]float64)}
	lines := benchfmt.NewReader(f, path)
	for lines.Scan() {
		switch rec := lines.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, rec
		case *benchfmt.Result:
			name := rec.Name.String()
			v, ok := rec.Value("sec/uid")
			if !ok {
				v, _ = rec.Value("sec/op")
			}
			r.figures[name] = append(r.figures[name], v)
			if v, ok := rec.Value("B/op"); ok {
				r.bytes[name] = append(r.bytes[name], v)
			}
			r.cpu = rec.GetConfig("cpu")
		}
	}
	if len(r.figures) == 0 {
		return nil, fmt.Errorf("%s has no results; it must contain the output of go test -bench", path)
	}
	return r, lines.Err()
}

// median returns the median of the values, or 0 if there are none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return (v[n/2] + v[(n-1)/2]) / 2
}

// spread returns half the interquartile range, divided by the median.
func spread(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	if n < 4 {
		return 0
	}
	return (v[n-1-n/4] - v[n/4]) / 2 / median(v)
}

// ratio returns the median of the ratios of the rounds.
func ratio(values, limit []float64) float64 {
	var all []float64
	for i := range min(len(values), len(limit)) {
		all = append(all, values[i]/limit[i])
	}
	return median(all)
}

// figuresOf returns the figures of a benchmark. Its printed name ends with the number of CPUs, unless
// that is 1.
func (r *results) figuresOf(name string, cpus int) []float64 {
	if cpus > 1 {
		name = fmt.Sprintf("%s-%d", name, cpus)
	}
	return r.figures[name]
}

// limitFigures returns the figures of a limit in a group, or those with one goroutine if the group does
// not have that limit.
func (r *results) limitFigures(group, name string, cpus int) []float64 {
	if values := r.figuresOf(group+"/"+name, cpus); len(values) > 0 {
		return values
	}
	return r.figuresOf("Serial/"+name, cpus)
}

// maxProcs returns the GOMAXPROCS of the tables: the greatest one in the results.
func (r *results) maxProcs() int {
	most := 1
	for name := range r.figures {
		var n int
		if i := strings.LastIndexByte(name, '-'); i > 0 {
			if _, err := fmt.Sscanf(name[i:], "-%d", &n); err == nil && strings.HasPrefix(name, "Serial/"+benchmarks.LimitAtomicAdd) {
				most = max(most, n)
			}
		}
	}
	return most
}

// nanoseconds formats a time, given in seconds, as nanoseconds or microseconds.
func nanoseconds(sec float64) string {
	switch ns := sec * 1e9; {
	case ns == 0:
		return "–"
	case ns < 10:
		return fmt.Sprintf("%.2f ns", ns)
	case ns < 1_000:
		return fmt.Sprintf("%.0f ns", ns)
	default:
		return fmt.Sprintf("%.1f µs", ns/1e3)
	}
}

// groups are the groups of subjects, one for each table.
var groups = []struct {
	name, title, unit string
	subjects          []benchmarks.Subject
}{
	{"Serial", "One goroutine", "call", benchmarks.Serial()},
	{"Batch", "Batches, one goroutine", "UID", benchmarks.Batch()},
	{"Parallel", "GOMAXPROCS goroutines concurrently", "call (wall-clock time divided by all calls)", benchmarks.Parallel()},
}

// writeTables writes the head of RESULTS.md and the tables of the groups.
func (r *results) writeTables(w io.Writer, command string) error {
	cpus := r.maxProcs()
	rounds := len(r.figuresOf("Serial/"+benchmarks.LimitAtomicAdd, cpus))
	if rounds == 0 {
		return fmt.Errorf("there is no result of the limit Serial/%s; run that benchmark too", benchmarks.LimitAtomicAdd)
	}
	fmt.Fprintf(w, `# Results

Written by %s; do not edit. %s, %s/%s, %s, GOMAXPROCS=%d. Each figure is the median of %d
rounds. Each round measures everything once, so that a temporary disturbance of the machine affects all subjects alike.
The spread is half the interquartile range, in percent of the median. A *limit* is an operation to compare with: one bare
%s on a counter that is alone on its cache lines; one %s; or, for calls without an atomic operation,
one *call* that is not inlined and that increments a variable of its goroutine. (CPUs with the same clock rate need between
2 ns and 5 ns for an atomic add, so for such calls the bound is given as a multiple of a call.) A ratio is the median of the
rounds' ratios.

The Cached generators here have the layout %s, so each run has 8,192 UIDs. The borrow bound is so large that no
worker ID is taken during a measurement: the figures show the cost of taking UIDs, not that of the disk that stores worker IDs.
%s is the Next of package segment: see [Segments](#segments).

![Cost of an ID](chart.svg)
`, "`"+command+"`", runtime.Version(), runtime.GOOS, runtime.GOARCH, r.cpu, cpus, rounds,
		"`atomic.Int64.Add`", "`time.Now`", "`"+benchmarks.StandardLayout+"`", "`Sequence.Next`")
	for _, g := range groups {
		fmt.Fprintf(w, "\n## %s\n\n| | time per %s | spread | ratio to an atomic add | ratio to its limit | bound on the ratio |\n|---|---|---|---|---|---|\n", g.title, g.unit)
		for _, s := range g.subjects {
			values := r.figuresOf(g.name+"/"+s.Name, cpus)
			if len(values) == 0 {
				continue
			}
			add, relative, bound := "", "", ""
			if s.Limit != "" {
				add = fmt.Sprintf("%.2f", ratio(values, r.limitFigures(g.name, benchmarks.LimitAtomicAdd, cpus)))
			}
			if s.Limit != "" && s.Limit != benchmarks.LimitAtomicAdd {
				relative = fmt.Sprintf("%.2f (%s)", ratio(values, r.limitFigures(g.name, s.Limit, cpus)), tableName(s.Limit))
			}
			if s.MaxRatio > 0 {
				bound = fmt.Sprintf("%.2f", s.MaxRatio)
			}
			fmt.Fprintf(w, "| %s | %s | ± %.0f %% | %s | %s | %s |\n", tableName(s.Name), nanoseconds(median(values)), 100*spread(values), add, relative, bound)
		}
	}
	fmt.Fprintf(w, `
The formats of two peers limit their rate, whatever their code is: bwmarrin/snowflake has 12 sequence bits per millisecond, which
is 4,096 IDs per millisecond, or 244 ns per ID; sony/sonyflake has 8 bits per 10 ms, which is 256 IDs, or 39 µs per ID. The
default layout limits the mode Default too, to 8,192 UIDs per second. Above, Default has the layout %s, with which it
never waits. An ID of edwingeng/wuid consists of a number from a store and a counter, costs one atomic add, and contains no
time. The other peers generate IDs of 96 to 160 bits, most of which are random.

Creating and closing a Cached generator of default size with a static lease takes %s and allocates %.1f KiB in total.
`, "`"+benchmarks.WideLayout+"`", nanoseconds(median(r.figuresOf("Construct", cpus))), median(r.bytes[fmt.Sprintf("Construct-%d", cpus)])/1024)
	return nil
}

// tableName returns the name of a subject for a table.
func tableName(name string) string {
	if peer, ok := strings.CutPrefix(name, "peer:"); ok {
		return peer
	}
	if limit, ok := strings.CutPrefix(name, "limit:"); ok {
		return "limit `" + limit + "`"
	}
	name, layout, _ := strings.Cut(name, "/")
	if strings.HasPrefix(layout, "1-") {
		return "`" + name + "`, " + layout
	}
	if layout != "" {
		return "`" + name + "` into " + strings.ReplaceAll(layout, "/", ", ")
	}
	return "`" + name + "`"
}

// writeGrowth writes the tables of the Growth benchmarks.
func (r *results) writeGrowth(w io.Writer) {
	fmt.Fprint(w, "\n## How the cost of Cached.Next grows\n\ndoc/internals/performance.md explains these tables.\n")
	for _, g := range []struct{ name, title string }{
		{"GrowthGoroutines", "goroutines"},
		{"GrowthBoost", "boost power (1 << power runs in the ring)"},
		{"GrowthSequence", "sequence bits (1 << bits UIDs in a run)"},
	} {
		fmt.Fprintf(w, "\n| %s | GOMAXPROCS=1 | GOMAXPROCS=2 |\n|---|---|---|\n", g.title)
		var points []int
		for name := range r.figures {
			var n int
			if rest, ok := strings.CutPrefix(name, g.name+"/"); ok {
				if _, err := fmt.Sscanf(rest, "%d", &n); err == nil && !slices.Contains(points, n) {
					points = append(points, n)
				}
			}
		}
		slices.Sort(points)
		for _, n := range points {
			name := fmt.Sprintf("%s/%d", g.name, n)
			fmt.Fprintf(w, "| %d | %s | %s |\n", n, nanoseconds(median(r.figuresOf(name, 1))), nanoseconds(median(r.figuresOf(name, 2))))
		}
	}
}
