// Package benchmarks compares ringuid with other ID generators (the peers) and with limits, which are
// simple operations for comparison, for example one atomic add. It is a module of its own, so
// that programs that import ringuid do not download its dependencies.
//
// `make bench` at the root of the repository runs all benchmarks, writes RESULTS.md and chart.svg, and
// prints a table of medians. To run a single benchmark:
//
//	go test -run '^$' -bench 'Serial/Cached' -count 10
//
// cmd/report writes RESULTS.md. It also measures what a benchmark function cannot measure: the
// distribution of latencies, the cost of padding, and one minute on a busy machine. cmd/guard compares
// a few calls with their limits, for continuous integration.
package benchmarks
