# For each line of its input, takes as many numbers with ringuid.py, one by one, and prints the last one, or the error. For the name of a fork,
# a forked process takes one number. After the line "no threads", no thread begins, until the line "threads".
import _thread
import ctypes
import os
import random
import sys
import threading
import time
import types

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import ringuid


def fork_again():
    """Forks a process that has the ID of this one, as if this one had ended long ago."""
    pid = os.getpid()
    os.getpid = lambda: pid
    return os.fork()


def fork_in_call():
    """Forks while a number is taken, as the handler of a signal may. Returns the number in the child, and 0 in this process, where it is not used."""
    pid = None

    def monotonic():
        nonlocal pid
        if pid is None:
            pid = os.fork()
            if pid:
                os.wait()
        return time.monotonic()

    ringuid.time = types.SimpleNamespace(monotonic=monotonic, sleep=time.sleep)
    number = client.next()
    ringuid.time = time
    return 0 if pid else number


class Interrupted(RuntimeError):
    pass


def interrupted(function):
    """Returns the function, as if a signal arrived each time when it has returned. The handler takes some numbers, and raises sometimes."""

    def call(*args, **kwargs):
        global handling, raised
        result = function(*args, **kwargs)
        if not handling and threading.get_ident() == threading.main_thread().ident:
            handling = True
            try:
                for _ in range(random.randrange(5)):
                    take()
            finally:
                handling = False
            if random.randrange(10) == 0:
                raised += 1
                raise Interrupted
        return result

    return call


def take():
    """Takes a number that was not taken before, without waiting for the whole timeout."""
    began = time.monotonic()
    number = client.next()
    if time.monotonic() - began >= timeout:
        raise OSError(f"{number} came after {timeout} s")
    if number in taken:
        raise OSError(f"{number} twice")
    taken.add(number)
    return number


handling, taken, raised = False, set(), 0
forks = {"fork": os.fork, "fork in C": ctypes.PyDLL(None).fork, "fork again": fork_again}
timeout = int(sys.argv[3]) / 1000
client = ringuid.Client(sys.argv[2], tag=(sys.argv[4:] or [None])[0], token="secret\n", timeout=timeout)
for line in sys.stdin:
    if line.endswith("threads\n"):
        threading.stack_size(1 << 60 if line == "no threads\n" else 0)  # no memory for the stack
        continue
    if line == "signals\n":  # from now on, wherever Python may call a handler
        ringuid.len, ringuid.range, ringuid.repr = interrupted(len), interrupted(range), interrupted(repr)
        ringuid.time = types.SimpleNamespace(monotonic=interrupted(time.monotonic), sleep=time.sleep)
        ringuid._thread = types.SimpleNamespace(start_new_thread=interrupted(_thread.start_new_thread))
        threading.Condition.__enter__ = interrupted(threading.Condition.__enter__)
        continue
    if line == "fork in a call\n":
        number = fork_in_call()
        if number:
            print(number, flush=True)
            os._exit(0)
        continue
    fork = forks.get(line.strip())
    if fork and fork() != 0:
        os.wait()
        continue
    try:
        for _ in range(1 if fork else int(line)):
            try:
                number = take()
            except Interrupted:
                raised -= 1
        if any(blocks._lock._is_owned() for blocks in client._blocks.values()):
            raise OSError("the client has remained locked")
        if raised != 0:
            raise OSError("the client has lost what a handler has raised")
        print(number, flush=True)
    except OSError as e:
        print("error:", str(e).replace("\n", " "), flush=True)
    if fork:
        os._exit(0)
