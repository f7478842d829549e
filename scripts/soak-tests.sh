#!/usr/bin/env bash
# Runs `make test` again and again, each time in a fresh clone of HEAD with empty build caches, and prints a row of a table for
# each run, also for those that fail:
#
#	scripts/soak-tests.sh [CONDITION…]
#
# A condition is idle, busy (next to two endless loops), procs=1 or procs=4 (GOMAXPROCS). Without conditions: six times idle,
# four times busy, procs=1 and procs=4. SOAK_LOGS is the directory for the output of the runs (default: a new one), and
# SOAK_TARGET the target (default: test). The exit status is 1 if a run has failed.
. "$(dirname "$0")/lib.sh"

[ $# != 0 ] || set -- idle idle idle idle idle idle busy busy busy busy procs=1 procs=4
for condition; do
	case $condition in
	idle | busy | procs=*) ;;
	*)
		echo "the condition is $condition; must be idle, busy, procs=1 or procs=4" >&2
		exit 2
		;;
	esac
done
target=${SOAK_TARGET:-test}
logs=${SOAK_LOGS:-$(mktemp -d)}
mkdir -p "$logs"
work=$(mktemp -d)
loops=''
finish() {
	# shellcheck disable=SC2086 # the list has several words
	[ -z "$loops" ] || kill $loops 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

(cd "$work" && git clone -q "$OLDPWD" modules && cd modules && for m in $(RINGUID_FULL=1 modules); do (cd "$m" && go mod download); done) # not a part of the time
rm -rf "$work/modules"
scripts/install.sh >"$logs/install.log"
commit=$(git rev-parse --short HEAD)
echo "| commit | condition | began | seconds | result |"
echo "|---|---|---|---:|---|"
failed=0
for condition; do
	rm -rf "$work/clone" "$work/cache" "$work/staticcheck"
	git clone -q . "$work/clone"
	environment=(GOCACHE="$work/cache" STATICCHECK_CACHE="$work/staticcheck")
	case $condition in
	idle) ;;
	busy)
		for _ in 1 2; do
			(while :; do :; done) &
			loops="$loops $!"
		done
		;;
	procs=*) environment+=(GOMAXPROCS="${condition#procs=}") ;;
	esac
	began=$(date +'%F %T') start=$SECONDS result=pass
	log=$logs/$(date +%s)-$condition.log
	(cd "$work/clone" && env "${environment[@]}" make "$target") >"$log" 2>&1 </dev/null || {
		result="**fails**: $(grep -m 3 -oE '^ *--- FAIL: [^ ]+|^FAIL[[:space:]]+[^ ]+' "$log" | tr '\n' ' ')"
		failed=1
	}
	echo "| $commit | $condition | $began | $((SECONDS - start)) | $result |"
	if [ -n "$loops" ]; then
		# shellcheck disable=SC2086 # the list has several words
		kill $loops
		loops=''
	fi
done
echo "the output is in $logs"
exit $failed
