#!/bin/sh
# Runs each fuzz target of each module for FUZZTIME.
. "$(dirname "$0")/lib.sh"

: "${FUZZTIME:=60s}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log
corpus=$(go env GOCACHE)/fuzz # where go test keeps the inputs that it has found

# fuzz PACKAGE TARGET runs one target of the package whose tests were compiled, in the package's directory. If it
# reports only that its deadline was exceeded, the cause is a race in Go's fuzzing (go.dev/issue/75804, fixed in Go 1.27),
# and the target runs again.
fuzz() {
	for attempt in 1 2 3; do
		status=0
		"$work/test" -test.paniconexit0 -test.run '^$' -test.fuzz "^$2\$" -test.fuzztime "$FUZZTIME" \
			-test.fuzzcachedir "$corpus/$1" >"$log" 2>&1 || status=$?
		cat "$log"
		[ "$status" != 0 ] || return 0
		grep -qF 'context deadline exceeded' "$log" && ! grep -qF 'Failing input written' "$log" || return 1
		echo "the deadline was exceeded (attempt $attempt of 3)"
	done
	return 1
}

all=$(modules)
for module in $all; do
	cd "$module"
	packages=$(go list -f '{{.ImportPath}}:{{.Dir}}' ./...)
	for package in $packages; do
		directory=${package#*:}
		grep -qs '^func Fuzz' "$directory"/*_test.go || continue
		go test -vet=off -c -fuzz . -o "$work/test" "$directory" # for all targets of a package at once
		targets=$(cd "$directory" && "$work/test" -test.list '^Fuzz')
		for target in $targets; do
			step "$target for $FUZZTIME in ${package%%:*}"
			(cd "$directory" && fuzz "${package%%:*}" "$target") || exit 1
		done
	done
	cd "$OLDPWD"
done
