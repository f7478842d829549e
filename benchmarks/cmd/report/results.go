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

// results are the figures of the benchmarks, in seconds, one of each round, by the name that
// the benchmark printed.
type results struct {
	figures map[string][]float64
	bytes   map[string][]float64
	cpu     string
}

// read reads the output of the benchmarks.
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
		return nil, fmt.Errorf("%s has no results", path)
	}
	return r, lines.Err()
}

// median returns the middle of the values; 0 of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return (v[n/2] + v[(n-1)/2]) / 2
}

// spread returns half the distance of the quartiles, as a part of the median.
func spread(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	if n < 4 {
		return 0
	}
	return (v[n-1-n/4] - v[n/4]) / 2 / median(v)
}

// ratio returns the median of the ratios within each round.
func ratio(values, limit []float64) float64 {
	var all []float64
	for i := range min(len(values), len(limit)) {
		all = append(all, values[i]/limit[i])
	}
	return median(all)
}

// of returns the figures of a benchmark, whose name has the number of CPUs at its end unless
// that is 1.
func (r *results) figuresOf(name string, cpus int) []float64 {
	if cpus > 1 {
		name = fmt.Sprintf("%s-%d", name, cpus)
	}
	return r.figures[name]
}

// limit returns the figures of a limit in a group, or with one goroutine where the group has none.
func (r *results) limitFigures(group, name string, cpus int) []float64 {
	if values := r.figuresOf(group+"/"+name, cpus); len(values) > 0 {
		return values
	}
	return r.figuresOf("Serial/"+name, cpus)
}

// cpus is the GOMAXPROCS of the tables: the greatest there is.
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

// nanoseconds writes a time as it is read best.
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

// groups are the groups of subjects, as the tables have them.
var groups = []struct {
	name, title, unit string
	subjects          []benchmarks.Subject
}{
	{"Serial", "One goroutine", "a call", benchmarks.Serial()},
	{"Batch", "Batches, one goroutine", "a UID", benchmarks.Batch()},
	{"Parallel", "GOMAXPROCS goroutines at once", "a call, by the clock on the wall", benchmarks.Parallel()},
}

// write writes the head of RESULTS.md and the tables of the groups.
func (r *results) writeTables(w io.Writer, command string) error {
	cpus := r.maxProcs()
	rounds := len(r.figuresOf("Serial/"+benchmarks.LimitAtomicAdd, cpus))
	if rounds == 0 {
		return fmt.Errorf("there is no figure of the limit, Serial/%s", benchmarks.LimitAtomicAdd)
	}
	fmt.Fprintf(w, `# Results

Written by %s; do not edit. %s, %s/%s, %s, GOMAXPROCS=%d. Each figure is the median of %d
rounds, and in each round everything is measured once, so that what disturbs the machine for a while disturbs all alike.
The spread is half the distance of the quartiles. A ratio is the median of the rounds' ratios to a limit: to a bare
%s on one counter, alone on its cache lines; to one %s; or, for what makes no atomic operation, to a call that is
not inlined and counts in a variable of its goroutine. CPUs differ in what an atomic add costs, from 2 ns to 5 ns at one clock
rate, so the bound on such code is one in calls.

Cached generators here have the layout %s, and so a new run every 8,192 UIDs. The bound on borrowing is so far off that
no worker ID is taken meanwhile: what is measured is taking UIDs, not the disk that keeps worker IDs.

![Cost of an ID](chart.svg)
`, "`"+command+"`", runtime.Version(), runtime.GOOS, runtime.GOARCH, r.cpu, cpus, rounds,
		"`atomic.Int64.Add`", "`time.Now`", "`"+benchmarks.StandardLayout+"`")
	for _, g := range groups {
		fmt.Fprintf(w, "\n## %s\n\n| | %s | spread | of an atomic add | of its limit | to be at most |\n|---|---|---|---|---|---|\n", g.title, g.unit)
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
				relative = fmt.Sprintf("%.2f of %s", ratio(values, r.limitFigures(g.name, s.Limit, cpus)), tableName(s.Limit))
			}
			if s.MaxRatio > 0 {
				bound = fmt.Sprintf("%.2f", s.MaxRatio)
			}
			fmt.Fprintf(w, "| %s | %s | ± %.0f %% | %s | %s | %s |\n", tableName(s.Name), nanoseconds(median(values)), 100*spread(values), add, relative, bound)
		}
	}
	fmt.Fprintf(w, `
Two peers are bound by their formats, not by their code: bwmarrin/snowflake has 12 bits of sequence for a millisecond,
which is 4,096 IDs and 244 ns each; sony/sonyflake has 8 bits for 10 ms, which is 256 IDs and 39 µs each. The default
mode with the default layout is bound so too, to 8,192 a second; above it has the layout %s, which never makes it wait.
An ID of edwingeng/wuid is a number from a store and a count, at one atomic add, and has no time in it. The others make IDs of
96 to 160 bits, most of them random.

Making and closing a Cached generator of default size with a static lease takes %s and allocates %.1f KiB in all.
`, "`"+benchmarks.WideLayout+"`", nanoseconds(median(r.figuresOf("Construct", cpus))), median(r.bytes[fmt.Sprintf("Construct-%d", cpus)])/1024)
	return nil
}

// label is a subject's name as a table has it.
func tableName(name string) string {
	if peer, ok := strings.CutPrefix(name, "peer:"); ok {
		return peer
	}
	if limit, ok := strings.CutPrefix(name, "limit:"); ok {
		return "the limit, `" + limit + "`"
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

// writeGrowth writes how costs grow.
func (r *results) writeGrowth(w io.Writer) {
	fmt.Fprint(w, "\n## How the cost of a strict Next grows\n\nThe text that goes with these tables is in doc/performance.md.\n")
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
