import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Takes numbers with RingUID in several threads, and prints them as runs: the first number, the stride, and how many. With 0 threads, it prints instead
 * how many nanoseconds it takes to take them.
 */
public final class Driver {
    public static void main(String[] args) throws Exception {
        RingUID client = new RingUID(args[0], args[1].isEmpty() ? null : args[1], Integer.parseInt(args[2]), null, Duration.ofSeconds(300));
        long count = Long.parseLong(args[3]);
        int threads = Integer.parseInt(args[4]);
        if (threads == 0) {
            client.next();
            long begin = System.nanoTime();
            for (long left = count; left > 0; left--) client.next();
            System.out.println(System.nanoTime() - begin);
            return;
        }
        List<Thread> workers = new ArrayList<>();
        List<Exception> failures = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            StringBuilder lines = new StringBuilder();
            Thread w = new Thread(() -> {
                try {
                    long first = 0, n = 0;
                    for (long left = count / threads; left > 0; left--) {
                        long number = client.next();
                        if (number == first + n) {
                            n++;
                            continue;
                        }
                        if (n > 0) lines.append(first).append(" 1 ").append(n).append('\n');
                        if (lines.length() > 10_000) print(lines);
                        first = number;
                        n = 1;
                    }
                    lines.append(first).append(" 1 ").append(n).append('\n');
                    print(lines);
                } catch (Exception e) {
                    synchronized (failures) {
                        failures.add(e);
                    }
                }
            });
            workers.add(w);
            w.start();
        }
        for (Thread w : workers) w.join();
        if (!failures.isEmpty()) throw failures.get(0);
    }

    private static void print(StringBuilder lines) {
        System.out.print(lines);
        System.out.flush();
        lines.setLength(0);
    }
}
