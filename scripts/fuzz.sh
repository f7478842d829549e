#!/bin/sh
# Each fuzz target of each module, for FUZZTIME.
. "$(dirname "$0")/lib.sh"

: "${FUZZTIME:=60s}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# fuzz runs one target. Where only the time is reported to be over, that is a race in go
# test itself (go.dev/issue/75804, which Go 1.27 has not), and the target runs again.
fuzz() {
	for try in 1 2 3; do
		status=0
		go test -run '^$' -fuzz "^$2\$" -fuzztime "$FUZZTIME" "$1" >"$log" 2>&1 || status=$?
		cat "$log"
		[ "$status" != 0 ] || return 0
		grep -qF 'context deadline exceeded' "$log" && ! grep -qF 'Failing input written' "$log" || return 1
		echo "go test's own race at the end of its time (try $try of 3)"
	done
	return 1
}

all=$(modules)
for module in $all; do
	cd "$module"
	# Names of targets, then a line with the name of their package.
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
