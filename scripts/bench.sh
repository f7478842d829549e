#!/bin/sh
# Runs all measurements. First it runs the benchmarks of the benchmarks module in ten rounds and prints a
# benchstat table. Then it measures what benchmarks cannot measure, and writes all results to
# benchmarks/RESULTS.md and its chart. With BENCH=regexp, it only prints the table of the benchmarks that
# match.
. "$(dirname "$0")/lib.sh"

tools golang.org/x/perf/cmd/benchstat
cpus=${CPUS:-2}
out=$(mktemp)
trap 'rm -f "$out" "$out.round"' EXIT

# once REGEXP CPUS runs the benchmarks that match once.
once() {
	status=0
	(cd benchmarks && go test -run '^$' -bench "$1" -benchtime "${BENCHTIME:-100ms}" -cpu "$2" .) >"$out.round" || status=$?
	cat "$out.round"
	[ "$status" = 0 ] || exit "$status"
	cat "$out.round" >>"$out"
}

# stores runs the benchmarks that ask a server for each number. Those whose server is not installed are left out.
stores() {
	for package in internal/testkit/segmenttabletests stores/redisstore; do
		(cd "$package" && go test -run '^$' -bench '^Benchmark(Numbers|INCR)$' -benchtime "${BENCHTIME:-100ms}" -cpu "$cpus" .) >"$out.round" || {
			cat "$out.round"
			continue
		}
		cat "$out.round"
		cat "$out.round" >>"$out"
	done
}

for round in 1 2 3 4 5 6 7 8 9 10; do
	step "round $round of 10"
	if [ -n "${BENCH:-}" ]; then
		once "$BENCH" "$cpus"
	else
		once 'Serial|Parallel|Batch|Construct|Tags' "$cpus"
		once 'Growth' 1,2
		stores
	fi
done

step medians
tool benchstat "$out"
[ -z "${BENCH:-}" ] || exit 0

step "latency, padding, refills, and a busy machine"
(cd benchmarks && GOMAXPROCS=$cpus go run ./cmd/report -bench "$out" -command 'make bench')
