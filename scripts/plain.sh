#!/bin/sh
# Runs tests without the race detector: in the usual size those that run only here, or look whether numbers are unique at full speed
# (invariant 3); the others have run with it. With RINGUID_FULL=1, all in full size.
. "$(dirname "$0")/lib.sh"

names=.*
if [ -z "${RINGUID_FULL-}" ]; then
	names=$(find ringbuffer uid segment workerassign/recycled -name '*_test.go' -exec awk '
		FNR == 1 { name = ""; only = 0 }
		/^\/\/go:build.*!race/ { only = 1 }
		/^func / { name = $2; sub(/\(.*/, "", name); sub(/^t/, "T", name) } # testX is a part of TestX
		/^func Test/ && (only || /Invariant3/) || /testkit\.(WithoutRace|Race)|numberOfSeeds\(/ && name ~ /^Test/ { print name }
	' {} + | sort -u | paste -sd '|' -)
fi
step "tests without the race detector"
go test -vet=off -count=1 -timeout 60m -run "^($names)\$" ./ringbuffer ./uid/... ./segment ./workerassign/recycled

[ -n "${RINGUID_FULL-}" ] || exit 0
step "the portable implementation of percpu"
go test -vet=off -count=1 -timeout 25m -tags ringuid_portable ./uid/percpu
