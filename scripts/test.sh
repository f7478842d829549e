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

# took PART notes that a part of the run has ended, and how long it took. within does so for what runs next to other
# things in a part: it began at the given time.
begun=$(date +%s)
last=$begun
took() {
	now=$(date +%s)
	printf '%5d s  %s\n' $((now - last)) "$*" >>"$run/times"
	last=$now
}
within() {
	printf '         %5d s  %s\n' $(($(date +%s) - $1)) "$2" >>"$run/times"
}

# finish kills the remaining processes of the run, removes its files, and prints how long each part took. It runs
# however the script ends.
finish() {
	status=$?
	trap - EXIT
	left=$(started || true)
	for pid in $left; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	took "the end"
	step "times"
	cat "$run/times"
	printf '%5d s  in all\n' $((last - begun))
	rm -rf "$run" || true
	exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

all=$(modules)
export RINGUID_MODULES="$all" # so that the other scripts need not search for them

scripts/check.sh
took "checks"

# The tests share the system tables of new servers here.
export RINGUID_TEST_CACHE="$run/cache"
mkdir "$run/cache"

# With this variable, a missing server is a failure.
export RINGUID_REQUIRE_SERVER=1

# race MODULE [PACKAGE…] runs the tests of a module with the race detector, those of the packages first. Three packages
# run at the same time on two CPUs, because the tests on servers wait most of the time. check.sh has vetted them.
race() (
	began=$(date +%s)
	module=$1
	shift
	step "tests with the race detector in $module"
	cd "$module" || exit 1
	status=0
	go test -race -vet=off -p 3 -count=1 -timeout 25m "$@" ./... || status=$?
	within "$began" "race detector in $module"
	exit "$status"
)

# The tests of the other modules mostly wait for their servers, so they run next to those of the root module: those on
# PostgreSQL by themselves, and the others one after the other, which takes as long. Each runs whether others fail or not.
race internal/postgrestest >"$run/postgres.log" 2>&1 &
postgres=$!
(
	status=0
	for module in $all; do
		[ "$module" = . ] || [ "${module#./}" = internal/postgrestest ] || race "$module" || status=$?
	done
	exit "$status"
) >"$run/nested.log" 2>&1 &
nested=$!
# What requires no server uses the CPUs while those tests wait.
(
	nice -n 5 scripts/cross.sh
	within "$last" "cross-compilation"
	nice -n 5 scripts/plain.sh
	within "$last" "cross-compilation, then tests without the race detector"
) >"$run/plain.log" 2>&1 &
plain=$!
race . ./workerassign ./internal/slottabletests ./uid ./internal/segmenttabletests ./segment & # these take longest
root=$!
failed=0
for part in "$root" "$postgres" "$nested" "$plain"; do
	wait "$part" || failed=$?
done
cat "$run/postgres.log" "$run/nested.log" "$run/plain.log"
took "all of these"
[ "$failed" = 0 ] || exit "$failed"

if [ -d examples ]; then
	step "the examples"
	go build -o "$run/examples/" ./examples/...
	[ ! -d examples/quickstart ] || XDG_STATE_HOME="$run/state" "$run/examples/quickstart"
	took "the examples"
fi

# The models are checked next to the fuzz targets, which take the same time whatever else runs.
proof_began=$(date +%s)
(
	scripts/proof.sh small
	within "$proof_began" "the models"
) >"$run/proof.log" 2>&1 &
proof=$!
FUZZTIME=${FUZZTIME:-3s} scripts/fuzz.sh
step "the models of the ring and of the leases"
failed=0
wait "$proof" || failed=$?
cat "$run/proof.log"
took "fuzzing, and the models"
[ "$failed" = 0 ] || exit "$failed"

for module in $all; do
	step "each benchmark once in $module"
	(
		cd "$module"
		for directory in $(go list -f '{{.Dir}}' ./...); do
			grep -qs '^func Benchmark' "$directory"/*_test.go || continue
			go test -vet=off -run '^$' -bench . -benchtime 1x -timeout 3m "$directory"
		done
	)
done
took "each benchmark once"

step "the most frequent calls, compared with their limits"
(cd benchmarks && go run ./cmd/guard)
took "the most frequent calls"

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
