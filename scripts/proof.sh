#!/bin/sh
# Checks the models in proof with Spin, and prints what was checked as tables. Its argument is small, full, or changed: small if
# the models, their configurations, or the functions that they stand for have changed since the last success, which
# proof/checked.txt records.
. "$(dirname "$0")/lib.sh"

PATH=$PATH:/usr/sbin:/usr/local/sbin
export PATH
cd proof # without a package as argument, go test prints the tables
sum=$(cat ./*.pml ./*_test.go modelled.txt | cksum)
size=$1
if [ "$size" = changed ]; then
	if [ "$sum" = "$(cat checked.txt)" ]; then
		echo "the models are those of the last success (checked.txt)"
		exit 0
	fi
	size=small
fi
RINGUID_PROOF="$size" RINGUID_REQUIRE_SERVER=1 go test -count=1 -timeout 6h -parallel "$(nproc)" -run 'TestModels|TestMutants'
[ "$size" = full ] || echo "$sum" >checked.txt
