# Takes numbers with ringuid.py in several threads, and prints them as runs: the first number, the stride, and how many.
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import ringuid

url, tag, size, count, threads = sys.argv[2], sys.argv[3] or None, *map(int, sys.argv[4:7])
client = ringuid.Client(url, tag, size, timeout=60)
runs = [[] for _ in range(threads)]


def take(n):
    left = count // threads
    while left > 0:
        numbers = client.take(min(left, 1000)) if left % 7 else range(client.next(), 1 << 63, 1)[:1]
        left -= len(numbers)
        runs[n].append(f"{numbers.start} {numbers.step} {len(numbers)}")


workers = [threading.Thread(target=take, args=(n,)) for n in range(threads)]
for w in workers:
    w.start()
for w in workers:
    w.join()
for lines in runs:
    print("\n".join(lines))
