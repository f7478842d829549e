# What the scripts share. They source it by its path; it goes to the root of the repository.

set -eu
cd "$(dirname "$0")/.."

# step prints the heading of what comes next.
step() { printf '\n== %s  %s\n' "$(date +%T)" "$*"; }

# modules lists the directorys of all modules that have packages: the root first.
modules() {
	for directory in $(find . -name go.mod -not -path '*/.*/*' -not -path '*/testdata/*' -not -path '*/vendor/*' -exec dirname {} \; | sort); do
		[ -n "$(find "$directory" -name '*.go' | head -n 1)" ] || continue # tools, which only pins
		packages=$(cd "$directory" && go list ./...) || return 1
		[ -z "$packages" ] || echo "$directory"
	done
}

# tools builds the tools of tools/go.mod, at the versions that it pins.
tools() {
	bin=$PWD/bin
	step "building the pinned tools"
	(cd tools && GOBIN=$bin GOOS='' GOARCH='' go install tool)
}

# tool runs one of them in the directory that it is called in.
tool() {
	name=$1
	shift
	"$bin/$name" "$@"
}
