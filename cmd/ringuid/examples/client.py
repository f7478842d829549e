"""Takes UIDs with Python's standard library, and a number of a tag if one is named.

Usage: client.py http://127.0.0.1:8080 [TOKEN [TAG]]; without a token: ''
"""
import http.client
import json
import sys
import urllib.parse


class Ringuid:
    """A connection to a server, which is kept open. It is for one thread."""

    def __init__(self, url, token=None):
        parts = urllib.parse.urlsplit(url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.netloc, timeout=10)
        self._headers = {"Authorization": "Bearer " + token.strip()} if token else {}

    def _get(self, path):
        for attempt in (1, 2):
            try:
                self._connection.request("GET", path, headers=self._headers)
                response = self._connection.getresponse()
                body = json.loads(response.read())
                break
            except Exception as e:
                self._connection.close()  # the next request opens another one
                # The server may have closed the connection, because it was idle. A UID that is lost is a gap.
                if attempt == 2 or not isinstance(e, ConnectionError):
                    raise
        if response.status != 200:
            raise RuntimeError(f"{response.status}: {body['detail']} (request {body['request_id']})")
        return body

    def uid(self):
        return int(self._get("/v1/uid")["id"])  # Python's integers have any size

    def uids(self, n):
        return [int(i) for i in self._get(f"/v1/uid?n={n}")["ids"]]

    def number(self, tag):
        return int(self._get("/v1/segment/" + urllib.parse.quote(tag, safe=""))["id"])


if __name__ == "__main__":
    server = Ringuid(*sys.argv[1:3])
    print(server.uid())
    print(server.uids(3))
    if len(sys.argv) > 3:
        print(server.number(sys.argv[3]))
