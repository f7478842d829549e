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
// distribution of latencies, also while a Sequence requests its next range, the cost of padding, the
// memory of a tag, and one minute on a busy machine. cmd/guard compares a few calls with their limits,
// for continuous integration.
//
// The benchmarks that require a server are in the packages that test it, for example
// internal/testkit/segmenttabletests: one UPDATE or INSERT for each number.
package benchmarks
