#!/bin/sh
# Formatting, vet and staticcheck of all modules.
. "$(dirname "$0")/lib.sh"

step gofmt
unformatted=$(gofmt -l .)
if [ -n "$unformatted" ]; then
	printf 'gofmt would change:\n%s\n' "$unformatted" >&2
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
