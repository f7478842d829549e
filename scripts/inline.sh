#!/bin/sh
# Checks that the compiler inlines the fast paths. Without inlining a call is some percent slower. A
# timing cannot detect that on a busy machine, so the script checks the compiler's messages.
. "$(dirname "$0")/lib.sh"

step "inlining of the fast paths"
messages=$(go build -gcflags=-m ./ringbuffer ./uid ./uid/percpu ./segment 2>&1)
messages=$(printf '%s\n' "$messages" | tr '\\' /) # the paths of Windows
missing=0

# expect FILE MESSAGE checks that the compiler printed a message about a file.
expect() {
	if ! printf '%s\n' "$messages" | grep -F "$1:" | grep -qF "$2"; then
		echo "$1: missing compiler message: $2" >&2
		missing=1
	fi
}

expect ringbuffer/take.go 'can inline (*Ring).TryTake'
expect uid/cached.go 'inlining call to ringbuffer.(*Ring).TryTake'
expect uid/block.go 'can inline (*Block).Next'
expect uid/local.go 'inlining call to (*Block).Next'
expect uid/local.go 'can inline (*Cached).All'
expect uid/local.go 'can inline (*Cached).All.func1' # the loop of the iterator, into the caller's function
expect uid/percpu/generator.go 'inlining call to (*pins).pin'
expect uid/percpu/generator.go 'inlining call to (*pins).unpin'
expect uid/percpu/generator.go 'inlining call to uid.(*Block).Next'
expect segment/sequence.go 'inlining call to ringbuffer.(*Ring).TryTake'
expect segment/sequence.go 'inlining call to encoding.number'
[ "$missing" = 0 ] || exit 1
echo "all fast paths are inlined"
