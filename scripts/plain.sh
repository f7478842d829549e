#!/bin/sh
# Runs tests without the race detector: those that are larger or behave differently without it, and, in the usual size, those that run only
# here (testkit.WithoutRace). With RINGUID_FULL=1, in full size.
. "$(dirname "$0")/lib.sh"

step "tests without the race detector"
go test -vet=off -count=1 -timeout 60m ./ringbuffer ./uid/... ./segment ./workerassign/recycled

[ -n "${RINGUID_FULL-}" ] || exit 0
step "the portable implementation of percpu"
go test -vet=off -count=1 -timeout 25m -tags ringuid_portable ./uid/percpu
