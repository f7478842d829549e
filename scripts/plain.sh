#!/bin/sh
# Runs tests without the race detector: those that are larger or behave differently without it. In the usual size, of the two largest
# packages only those that run only here (testkit.WithoutRace), that choose what they do by testkit.Race, or that are for invariant 3; the
# others have run with it, in a smaller size. With RINGUID_FULL=1, all in full size.
. "$(dirname "$0")/lib.sh"

names='.*'
limit=60m
if [ -z "${RINGUID_FULL-}" ]; then # a mark in the function testX is for TestX
	names=$(awk '
		FNR == 1 { name = ""; only = 0 }
		/^\/\/go:build.*!race/ { only = 1 }
		/^func / { name = $2; sub(/\(.*/, "", name); sub(/^t/, "T", name) }
		/^func Test/ && (only || /Invariant3/) || name ~ /^Test/ && /testkit\.(WithoutRace|Race)|(numberOfSeeds|capacitiesOfTests|manyTags)\(/ { print name }
	' uid/*_test.go segment/*_test.go | sort -u | paste -sd '|' -)
	[ -n "$names" ] || exit 1
	limit=20m
fi
step "tests without the race detector"
go test -vet=off -count=1 -timeout "$limit" -run "^($names)\$" ./uid ./segment
go test -vet=off -count=1 -timeout "$limit" ./ringbuffer ./uid/opaque ./uid/percpu ./workerassign/recycled # percpu has other code with the race detector

[ -n "${RINGUID_FULL-}" ] || exit 0
step "the portable implementation of percpu"
go test -vet=off -count=1 -timeout 25m -tags ringuid_portable ./uid/percpu
