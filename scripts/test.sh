#!/bin/sh
# All that is checked of a change. Stops at the first failure, and leaves nothing running.
. "$(dirname "$0")/lib.sh"

scripts/install.sh
PATH=$PATH:/usr/sbin:/usr/local/sbin
export PATH

# All that the tests write goes to a directory of this run. Its path, unique to the run, is
# also how to know the processes that the run has started: it is in their environment, or
# among their arguments.
outside=${TMPDIR:-/tmp}
run=$(mktemp -d "$outside/ru.XXXXXX") # short, because the path of a socket must be
chmod 755 "$run"
export TMPDIR="$run"

# started lists the processes of the run but for this script's own.
started() (
	export TMPDIR="$outside"
	if [ -r /proc/self/environ ]; then
		printf '%s\n' "$run" | grep -lsF -f - /proc/[0-9]*/environ /proc/[0-9]*/cmdline | cut -d / -f 3 | sort -u
	else
		ps -A -o pid= -o args= | grep -F "$run" | grep -vF 'grep -F' | awk '{ print $1 }'
	fi
)

# finish ends what the run has left, however the script ends.
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
scripts/cross.sh

# Where this is set, a missing server is a failure.
export RINGUID_REQUIRE_SERVER=1

all=$(modules)
for module in $all; do
	step "tests with the race detector in $module"
	(cd "$module" && go test -race -count=1 -timeout 10m ./...)
done

# RINGUID_FULL marks the pass in which the tests of uniqueness take their full size.
step "tests without the race detector, which are larger"
RINGUID_FULL=1 go test -count=1 -timeout 10m ./bitsalloc ./ringbuffer ./uid/...

step "the portable form of percpu"
go test -count=1 -timeout 6m -tags ringuid_portable ./uid/percpu

if [ -d examples ]; then
	step "the examples"
	go build -o "$run/examples/" ./examples/...
	[ ! -d examples/quickstart ] || XDG_STATE_HOME="$run/state" go run ./examples/quickstart
fi

FUZZTIME=${FUZZTIME:-4s} scripts/fuzz.sh

for module in $all; do
	step "each benchmark once in $module"
	(cd "$module" && go test -run '^$' -bench . -benchtime 1x -timeout 3m ./...)
done

step "the hot calls beside their limits"
(cd benchmarks && go run ./cmd/guard)

step "nothing is left running"
for _ in 1 2 3 4 5 6 7 8 9 10; do
	left=$(started)
	[ -n "$left" ] || break
	sleep 1 # it may be about to end
done
if [ -n "$left" ]; then
	echo "processes that the tests have left, and that are ended now:" >&2
	for pid in $left; do
		ps -o pid=,args= -p "$pid" >&2 || true
	done
	exit 1
fi
echo "all is well"
