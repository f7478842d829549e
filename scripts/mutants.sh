#!/bin/sh
# Applies the patches in proof/mutants, one after the other, to a copy of the code, and runs the tests of the package that the
# patch names. Each patch makes the concurrent code wrong: a store, a wake-up or a compare-and-swap is left out or moved. The tests
# must fail for each. Arguments are names of patches; without any, all are applied.
. "$(dirname "$0")/lib.sh"

copy=$(mktemp -d "${TMPDIR:-/tmp}/rum.XXXXXX")
trap 'rm -rf "$copy"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
cp -r go.mod go.sum bitsalloc ringbuffer internal "$copy"

[ $# != 0 ] || set -- proof/mutants/*.patch
survived=
for patch in "$@"; do
	name=$(basename "$patch" .patch)
	package=$(sed -n 's/^test: //p' "$patch")
	patch -s -p1 -d "$copy" <"$patch"
	if ! (cd "$copy" && go vet "$package") >"$copy/log" 2>&1; then
		cat "$copy/log" >&2
		echo "the patch $name does not compile" >&2
		exit 1
	fi
	# The package's tests take seconds. A test that hangs is a test that fails.
	if (cd "$copy" && go test -count=1 -short -timeout 60s "$package") >"$copy/log" 2>&1; then
		survived="$survived $name"
		echo "SURVIVED $name: $(head -n 1 "$patch")"
	else
		found=$(sed -n 's/^ *--- FAIL: \([A-Za-z0-9]*\).*/\1/p; s/^panic: test timed out.*/a test that hangs/p' "$copy/log" | head -n 1)
		echo "killed   $name: ${found:-$(grep -m 1 -E '^(panic|fatal error):' "$copy/log" || echo 'the test program failed')}"
	fi
	patch -s -R -p1 -d "$copy" <"$patch"
done
if [ -n "$survived" ]; then
	echo "no test notices:$survived" >&2
	exit 1
fi
