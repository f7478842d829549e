#!/bin/sh
# Compiles the root module for other systems, and the mutation tool, some of whose files are only for these. go build compiles the
# packages, and go vet also compiles their tests.
. "$(dirname "$0")/lib.sh"

export CGO_ENABLED=0
for target in windows/amd64 darwin/arm64 linux/386 linux/arm64; do
	export GOOS="${target%/*}" GOARCH="${target#*/}"
	step "compiling for $target"
	go build ./...
	go vet ./...
	(cd tools && go vet ./mutants/...)
done
