#!/bin/sh
# Runs the tests of workerassign and the quickstart as Windows programs, under Wine: Debian's
# packages wine64 and gcc-mingw-w64-x86-64. No part of `make test`. With arguments, those go to the
# tests: scripts/wine.sh -test.run File -test.v
. "$(dirname "$0")/lib.sh"

wine=
for candidate in wine64 /usr/lib/wine/wine64 wine; do
	! command -v "$candidate" >/dev/null || { wine=$(command -v "$candidate") && break; }
done
server=$(dirname "$(readlink -f "${wine:-/}")")/wineserver64
[ -x "$server" ] || server=wineserver
cc=x86_64-w64-mingw32-gcc
if [ -z "$wine" ] || ! command -v "$cc" >/dev/null; then
	echo "please install (the names are of Debian's packages): wine64 gcc-mingw-w64-x86-64" >&2
	exit 1
fi

run=$(mktemp -d "${TMPDIR:-/tmp}/ruw.XXXXXX")
export WINEPREFIX="$run/prefix" WINEDEBUG=-all WINEDLLOVERRIDES="mscoree=;mshtml=;winemenubuilder.exe="
finish() {
	status=$?
	trap - EXIT
	# These end what runs in this prefix, and nothing else.
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
# Go's runtime takes one function of a library that Wine has had since 9.0 only.
system=$WINEPREFIX/drive_c/windows/system32
[ -e "$system/bcryptprimitives.dll" ] || "$cc" -O2 -shared -o "$system/bcryptprimitives.dll" scripts/wine/bcryptprimitives.c

# RemoveAll deletes by a call for which Wine returns an error that Go does not expect, so that
# each test would fail in the end to clear its temporary directory away. Go's fallback for old versions of
# Windows works, so the tests are built with the line that takes it.
step "building for windows/amd64"
export GOOS=windows GOARCH=amd64 CGO_ENABLED=0
at=$(go env GOROOT)/src/internal/syscall/windows/at_windows.go
sed 's/^\tif TestDeleteatFallback {$/\tif true {/' "$at" >"$run/at_windows.go"
if cmp -s "$at" "$run/at_windows.go"; then
	echo "$at has changed: scripts/wine.sh must find another way to Go's fallback" >&2
	exit 1
fi
printf '{"Replace": {"%s": "%s"}}\n' "$at" "$run/at_windows.go" >"$run/overlay.json"
go test -c -overlay "$run/overlay.json" -o "$run/workerassign.exe" ./workerassign
go build -o "$run/quickstart.exe" ./examples/quickstart

# What needs symbolic links is left out: Wine says that it has made one, and has not.
step "the tests of workerassign"
skip='TestFileByOtherNames|TestFileThatCannotBeUsed/a_link_to_nowhere'
unset RINGUID_REQUIRE_SERVER # there are no servers here
status=0
(cd workerassign && "$wine" "$run/workerassign.exe" -test.v -test.timeout 10m -test.skip "$skip" "$@") >"$run/tests" 2>&1 || status=$?
if [ "$status" != 0 ]; then
	grep -vE '^(=== RUN|=== PAUSE|=== CONT| *--- PASS)' "$run/tests"
	exit "$status"
fi
grep -E '^--- (PASS|SKIP)|^ +--- SKIP|^[^ ]+_test.go' "$run/tests"
echo "$(grep -cE '^ *--- PASS' "$run/tests") tests and subtests passed, $(grep -cE '^ *--- SKIP' "$run/tests") were skipped; left out: $skip"

step "the quickstart, three at once"
for n in 1 2 3; do
	"$wine" "$run/quickstart.exe" >"$run/quickstart.$n" 2>&1 &
	eval "pid$n=$!"
done
wait "$pid1" && wait "$pid2" && wait "$pid3" || { cat "$run"/quickstart.*; exit 1; }
cat "$run/quickstart.1"
workers=$(sed -n 's/.* worker \([0-9]*\), sequence 0.*/\1/p' "$run"/quickstart.*)
echo "worker IDs at start: $(echo $workers)"
[ "$(echo "$workers" | sort -u | wc -l)" = 3 ] || exit 1
