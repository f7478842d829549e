#!/bin/sh
# Checks the formatting of all modules, and runs go vet and staticcheck.
. "$(dirname "$0")/lib.sh"

step gofmt
unformatted=$(gofmt -l .)
if [ -n "$unformatted" ]; then
	printf 'these files are not formatted with gofmt:\n%s\n' "$unformatted" >&2
	exit 1
fi

tools
all=$(modules)
for module in $all; do
	step "go vet in $module"
	(cd "$module" && go vet ./...)
	step "staticcheck in $module"
	(cd "$module" && tool staticcheck ./...)
done

scripts/inline.sh
