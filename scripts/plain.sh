#!/bin/sh
# Runs the tests that are larger, or behave differently, without the race detector.
. "$(dirname "$0")/lib.sh"

# The large tests of uniqueness take 200 million UIDs. Simulations have a part of their full size. With RINGUID_FULL=1 they
# have all of it, and with RINGUID_SIMULATION=full the simulated fleets of uid live for a month and for three years.
step "tests without the race detector"
RINGUID_UIDS=200000000 go test -vet=off -count=1 -timeout 25m ./bitsalloc ./ringbuffer ./uid/percpu ./uid/opaque
RINGUID_UIDS=200000000 go test -vet=off -count=1 -timeout 25m -run "Invariant|Simulation|Alloc|Random|Fleet|Deployments|Overload|Spread|Idle|Limit|Width|Share" ./uid
go test -vet=off -count=1 -timeout 25m -run "Size|CacheLine|Allocate" ./segment
go test -vet=off -count=1 -timeout 25m -run "Crowd|ManyHosts|RollingDeployments|RandomHistories" ./workerassign
go test -vet=off -count=1 -timeout 25m -run "Upkeep|StartsQueued" ./internal/fleettest

step "the portable implementation of percpu"
go test -count=1 -timeout 25m -tags ringuid_portable ./uid/percpu
