#!/bin/sh
# Applies the patches in proof/mutants, one after the other, to a copy of the code, and runs the tests of the package that the
# patch names. Each patch makes the concurrent code wrong: a store, a wake-up or a compare-and-swap is left out or moved. The tests
# must fail for each. Arguments are patches, or directories of packages, for the patches of these; without any, all are applied.
#
# The first line of a patch says what is wrong. A line "test: ./package" names the package, and may continue with flags of go test:
# "test: ./package -short=false -run TestX".
. "$(dirname "$0")/lib.sh"

copy=$(mktemp -d "${TMPDIR:-/tmp}/rum.XXXXXX")
trap 'rm -rf "$copy"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
mkdir "$copy/code"
tar -c --exclude=./.git --exclude=./bin . | tar -x -C "$copy/code"

[ $# != 0 ] || set -- proof/mutants/*.patch
patches=
for argument in "$@"; do
	case $argument in
	*.patch) patches="$patches $argument" ;;
	*) patches="$patches $(grep -lE "^test: \./${argument#./}( |$)" proof/mutants/*.patch || true)" ;;
	esac
done
survived=
for patch in $patches; do
	name=$(basename "$patch" .patch)
	arguments=$(sed -n 's/^test: //p' "$patch")
	patch -s -p1 -d "$copy/code" <"$patch"
	if ! (cd "$copy/code" && go vet "${arguments%% *}") >"$copy/log" 2>&1; then
		cat "$copy/log" >&2
		echo "the patch $name does not compile" >&2
		exit 1
	fi
	# The package's tests take seconds. A test that hangs is a test that fails.
	# shellcheck disable=SC2086 # the line has several arguments
	if (cd "$copy/code" && go test -count=1 -short -timeout 60s $arguments) >"$copy/log" 2>&1; then
		survived="$survived $name"
		echo "SURVIVED $name: $(head -n 1 "$patch")"
	else
		found=$(sed -n 's/^ *--- FAIL: \([A-Za-z0-9]*\).*/\1/p; s/^panic: test timed out.*/a test that hangs/p' "$copy/log" | head -n 1)
		echo "killed   $name: ${found:-$(grep -m 1 -E '^(panic|fatal error):' "$copy/log" || echo 'the test program failed')}"
	fi
	patch -s -R -p1 -d "$copy/code" <"$patch"
done
if [ -n "$survived" ]; then
	echo "no test notices:$survived" >&2
	exit 1
fi
