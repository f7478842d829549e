#!/bin/sh
# Runs the tests of workerassign and the quickstart example as Windows programs under Wine. It requires
# the Debian packages wine64 and gcc-mingw-w64-x86-64. `make test` does not run it. It passes its
# arguments to the tests, for example: scripts/wine.sh -test.run File -test.v
. "$(dirname "$0")/lib.sh"

wine=
for candidate in wine64 /usr/lib/wine/wine64 wine; do
	! command -v "$candidate" >/dev/null || { wine=$(command -v "$candidate") && break; }
done
server=$(dirname "$(readlink -f "${wine:-/}")")/wineserver64
[ -x "$server" ] || server=wineserver
cc=x86_64-w64-mingw32-gcc
if [ -z "$wine" ] || ! command -v "$cc" >/dev/null; then
	echo "please install (these are names of Debian packages): wine64 gcc-mingw-w64-x86-64" >&2
	exit 1
fi

run=$(mktemp -d "${TMPDIR:-/tmp}/ruw.XXXXXX")
export WINEPREFIX="$run/prefix" WINEDEBUG=-all WINEDLLOVERRIDES="mscoree=;mshtml=;winemenubuilder.exe="
finish() {
	status=$?
	trap - EXIT
	# These commands end only the processes of this prefix.
	if [ -d "$WINEPREFIX" ]; then
		"$server" -k >/dev/null 2>&1 || true
		"$server" -w >/dev/null 2>&1 || true
	fi
	rm -rf "$run"
	exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

step "a new Wine prefix ($("$wine" --version))"
"$wine" wineboot --init >"$run/boot" 2>&1 || {
	cat "$run/boot" >&2
	exit 1
}
# Go's runtime calls a function of a library that Wine does not have before version 9.0.
system=$WINEPREFIX/drive_c/windows/system32
[ -e "$system/bcryptprimitives.dll" ] || "$cc" -O2 -shared -o "$system/bcryptprimitives.dll" scripts/wine/bcryptprimitives.c

# os.RemoveAll uses a system call for which Wine returns an error that Go does not expect. So each test
# would fail when it removes its temporary directory. Go's fallback for old versions of Windows works, so
# the tests are built with a changed line that always uses the fallback.
step "building for windows/amd64"
export GOOS=windows GOARCH=amd64 CGO_ENABLED=0
at=$(go env GOROOT)/src/internal/syscall/windows/at_windows.go
sed 's/^\tif TestDeleteatFallback {$/\tif true {/' "$at" >"$run/at_windows.go"
if cmp -s "$at" "$run/at_windows.go"; then
	echo "$at has changed: change scripts/wine.sh so that Go uses its fallback" >&2
	exit 1
fi
printf '{"Replace": {"%s": "%s"}}\n' "$at" "$run/at_windows.go" >"$run/overlay.json"
go test -c -overlay "$run/overlay.json" -o "$run/workerassign.exe" ./workerassign
go build -o "$run/quickstart.exe" ./examples/quickstart

# Tests that require symbolic links are skipped. Wine reports success when it creates one, but does not
# create it.
step "the tests of workerassign"
skip='TestFileByLinkAndRelativePath|TestUnusableFile/a_link_to_nowhere'
unset RINGUID_REQUIRE_SERVER # there are no servers for these tests
status=0
(cd workerassign && "$wine" "$run/workerassign.exe" -test.v -test.timeout 10m -test.skip "$skip" "$@") >"$run/tests" 2>&1 || status=$?
if [ "$status" != 0 ]; then
	grep -vE '^(=== RUN|=== PAUSE|=== CONT| *--- PASS)' "$run/tests"
	exit "$status"
fi
grep -E '^--- (PASS|SKIP)|^ +--- SKIP|^[^ ]+_test.go' "$run/tests"
echo "$(grep -cE '^ *--- PASS' "$run/tests") tests and subtests passed, $(grep -cE '^ *--- SKIP' "$run/tests") were skipped; excluded: $skip"

step "three concurrent runs of the quickstart example"
for n in 1 2 3; do
	"$wine" "$run/quickstart.exe" >"$run/quickstart.$n" 2>&1 &
	eval "pid$n=$!"
done
wait "$pid1" && wait "$pid2" && wait "$pid3" || { cat "$run"/quickstart.*; exit 1; }
cat "$run/quickstart.1"
workers=$(sed -n 's/.* worker \([0-9]*\), sequence 0.*/\1/p' "$run"/quickstart.*)
echo "worker IDs at start: $(echo $workers)"
[ "$(echo "$workers" | sort -u | wc -l)" = 3 ] || exit 1
