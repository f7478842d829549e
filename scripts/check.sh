#!/bin/sh
# Checks the formatting, runs go vet and staticcheck, and type-checks the root module for other systems: scripts/check.sh [MODULE…].
# Without arguments it checks those that `modules` of lib.sh prints. What is for the whole repository belongs to the root module.
# If RINGUID_USUAL is set, it does not run go vet, and staticcheck not on tests, which takes two thirds of its time.
. "$(dirname "$0")/lib.sh"

if [ $# = 0 ]; then
	all=$(modules)
	# shellcheck disable=SC2086 # the list has several words
	set -- $all
fi
tools
for module; do
	if [ -z "${RINGUID_USUAL-}" ]; then # scripts/test.sh has done it
		step "go vet in $module"
		(cd "$module" && go vet -tags ringuid_full ./...)
	fi
	step "staticcheck in $module"
	(cd "$module" && GOGC=800 GOMEMLIMIT=off tool staticcheck ${RINGUID_USUAL:+-tests=false} -tags ringuid_full ./...)
	[ "$module" = . ] || continue
	step gofmt
	unformatted=$(gofmt -l .)
	if [ -n "$unformatted" ]; then
		printf 'these files are not formatted with gofmt:\n%s\n' "$unformatted" >&2
		exit 1
	fi
	step "type-checking for other systems"
	(cd tools && go build -o "$bin/typecheck" ./typecheck)
	tool typecheck windows/386 -- ./...
	scripts/inline.sh
done
