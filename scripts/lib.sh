# Functions that the scripts share. The scripts source this file. It changes to the root directory of the
# repository.

set -eu
cd "$(dirname "$0")/.."

# step HEADING prints a heading for the output that follows.
step() { printf '\n== %s  %s\n' "$(date +%T)" "$*"; }

# modules prints the directories of all modules that contain packages, the root module first. Those that take long to compile or
# to check, and that users do not download, are left out unless RINGUID_FULL is set.
modules() {
	for directory in $(find . -name go.mod -not -path '*/.*/*' -not -path '*/testdata/*' -not -path '*/vendor/*' -exec dirname {} \; | sort); do
		case ${RINGUID_FULL-}$directory in ./benchmarks | ./tools | ./examples/opentelemetry | ./examples/orm | ./internal/testkit/allstores | ./internal/testkit/gomysqltest | \
			./cmd/ringuid/internal/sqltext/sqlitetest) continue ;; esac
		[ -n "$(find "$directory" -name '*.go' | head -n 1)" ] || continue # tools/gremlins, which has only a go.mod
		echo "$directory"
	done
}

bin=$PWD/bin

# tools builds tools of tools/go.mod, in the versions that it requires. Without arguments it builds staticcheck.
tools() {
	step "building the tools"
	new=$bin/new.$$ # another part may run the same tool
	(cd tools && GOBIN=$new GOOS='' GOARCH='' go install "${@:-honnef.co/go/tools/cmd/staticcheck}")
	mv "$new"/* "$bin"
	rmdir "$new"
}

# tool NAME ARGUMENTS runs one of these tools in the current directory.
tool() {
	name=$1
	shift
	"$bin/$name" "$@"
}
