# Functions that the scripts share. The scripts source this file. It changes to the root directory of the
# repository.

set -eu
cd "$(dirname "$0")/.."

# step HEADING prints a heading for the output that follows.
step() { printf '\n== %s  %s\n' "$(date +%T)" "$*"; }

# modules prints the directories of all modules that contain packages, the root module first. RINGUID_MODULES has them
# if another script has found them before.
modules() {
	if [ -n "${RINGUID_MODULES-}" ]; then
		echo "$RINGUID_MODULES"
		return
	fi
	for directory in $(find . -name go.mod -not -path '*/.*/*' -not -path '*/testdata/*' -not -path '*/vendor/*' -exec dirname {} \; | sort); do
		[ -n "$(find "$directory" -name '*.go' | head -n 1)" ] || continue # tools, which has only a go.mod
		packages=$(cd "$directory" && go list ./...) || return 1
		[ -z "$packages" ] || echo "$directory"
	done
}

# tools builds the tools of tools/go.mod, in the versions that it requires.
tools() {
	bin=$PWD/bin
	step "building the tools"
	(cd tools && GOBIN=$bin GOOS='' GOARCH='' go install tool)
}

# tool NAME ARGUMENTS runs one of these tools in the current directory.
tool() {
	name=$1
	shift
	"$bin/$name" "$@"
}
