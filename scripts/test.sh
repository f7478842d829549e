#!/usr/bin/env bash
# Runs the checks and the tests on real servers: scripts/test.sh, or scripts/test.sh full for everything in full size. Parts
# run at the same time; when all have ended, it fails if one has. It ends all processes that it has started.
. "$(dirname "$0")/lib.sh"

packages=3 # at the same time
limit=20m  # a package that takes longer hangs: go test prints what its goroutines wait for
session=   # a command that runs another one in a session of its own
case ${1:-usual} in
usual) ;;
full)
	export RINGUID_FULL=1 # package testkit reads it
	packages=1
	limit=2h
	session=$(command -v setsid && echo --wait) || true
	;;
*)
	echo "usage: scripts/test.sh [full]" >&2
	exit 2
	;;
esac

# Packages of the root module in which goroutines of ours meet. In the usual size, only these run with the race detector.
# Those that wait most come first.
concurrent="./stores/filestore ./uid ./segment/... ./uid/... ./workerassign/recycled ./ringbuffer ./internal/leasing ./internal/lockedfile
	./internal/safelog ./internal/sqlattempt ./internal/unitclock ./internal/workerfile"

scripts/install.sh
PATH=$PATH:/usr/sbin:/usr/local/sbin
export PATH

# hasMemory tests whether files can be in memory: whether there is much of it, and programs may be started from there.
hasMemory() (
	df -kP /dev/shm | awk 'END { exit !($4 > 8e6) }' && awk '/^MemAvailable/ { much = $2 > 12e6 } END { exit !much }' /proc/meminfo || exit
	[ ! -r /sys/fs/cgroup/memory.max ] || awk '{ exit !($1 == "max" || $1 > 12e9) }' /sys/fs/cgroup/memory.max || exit
	program=$(mktemp /dev/shm/r.XXXXX) && echo '#!/bin/sh' >"$program" && chmod 755 "$program" || exit
	status=0
	"$program" || status=$?
	rm "$program"
	exit "$status"
) 2>/dev/null

# The tests write all files to a directory of this run. Its name is unique, and identifies the processes that the run has started,
# because it is in their environment, or in their arguments, or their working directory is in it (PostgreSQL overwrites the others).
outside=${TMPDIR:-/tmp}
case $outside in
*[[:space:]]*)
	echo "TMPDIR is $outside; must have no spaces" >&2
	exit 2
	;;
