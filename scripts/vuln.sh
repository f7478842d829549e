#!/bin/sh
# Runs govulncheck for each module. It requires Go's database of vulnerabilities, https://vuln.go.dev. If that cannot be
# reached, nothing was checked: the script says so, and fails.
. "$(dirname "$0")/lib.sh"

version=v1.9.0
bin=$PWD/bin
step "building govulncheck $version"
GOBIN=$bin GOOS='' GOARCH='' go install "golang.org/x/vuln/cmd/govulncheck@$version"

all=$(RINGUID_FULL=1 modules)
found='' unchecked=''
for module in $all; do
	step "govulncheck in $module"
	status=0
	(cd "$module" && "$bin/govulncheck" ./...) || status=$?
	case $status in
	0) ;;
	3) found="$found $module" ;;
	*)
		unchecked="$unchecked $module"
		echo "govulncheck could not check $module (see above). Is https://vuln.go.dev reachable from here?" >&2
		;;
	esac
done
echo
[ -z "$unchecked" ] || echo "NOT CHECKED, so nothing is known about vulnerabilities of:$unchecked" >&2
[ -z "$found" ] || echo "there are vulnerabilities in:$found" >&2
[ -z "$unchecked$found" ] && echo "no known vulnerabilities"
