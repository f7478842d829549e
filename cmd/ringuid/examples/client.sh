#!/bin/sh
# Takes UIDs by curl, and numbers of a tag if one is named. Usage: client.sh http://127.0.0.1:8080 [TOKEN [TAG]]; without a token: ''
set -eu
url=$1
get() { curl --silent --show-error --fail --max-time 10 --retry 3 ${token:+--header "Authorization: Bearer $token"} "$@"; }
token=${2-}
tag=${3-}

get "$url/v1/uid"                     # {"id":"962392666547429376"}
get "$url/v1/uid?n=3"                 # {"ids":["…","…","…"]}
[ "$tag" ] || exit 0
get "$url/v1/segment/$tag"            # {"id":"1"}
get "$url/api/segment/get/$tag"       # 2, as from Leaf
