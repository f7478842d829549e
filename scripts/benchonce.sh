#!/bin/sh
# Runs each benchmark of each module once, and compares the most frequent calls with their limits.
. "$(dirname "$0")/lib.sh"

all=$(modules)
for module in $all; do
	step "each benchmark once in $module"
	(
		cd "$module"
		directories=$(go list -f '{{.Dir}}' ./...) # a failure here ends the script
		for directory in $directories; do
			grep -qs '^func Benchmark' "$directory"/*_test.go || continue
			go test -vet=off -run '^$' -bench . -benchtime 1x -timeout 10m "$directory"
		done
	)
done

step "the most frequent calls, compared with their limits"
cd benchmarks
go run ./cmd/guard
