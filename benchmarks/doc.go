// Package benchmarks compares ringuid with the limit, one atomic add, and with its peers. It
// is a module of its own, so that what it needs is not downloaded by those who import
// ringuid.
//
// `make bench` at the root of the repository runs everything, writes RESULTS.md and
// chart.svg, and prints a table of medians. A single one is run by
//
//	go test -run '^$' -bench 'Serial/Cached' -count 10
//
// cmd/report makes RESULTS.md, and measures what a benchmark function cannot: latency by
// histogram, the cost of padding, a minute on a busy machine. cmd/guard compares a few calls
// with their limits, for CI.
package benchmarks
