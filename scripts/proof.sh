#!/bin/sh
# Checks the models in proof with Spin, and prints what was checked as tables. Its argument is small or full.
. "$(dirname "$0")/lib.sh"

PATH=$PATH:/usr/sbin:/usr/local/sbin
export PATH
cd proof # without a package as argument, go test prints the tables
RINGUID_PROOF="$1" RINGUID_REQUIRE_SERVER=1 go test -count=1 -timeout 6h -parallel "$(nproc)" -run TestModels
