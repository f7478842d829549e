#!/bin/sh
# Checks the formatting of all modules, runs go vet and staticcheck, and type-checks the root module for other systems.
. "$(dirname "$0")/lib.sh"

step gofmt
unformatted=$(gofmt -l .)
if [ -n "$unformatted" ]; then
	printf 'these files are not formatted with gofmt:\n%s\n' "$unformatted" >&2
	exit 1
fi

all=$(modules)
for module in $all; do
	step "go vet in $module"
	(cd "$module" && go vet ./...)
done

tools
for module in $all; do
	step "staticcheck in $module"
	(cd "$module" && GOGC=400 tool staticcheck ./...)
done

step "type-checking for other systems"
(cd tools && go build -o "$bin/typecheck" ./typecheck)
tool typecheck windows/amd64 darwin/arm64 linux/386 linux/arm64 -- ./...

scripts/inline.sh
