#!/bin/sh
# Prepares the go.mod files of all modules that users download for a release: scripts/release.sh v1.2.3
# It removes the replace directives that lead to directories of this repository, and requires the version instead.
# Then it prints the tags. doc/internals/releasing.md has the procedure.
. "$(dirname "$0")/lib.sh"

version=${1:-}
case $version in
v[0-9]*.[0-9]*.[0-9]*) ;;
*)
	echo "usage: scripts/release.sh v1.2.3" >&2
	exit 2
	;;
esac

# released prints the directories of the modules that users download, and of those that these require.
released() {
	echo .
	for parent in stores metrics cmd; do
		[ ! -d $parent ] || find $parent -name go.mod -not -path '*/testdata/*' -exec dirname {} \; | sort
	done
	echo internal/testkit/postgrestest # for tests of cmd/ringuid
}

tags=''
for module in $(released); do
	file=$module/go.mod
	for path in $(grep -o 'github\.com/ringuid/ringuid[a-z0-9/]* ' "$file" | sort -u); do
		(cd "$module" && go mod edit "-dropreplace=$path")
		if grep -Eq "^(require|	)[ 	]*$path v" "$file"; then
			(cd "$module" && go mod edit "-require=$path@$version")
		fi
	done
	if grep -n '^replace\|=>' "$file"; then
		echo "$file still has a replace directive, so go install would refuse the module" >&2
		exit 1
	fi
	if grep 'github\.com/ringuid/ringuid[a-z0-9/]* v' "$file" | grep -vF " $version"; then
		echo "$file requires another version of a module of this repository" >&2
		exit 1
	fi
	case $module in
	.) tags="$version" ;;
	*) tags="$tags $module/$version" ;;
	esac
done
echo "the tags of the release:"
printf '%s\n' $tags
