"""UIDs, or numbers of a tag, from a ringuid server, with one request for thousands of them.

    client = ringuid.Client("http://127.0.0.1:8080")
    uid = client.next()
    for number in client.take(1000): ...  # up to 1000 consecutive ones, to be used now

Copy this file. It requires Python 3.10 only. A forked process has its own numbers. If one is copied while it runs, create a Client in each copy.
"""

import _thread
import json
import os
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

_forks = []  # one for each fork that Python has noticed. A library in C must not fork a process with the ID of an ancestor (a PID namespace)
getattr(os, "register_at_fork", lambda **_: None)(after_in_child=lambda: _forks.append(None))  # not on Windows, which does not fork


class Client:
    """Hands out the numbers of blocks, and fetches the next block before it is needed. Safe for concurrent use by threads.

    url is the server's. With a tag, numbers are those of the tag, otherwise UIDs. A request asks for size numbers at most (at most the server's max-batch),
    for fewer if blocks expire. A call without a number waits for timeout seconds, and raises the last error, an OSError. Proxies: see urllib.
    """

    def __init__(self, url, tag=None, size=8192, token=None, timeout=10.0):
        path = "/v1/block" if tag is None else f"/v1/segment/{urllib.parse.quote(tag, safe='')}/block"
        self._settings = urllib.request.Request(f"{url.rstrip('/')}{path}?n=").full_url, token and token.strip(), size, timeout  # ValueError: it is no URL
        self._blocks = {}  # of each process: one that was forked, also by a library in C, must not hand out the numbers of its parent

    def next(self):
        """Returns a number that nobody else has or will get."""
        return self.take(1)[0]

    def take(self, n):
        """Returns 1 to n numbers as a range. Use them at once: UIDs that are kept become stale."""
        if n < 1:
            raise ValueError(f"ringuid: {n} numbers were requested; must be at least 1")
        process = os.getpid(), len(_forks)
        numbers = (self._blocks.get(process) or self._blocks.setdefault(process, _Blocks(*self._settings))).take(slice(n), slice(n, None))
        return numbers if process == (os.getpid(), len(_forks)) else self.take(n)  # forked meanwhile, by a handler or another greenlet


class _Blocks:  # of one process
    def __init__(self, url, token, size, timeout):
        self._url, self._token, self._size, self._timeout = url, token, size, timeout
        self._lock = threading.RLock()  # guards the following. A handler of a signal may take numbers, and raise, wherever a call returns
        self._changed = threading.Condition(self._lock)
        self._numbers, self._deadline, self._low = range(0), 0.0, 0  # what is left of the block in use; if fewer than _low, the next one is fetched
        self._next, self._fetching, self._pause = None, False, 0.0  # the next block with its deadline; whether it is requested; the pause before that
        self._failure, self._asked = ("", False), 128  # the last one: a text, and whether another request would get the same; how many numbers were requested

    def take(self, head, tail):  # which are not made here: whatever is made between the two uses of self._numbers may run a finalizer
        with self._lock:
            now = time.monotonic()
            end, earlier = now + self._timeout, self._failure
            while True:
                if not self._numbers or now >= self._deadline:  # what is left is dropped, and the next block is used, if it has not expired
                    block, self._next = self._next, None  # in one step, without a call: handlers must not take it too
                    self._numbers, self._deadline = block if block and now < block[1] else (self._numbers[:0], 0.0)
                    self._low = (len(self._numbers) + 1) // 2
                if self._numbers:
                    taken, self._numbers = self._numbers[head], self._numbers[tail]
                    if len(self._numbers) < self._low and self._next is None:
                        self._fetch(2)
                    return taken
                failed = self._failure is not earlier  # that of an earlier call does not matter
                if now >= end or (failed and self._failure[1]):
                    raise OSError(f"ringuid: {self._failure[0]}" if failed else f"ringuid: no number within {self._timeout} s")
                self._fetch(0.5)  # the last block, if there was one, has expired
                self._changed.wait(min(end - now, 0.05))  # a handler may have met what is waited for
                now = time.monotonic()

    def _fetch(self, factor):  # starts a request for the next block, unless there is one, with factor times as many numbers as the last one
        if not self._fetching:
            self._fetching = True  # before the call, because a handler may come right after it
            try:
                factor = factor if not self._pause else 0.5 if self._failure[1] else 1  # after a failure as many, or fewer if they were refused
                self._asked = min(max(int(factor * self._asked), 2), self._size)
                _thread.start_new_thread(self._run, ())
            except BaseException as e:  # if a handler has raised, the thread may have begun: then its block may be a gap
                self._fetching, self._failure = False, (e, False)
                if type(e) is not RuntimeError:  # that there are too many threads
                    raise

    def _run(self):  # sends a request: after a failure it pauses before it, so that calls do not flood the server. A lost answer is a gap
        time.sleep(self._pause)
        block, failure, sent = None, None, time.monotonic()
        try:
            request = urllib.request.Request(f"{self._url}{self._asked}", data=b"", method="POST")  # a new one: urllib changes it if there is a proxy
            if self._token:
                request.add_unredirected_header("Authorization", f"Bearer {self._token}")
            with urllib.request.urlopen(request, timeout=min(self._timeout, 2e6)) as answer:  # the system's limit is 2^31 ms
                block = _read(json.load(answer), sent)
        except urllib.error.HTTPError as e:
            try:
                detail = e.read(1000).decode("utf-8", "replace")
            except Exception:
                detail = e.reason
            failure = f"the server has answered {e.code}: {detail}", e.code < 500 and e.code not in (408, 429)
        except Exception as e:  # the connection, or what is not a block
            failure = repr(e), False
        with self._lock:
            self._next, self._failure, self._fetching = block or self._next, failure or self._failure, False
            self._pause = min(max(2 * self._pause, 0.05), 1.0) if failure else 0.0
            self._changed.notify_all()


def _read(block, sent):  # returns the numbers of a block, and when they expire: counted from the request, so the answer's way does not matter
    first, count, stride = int(block["first"]), int(block["count"]), int(block.get("stride", 1))
    if first < 1 or count < 1 or stride < 1:
        raise ValueError(f"the server has answered {block}")
    deadline = sent + float(block.get("expires_in", "inf"))
    if not time.monotonic() < deadline:
        raise ValueError(f"a block had expired when it arrived: {block}")
    return range(first, first + count * stride, stride), deadline
