#!/bin/sh
# The fast paths are inlined. A lost inlining costs some per cent of a take, which no timing on a
# noisy machine tells from noise; so the compiler is asked.
. "$(dirname "$0")/lib.sh"

step "inlining of the fast paths"
said=$(go build -gcflags=-m ./ringbuffer ./uid ./uid/percpu 2>&1)
missing=0

# expect FILE MESSAGE looks for what the compiler says of a file.
expect() {
	if ! printf '%s\n' "$said" | grep -F "$1:" | grep -qF "$2"; then
		echo "the compiler does not say of $1: $2" >&2
		missing=1
	fi
}

expect ringbuffer/take.go 'can inline (*Ring).TryTake'
expect uid/cached.go 'inlining call to ringbuffer.(*Ring).TryTake'
expect uid/block.go 'can inline (*Block).Next'
expect uid/local.go 'inlining call to (*Block).Next'
expect uid/local.go 'can inline (*Cached).All'
expect uid/local.go 'can inline (*Cached).All.func1' # its loop, into its user's function
expect uid/percpu/generator.go 'inlining call to (*pins).pin'
expect uid/percpu/generator.go 'inlining call to (*pins).unpin'
expect uid/percpu/generator.go 'inlining call to uid.(*Block).Next'
[ "$missing" = 0 ] || exit 1
echo "all of them"
