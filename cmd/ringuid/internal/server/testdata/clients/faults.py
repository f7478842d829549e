# For each line of its input, takes as many numbers with ringuid.py, one by one, and prints the last one, or the error. For the line "fork",
# a forked process takes the number.
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import ringuid

client = ringuid.Client(sys.argv[2], timeout=int(sys.argv[3]) / 1000)
for line in sys.stdin:
    forked = line == "fork\n"
    if forked and os.fork() != 0:
        os.wait()
        continue
    try:
        for _ in range(1 if forked else int(line)):
            number = client.next()
        print(number, flush=True)
    except OSError as e:
        print("error:", str(e).replace("\n", " "), flush=True)
    if forked:
        os._exit(0)
