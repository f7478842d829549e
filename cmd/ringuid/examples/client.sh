#!/bin/sh
# Takes UIDs and numbers by curl. Usage: client.sh http://127.0.0.1:8080 [TOKEN]
set -eu
url=$1
get() { curl --silent --show-error --fail --max-time 5 --retry 3 ${token:+--header "Authorization: Bearer $token"} "$@"; }
token=${2-}

get "$url/v1/uid"                     # {"id":"962392666547429376"}
get "$url/v1/uid?n=3"                 # {"ids":["…","…","…"]}
get "$url/v1/segment/orders"          # {"id":"1"}
get "$url/api/segment/get/orders"     # 2, as from Leaf
