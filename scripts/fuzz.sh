#!/bin/sh
# Runs each fuzz target of each module for FUZZTIME.
. "$(dirname "$0")/lib.sh"

: "${FUZZTIME:=60s}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# fuzz PACKAGE TARGET runs one target. If go test reports only that its deadline was exceeded, the cause
# is a race in go test itself (go.dev/issue/75804, fixed in Go 1.27), and the target runs again.
fuzz() {
	for attempt in 1 2 3; do
		status=0
		go test -run '^$' -fuzz "^$2\$" -fuzztime "$FUZZTIME" "$1" >"$log" 2>&1 || status=$?
		cat "$log"
		[ "$status" != 0 ] || return 0
		grep -qF 'context deadline exceeded' "$log" && ! grep -qF 'Failing input written' "$log" || return 1
		echo "go test exceeded its own deadline (attempt $attempt of 3)"
	done
	return 1
}

all=$(modules)
for module in $all; do
	cd "$module"
	# The output is the names of the targets of a package, and then a line with the package.
	go test -list '^Fuzz' ./... >"$log" || {
		cat "$log"
		exit 1
	}
	targets=$(awk '/^Fuzz/ { name[++n] = $1 } /^ok/ { for (i = 1; i <= n; i++) print $2 ":" name[i]; n = 0 }' "$log")
	for target in $targets; do
		step "${target##*:} for $FUZZTIME in ${target%:*}"
		fuzz "${target%:*}" "${target##*:}"
	done
	cd "$OLDPWD"
done
