#!/bin/sh
# Runs all checks and tests. It stops at the first failure, and ends all processes that it has started.
. "$(dirname "$0")/lib.sh"

scripts/install.sh
PATH=$PATH:/usr/sbin:/usr/local/sbin
export PATH

# The tests write all files to a directory of this run. Its path is unique, and identifies the processes
# that the run has started, because it is in their environment or in their arguments.
outside=${TMPDIR:-/tmp}
run=$(mktemp -d "$outside/ru.XXXXXX") # short, because the path of a socket must be short
chmod 755 "$run"
export TMPDIR="$run"

# started prints the IDs of the processes of this run, except this script. Its own processes must not have the path in their
# environment.
started() (
	export TMPDIR="$outside"
	unset RINGUID_TEST_CACHE
	if [ -r /proc/self/environ ]; then
		printf '%s\n' "$run" | grep -lsF -f - /proc/[0-9]*/environ /proc/[0-9]*/cmdline | cut -d / -f 3 | sort -u
	else
		ps -A -o pid= -o args= | grep -F "$run" | grep -vF 'grep -F' | awk '{ print $1 }'
	fi
)

# finish kills the remaining processes of the run and removes its files. It runs however the script ends.
finish() {
	status=$?
	trap - EXIT
	left=$(started || true)
	for pid in $left; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	rm -rf "$run" || true
	exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

scripts/check.sh

# The tests share the system tables of new servers here.
export RINGUID_TEST_CACHE="$run/cache"
mkdir "$run/cache"

# With this variable, a missing server is a failure.
export RINGUID_REQUIRE_SERVER=1

all=$(modules)

# race MODULE [PACKAGE…] runs the tests of a module with the race detector, those of the packages first. Three packages
# run at the same time on two CPUs, because the tests on servers wait most of the time.
race() (
	step "tests with the race detector in $1"
	cd "$1"
	shift
	go test -race -p 3 -count=1 -timeout 25m "$@" ./...
)

# The tests of the other modules mostly wait for their servers, so they run next to those of the root module: those on
# PostgreSQL by themselves, and the others one after the other, which takes as long.
(race internal/postgrestest) >"$run/postgres.log" 2>&1 &
postgres=$!
(
	for module in $all; do
		[ "$module" = . ] || [ "${module#./}" = internal/postgrestest ] || race "$module"
	done
) >"$run/nested.log" 2>&1 &
nested=$!
nice scripts/cross.sh >"$run/cross.log" 2>&1 & # uses the CPUs while the tests wait
cross=$!
race . ./workerassign ./internal/slottabletests ./uid ./internal/segmenttabletests ./segment # these take longest
status=0
wait "$postgres" || status=$?
wait "$nested" || status=$?
wait "$cross" || status=$?
cat "$run/postgres.log" "$run/nested.log" "$run/cross.log"
[ "$status" = 0 ] || exit "$status"

# With RINGUID_FULL, the tests of uniqueness run in full size. RINGUID_SIMULATION=full, which is not set here, lets
# the simulated fleets of uid live for a month and for three years.
step "larger tests without the race detector"
RINGUID_FULL=1 go test -count=1 -timeout 10m ./bitsalloc ./ringbuffer ./uid/...

go test -count=1 -timeout 5m -run "Size|CacheLine|Allocate" ./segment

step "the portable implementation of percpu"
go test -count=1 -timeout 6m -tags ringuid_portable ./uid/percpu

if [ -d examples ]; then
	step "the examples"
	go build -o "$run/examples/" ./examples/...
	[ ! -d examples/quickstart ] || XDG_STATE_HOME="$run/state" go run ./examples/quickstart
fi

FUZZTIME=${FUZZTIME:-3s} scripts/fuzz.sh

for module in $all; do
	step "each benchmark once in $module"
	(cd "$module" && go test -run '^$' -bench . -benchtime 1x -timeout 3m ./...)
done

step "the most frequent calls, compared with their limits"
(cd benchmarks && go run ./cmd/guard)

step "checking that no process remains"
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
	left=$(started)
	[ -n "$left" ] || break
	described=$(for pid in $left; do # now, because a process may be about to end
		ps -o pid= -o etime= -o stat= -o args= -p "$pid" || echo "$pid has ended meanwhile"
	done)
	sleep 1
done
if [ -n "$left" ]; then
	printf 'the tests have left these processes, which are killed now:\n%s\n' "$described" >&2
	exit 1
fi
echo "all tests and checks passed"
