#!/bin/sh
# Runs gremlins: it makes one small change after the other to the code, and runs the short tests of the package, which must fail.
# Arguments are directories of packages; without any, it changes all of the core packages. FILES=a.go,b.go limits it to these files of
# them, WORKERS is how many changes are tested at the same time, and COEFFICIENT how many times as long as usual the tests may take
# before they count as hanging.
. "$(dirname "$0")/lib.sh"

[ $# != 0 ] || set -- bitsalloc ringbuffer workerassign uid internal/unitclock internal/leasing segment

# The path is short, because the path of a socket must be short.
dir=$(mktemp -d "${TMPDIR:-/tmp}/rug.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
step "building gremlins"
(cd tools/gremlins && GOBIN=$dir go install tool)
go build -o "$dir/mutants" ./internal/mutants
TMPDIR=$dir "$dir/mutants" -gremlins "$dir/gremlins" -files "${FILES-}" -workers "${WORKERS:-$(nproc)}" -coefficient "${COEFFICIENT:-10}" "$@"
