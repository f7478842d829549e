#!/bin/sh
# Measures what a fleet of recycled worker IDs costs each slot store, on real servers that it starts, and prints a
# table in Markdown for doc/internals/fleet.md ("Measured"). It takes one and a half hours on an idle machine. HOSTS (10000) and
# SECONDS_LOADED (600) change its size. STORES names the stores to measure. A failure does not stop it: the
# table then lacks rows, and the exit status is 1. The log of the tests goes to standard error.
. "$(dirname "$0")/lib.sh"

stores=${STORES:-"file mariadb galera postgres redis zookeeper etcd"}
export RINGUID_MEASURE_HOSTS="${HOSTS:-10000}" RINGUID_MEASURE_SECONDS="${SECONDS_LOADED:-600}" RINGUID_REQUIRE_SERVER=1
PATH=$PATH:/usr/sbin:/usr/local/sbin
export PATH
RINGUID_MEASURE=$(mktemp)
export RINGUID_MEASURE
trap 'rm -f "$RINGUID_MEASURE"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# measure DIRECTORY TEST runs a test in a directory of a module.
failed=
measure() {
	step "$2 in $1" >&2
	(cd "$1" && go test -count=1 -timeout 60m -v -run "^$2\$" .) >&2 || failed="$failed $1"
}

began=$(date +%s)
for store in $stores; do
	case $store in
	file) measure internal/testkit/fleettest 'TestMeasureFile.*' ;;
	mariadb) measure internal/testkit/slottabletests TestMeasureMariaDB ;;
	galera) measure internal/testkit/slottabletests TestMeasureGalera ;;
	postgres) measure internal/testkit/postgrestest TestMeasure ;;
	redis | zookeeper | etcd) measure "stores/${store}store" TestMeasure ;;
	*)
		echo "STORES has $store; must be file, mariadb, galera, postgres, redis, zookeeper or etcd" >&2
		exit 1
		;;
	esac
done

cpu=$(awk -F ': ' '/^model name/ { print $2; exit }' /proc/cpuinfo 2>/dev/null || true)
cat <<END
Measured by \`make measure-fleet\` in $((($(date +%s) - began + 59) / 60)) minutes: $(nproc) CPUs (${cpu:-unknown}), $(uname -sr), $(go env GOVERSION), file system
$(stat -f -c %T "${TMPDIR:-/tmp}"). The servers and all clients run on this machine, and share its CPUs and its disk.

| measurement | store | measured | cost model, or bound |
|---|---|---|---|
END
sort -s -n -k 1,1 "$RINGUID_MEASURE" | cut -f 2-
if [ -n "$failed" ]; then
	echo "these failed, and rows are missing or differ from the cost model:$failed" >&2
	exit 1
fi