esac
run=$(mktemp -d "$outside/ru.XXXXXX") # short, because the path of a socket must be short
run=$(cd "$run" && pwd -P)
chmod 755 "$run"
# On ext4, creating a file soon after many were deleted is slow. With this attribute, new directories are in other block groups.
chattr +T "$run" 2>/dev/null || true
export TMPDIR="$run"
id=${run##*/}

# Most servers write many small files, which takes a third of their time on a disk, and the linker some 100 large ones. In full
# size they are on the disk.
memory=/dev/shm/ringuid.$id
find /dev/shm -maxdepth 1 -name 'ringuid.ru.*' -user "$(id -u)" -mmin +600 -exec rm -rf {} + 2>/dev/null || true # of runs that were killed
if [ -z "${RINGUID_FULL-}" ] && hasMemory; then
	mkdir -m 755 "$memory"
	export RINGUID_TEST_MEMORY="$memory" GOTMPDIR="$memory"
fi

# started prints the IDs of the processes of this run, except this script. Its own processes must not have the name in their
# environment.
started() (
	export TMPDIR="$outside"
	unset RINGUID_TEST_CACHE RINGUID_TEST_MEMORY GOTMPDIR
	if [ -r /proc/self/environ ]; then
		{
			printf '%s\n' "$id" | grep -lsF -f - /proc/[0-9]*/environ /proc/[0-9]*/cmdline || true
			find /proc/[0-9]*/cwd -prune -lname "*$id/*" 2>/dev/null
		} | cut -d / -f 3 | sort -u
	else
		ps -A -o pid= -o args= | grep -F "$id" | grep -vF 'grep -F' | awk '{ print $1 }'
	fi
)

# took SECONDS WHAT notes how long a part of the run took.
took() { printf '%5d s  %s\n' "$1" "$2" >>"$run/times"; }

# finish kills the remaining processes of the run, removes its files, and prints how long each part took. It runs
# however the script ends.
finish() {
	status=$?
	trap '' INT TERM HUP # a process group and make may both send it
	trap - EXIT
	for part in $(jobs -pr); do # with all that it has started: it would start something else when that ends
		kill -KILL -- "-$part" || true
	done 2>/dev/null
	wait 2>/dev/null
	for pid in $(started || true); do
		kill -KILL "$pid" 2>/dev/null || true
	done
	cat "$run"/*.log 2>/dev/null || true # of parts that have not ended
	step "times"
	cat "$run/times"
	printf '%5d s  in all\n' "$SECONDS"
	rm -rf "$run" "$memory" || true
	exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

: >"$run/times"
all=$(modules)

# The tests share the system tables of new servers here.
export RINGUID_TEST_CACHE="$run/cache"
mkdir "$run/cache"

# Nearly half of the time goes into compiling. Without debug information, with garbage collection only in a process that
# has used 600 MiB, and without inlining in the modules of others, which are not under test, it takes a third less. Tests
# collect garbage as usual.
export GOGC=off GOMEMLIMIT=600MiB
usually="env -u GOGC -u GOMEMLIMIT" # runs a program so
GOFLAGS="${GOFLAGS-} '-exec=$usually' -buildvcs=false" # git refuses a clone of another user
if [ -n "${RINGUID_FULL-}" ]; then # its benchmarks measure peers, too
	GOFLAGS="$GOFLAGS -gcflags=all=-dwarf=false"
else
	GOFLAGS="$GOFLAGS '-gcflags=all=-dwarf=false -l'"
	for inlined in std github.com/ringuid/ringuid/... honnef.co/...; do # staticcheck is one of the modules of honnef.co
		GOFLAGS="$GOFLAGS -gcflags=$inlined=-dwarf=false"
	done
fi
export GOFLAGS

# With this variable, a missing server is a failure.
export RINGUID_REQUIRE_SERVER=1

# gotest DIRECTORY ARGUMENT… runs tests of a module. check.sh vets them. Several packages run at the same time, because the tests
# on servers wait most of the time; in full size one for each part, because dozens of processes take UIDs in each. There each has a
# session of its own: Linux then gives the parts equal shares of the processors, however many processes each has (sched(7), autogroup).
gotest() (
	began=$SECONDS
	directory=$1
	shift
	step "go test $* in $directory"
	cd "$directory"
	status=0
	$session go test -vet=off -p "$packages" -count=1 -timeout "$limit" "$@" || status=$?
	took $((SECONDS - began)) "  go test in $directory"
	exit "$status"
)

# nested MODULES ARGUMENT… runs the tests of nested modules one after the other.
nested() {
	modules=$1 status=0
	shift
	for module in $modules; do
		gotest "$module" "$@" ./... || status=$?
	done
	return "$status"
}

# without MODULE… prints all nested modules but these.
without() {
	printf '%s\n' "$all" | grep -vxF -e . "${@/#/-e./}"
}

# The parts that run at the same time.
parts=''
# part NAME COMMAND… starts a part, in a process group of its own. Its output is printed when it has ended.
part() {
	name=$1
	shift
	set -m
	(
		began=$SECONDS status=0
		"$@" || status=$?
		took $((SECONDS - began)) "$name"
		exit "$status"
	) >"$run/$name.log" 2>&1 </dev/null &
	set +m
	parts="$parts $!:$name"
}

# await waits for all parts, and prints what each has printed.
await() {
	failed=''
	for started in $parts; do
		wait "${started%%:*}" || failed="$failed ${started#*:}"
		cat "$run/${started#*:}.log"
		rm "$run/${started#*:}.log"
	done
	parts=''
	if [ -n "$failed" ]; then
		echo "these parts have failed:$failed" >&2
		exit 1
	fi
}

# examples PACKAGE… builds examples, and runs the one that the README begins with.
examples() {
	step "the examples"
	go build -o "$run/examples/" "$@" && $usually XDG_STATE_HOME="$run/state" "$run/examples/quickstart"
}

# others PACKAGE… prints the packages of the root module without these.
others() {
	go list "$@" >"$run/these" && go list ./... >"$run/all" && grep -vxF -f "$run/these" "$run/all"
}

# vet vets a module, and so compiles what its tests are compiled with: parts that start at the same time with an empty cache
# would all compile the same packages.
vet() (
	step "go vet in $1"
	cd "$1"
	go vet ./...
)

if [ -z "${RINGUID_FULL-}" ]; then
	# shellcheck disable=SC2086 # the list has several words
	part race gotest . -race $concurrent
	packages=2 # what only waits for a processor takes its caches from others
	export RINGUID_USUAL=yes # for scripts/check.sh
	vet .
	# shellcheck disable=SC2086 # the list has several words
	remaining=$(others $concurrent) # a failure here ends the script: without packages, go test would run those of one directory
	# shellcheck disable=SC2086 # the list has several words
	part others gotest . $remaining
	part plain nice -n 5 scripts/plain.sh # it only computes, as the checks do: what waits for servers begins earlier
	part examples examples ./examples/quickstart # the others are vetted
	part checks nice -n 5 scripts/check.sh
	first="internal/testkit/postgrestest stores/zookeeperstore cmd/ringuid stores/etcdstore stores/redisstore" # they wait longest, and the command is compiled longest
	# shellcheck disable=SC2086 # the list has several words
	for module in $first $(without $first); do
		vet "$module"
		name=${module#./}
		part "${name//\//-}" nested "$module"
	done
	await
else
	scripts/check.sh
	tables="./internal/testkit/slottabletests ./internal/testkit/segmenttabletests" # they wait most of the time
	longest="./workerassign ./uid ./segment"
	# shellcheck disable=SC2086 # the lists have several words
	remaining=$(others $tables $longest)
	# longestInFull runs the tests that take longest.
	longestInFull() {
		# shellcheck disable=SC2086 # the list has several words
		gotest . -race $longest && scripts/plain.sh
	}
	# root runs the other tests of the root module, and what requires no server.
	root() {
		# shellcheck disable=SC2086 # the list has several words
		gotest . -race $remaining && examples ./examples/... && scripts/cross.sh && scripts/proof.sh full && scripts/proof.sh small &&
			$usually FUZZTIME="${FUZZTIME:-3s}" scripts/fuzz.sh
	}
	# nestedInFull runs the tests of the nested modules, without the command's. The race detector would make three of them many times as
	# expensive: those on PostgreSQL start hundreds of processes, and the same goroutines run with it in the tests on MariaDB; those of
	# the benchmarks take 110 million numbers in one goroutine; those on SQLite compute in SQLite, with one connection.
	nestedInFull() {
		plain="internal/testkit/postgrestest benchmarks cmd/ringuid/internal/sqltext/sqlitetest" status=0
		nested "$plain" || status=$?
		# shellcheck disable=SC2086 # the list has several words
		nested "$(without $plain cmd/ringuid)" -race && return "$status"
	}
	# shellcheck disable=SC2086 # the list has several words
	part tables gotest . -race $tables
	part longest longestInFull
	part root root
	part nested nestedInFull
	part command nested cmd/ringuid -race -tags ringuid_full
	await
	scripts/benchonce.sh # alone, because it measures
fi

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
