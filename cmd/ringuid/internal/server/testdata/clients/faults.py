# For each line of its input, takes as many numbers with ringuid.py, one by one, and prints the last one, or the error. For the name of a fork,
# a forked process takes one number. After the line "no threads", no thread begins, until the line "threads".
import ctypes
import os
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import ringuid


def fork_again():
    """Forks a process that has the ID of this one, as if this one had ended long ago."""
    pid = os.getpid()
    os.getpid = lambda: pid
    return os.fork()


def signal_next_fetch():
    """Lets a signal arrive when the next thread has begun, whose handler takes a number."""
    start = threading.Thread.start

    def interrupted(self):
        threading.Thread.start = start
        start(self)
        client.next()  # in the same thread

    threading.Thread.start = interrupted


forks = {"fork": os.fork, "fork in C": ctypes.PyDLL(None).fork, "fork again": fork_again}
client = ringuid.Client(sys.argv[2], token="secret", timeout=int(sys.argv[3]) / 1000)
for line in sys.stdin:
    if line.endswith("threads\n"):
        threading.stack_size(1 << 60 if line == "no threads\n" else 0)  # no memory for the stack
        continue
    if line == "signal\n":
        signal_next_fetch()
        continue
    fork = forks.get(line.strip())
    if fork and fork() != 0:
        os.wait()
        continue
    try:
        for _ in range(1 if fork else int(line)):
            number = client.next()
        print(number, flush=True)
    except OSError as e:
        print("error:", str(e).replace("\n", " "), flush=True)
    if fork:
        os._exit(0)
