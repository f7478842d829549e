#!/bin/sh
# Runs kube-score, which finds what is missing in Kubernetes manifests, on the manifest of the server.
. "$(dirname "$0")/lib.sh"

version=v1.20.0
bin=$PWD/bin
step "building kube-score $version"
GOBIN=$bin GOOS='' GOARCH='' go install "github.com/zegl/kube-score/cmd/kube-score@$version"
# Warnings do not fail: one says that outgoing connections are not restricted, because the address of the database is not known.
"$bin/kube-score" score cmd/ringuid/deploy/kubernetes.yaml
