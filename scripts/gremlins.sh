#!/bin/sh
# Makes one small change after the other to the code, and runs the short tests of the package, which must fail. gremlins says which
# changes. Arguments are directories of packages; without any, it changes all of the core packages.
#
#	FILES=a.go,b.go  only these files of them
#	WORKERS          how many changes are tested at the same time
#	VERBOSE=1        prints each change, and which test noticed it
#	SAMPLE=20        tests so many changes of each package, chosen at random, a second time, each in a program of its own
#	GREMLINS=1       gremlins also tests the changes. It compiles a program for each, which takes hours. COEFFICIENT is then how many
#	                 times as long as usual the tests may take before they count as hanging.
. "$(dirname "$0")/lib.sh"

[ $# != 0 ] || set -- bitsalloc ringbuffer workerassign stores/sqlstore stores/filestore uid settings internal/unitclock internal/leasing segment

# The path is short, because the path of a socket must be short. The directory is open, because some tests start processes of other
# users.
dir=$(mktemp -d "${TMPDIR:-/tmp}/rug.XXXXXX")
chmod 1777 "$dir"
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
step "building gremlins"
(cd tools/gremlins && GOBIN=$dir go install tool)
(cd tools && go build -o "$dir/mutants" ./mutants)

# The tests run in a copy of the code, which nobody edits in the meantime, and in which mutants that write somewhere else do no harm.
mkdir "$dir/code"
tar -c --exclude=./.git --exclude=./bin . | tar -x -C "$dir/code"
cp -R tools/mutants/choice "$dir/code/internal/mutantchoice" # which the changed code calls
cd "$dir/code"
export TMPDIR="$dir"
"$dir/mutants" -gremlins "$dir/gremlins" -files "${FILES-}" -workers "${WORKERS:-$(nproc)}" -sample "${SAMPLE:-0}" \
	${VERBOSE:+-verbose} ${GREMLINS:+-unleash -coefficient "${COEFFICIENT:-10}"} "$@"
