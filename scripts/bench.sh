#!/bin/sh
# The benchmarks of the benchmarks module, ten times, interleaved, as a benchstat table.
. "$(dirname "$0")/lib.sh"

tools
out=$(mktemp)
trap 'rm -f "$out" "$out.round"' EXIT
for round in 1 2 3 4 5 6 7 8 9 10; do
	step "round $round of 10"
	status=0
	(cd benchmarks && go test -run '^$' -bench "${BENCH:-.}" -benchtime "${BENCHTIME:-200ms}" -timeout 10m ./...) >"$out.round" || status=$?
	cat "$out.round"
	[ "$status" = 0 ] || exit "$status"
	cat "$out.round" >>"$out"
done
step medians
tool benchstat "$out"
