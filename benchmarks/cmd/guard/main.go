// Command guard compares the hot calls with their limits within one process. It fails if the ratio of
// a call to its limit is more than twice Subject.MaxRatio. At that distance a lost inlining, or a
// field on the wrong cache line, is a more likely cause than a busy machine. A call that exceeds
// the bound is measured two more times before guard fails.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"testing"

	"github.com/ringuid/ringuid/benchmarks"
)

const (
	rounds    = 5
	attempts  = 3
	tolerance = 2 // the factor on MaxRatio
)

func main() {
	log.SetFlags(0)
	testing.Init()
	if err := flag.Set("test.benchtime", "30ms"); err != nil {
		log.Fatal("guard: ", err)
	}
	flag.Parse()
	failed := false
	serial := benchmarks.Serial()
	for _, group := range []struct {
		name     string
		subjects []benchmarks.Subject
	}{
		{"Serial", serial},
		{"Batch", append(serial[:3:3], benchmarks.Batch()...)}, // the first three subjects are the limits
		{"Parallel", benchmarks.Parallel()},
	} {
		for _, s := range group.subjects {
			if s.MaxRatio == 0 {
				continue
			}
			at := slices.IndexFunc(group.subjects, func(l benchmarks.Subject) bool { return l.Name == s.Limit })
			if !keepsRatio(group.name, s, group.subjects[at]) {
				failed = true
			}
		}
	}
	if failed {
		log.Print("guard: a call takes too long compared with its limit: check for a lost inlining, or a field that moved to another cache line")
		os.Exit(1)
	}
}

// keepsRatio measures a subject and its limit alternately, and reports whether their ratio is within the
// bound.
func keepsRatio(group string, s, limit benchmarks.Subject) bool {
	for range attempts {
		var ratios []float64
		for range rounds {
			ratios = append(ratios, nanosecondsPerID(s)/nanosecondsPerID(limit))
		}
		slices.Sort(ratios)
		ratio := ratios[rounds/2]
		ok := ratio <= tolerance*s.MaxRatio
		fmt.Printf("%-9s %-24s %.2f times %-24s bound %.2f, fails above %.2f  %s\n", group, s.Name, ratio, limit.Name,
			s.MaxRatio, tolerance*s.MaxRatio, map[bool]string{true: "ok", false: "EXCEEDED"}[ok])
		if ok {
			return true
		}
	}
	return false
}

// nanosecondsPerID returns how long a subject takes for one ID.
func nanosecondsPerID(s benchmarks.Subject) float64 {
	r := testing.Benchmark(s.Bench)
	if v, ok := r.Extra["ns/uid"]; ok {
		return v
	}
	if r.N == 0 {
		log.Fatalf("guard: %s failed", s.Name)
	}
	return float64(r.T.Nanoseconds()) / float64(r.N)
}
