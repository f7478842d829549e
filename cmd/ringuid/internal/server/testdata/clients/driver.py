# Takes numbers with ringuid.py in several threads, and prints them as runs: the first number, the stride, and how many. With 0 threads, it prints
# instead how many nanoseconds it takes to take them, and how many a loop over a range of such numbers takes.
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import ringuid

url, tag, size, count, threads = sys.argv[2], sys.argv[3] or None, *map(int, sys.argv[4:7])
client = ringuid.Client(url, tag, size, timeout=300)
if threads == 0:
    client.next()
    begin, left = time.perf_counter_ns(), count
    while left > 0:
        for number in client.take(min(left, 8192)):
            left -= 1
    took, left, first = time.perf_counter_ns() - begin, count, client.next()
    begin = time.perf_counter_ns()
    for number in range(first, first + count):
        left -= 1
    print(took, time.perf_counter_ns() - begin)


def take():
    left = count // threads
    while left > 0:
        numbers = client.take(min(left, 1000)) if left % 7 else range(client.next(), 1 << 63, 1)[:1]
        left -= len(numbers)
        sys.stdout.write(f"{numbers.start} {numbers.step} {len(numbers)}\n")


workers = [threading.Thread(target=take) for _ in range(threads)]
for w in workers:
    w.start()
for w in workers:
    w.join()
