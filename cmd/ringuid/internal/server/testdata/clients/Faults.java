import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;

/**
 * For each line of its input, takes as many numbers with RingUID, one by one, and prints the last one, or the error. For "timer", a timer takes one. For
 * "busy pool", it takes one while all threads of the common pool are busy. After "no threads", no thread of RingUID begins, until "threads".
 */
public final class Faults {
    /** RingUID is compiled with it instead of Thread. */
    static final class Sender extends Thread {
        static volatile boolean refused;

        Sender(ThreadGroup group, Runnable task, String name, long stackSize, boolean inherit) {
            super(group, task, name, stackSize, inherit);
        }

        @Override
        public void start() {
            if (refused) throw new OutOfMemoryError("unable to create native thread");
            super.start();
        }
    }

    private static final int POOL = 2; // threads; with one, CompletableFuture would not use the common pool

    public static void main(String[] args) throws Exception {
        System.setProperty("java.util.concurrent.ForkJoinPool.common.parallelism", String.valueOf(POOL));
        RingUID client = new RingUID(args[0], args.length > 2 ? args[2] : null, 8192, "secret\n", Duration.ofMillis(Long.parseLong(args[1])));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            try {
                if (line.endsWith("threads")) {
                    Sender.refused = line.equals("no threads");
                    continue;
                }
                long number = 0;
                if (line.equals("timer")) number = new CompletableFuture<Void>().completeOnTimeout(null, 1, TimeUnit.MILLISECONDS).thenApply(none -> take(client)).join();
                else if (line.equals("busy pool")) number = takeWhilePoolIsBusy(client);
                else for (int left = Integer.parseInt(line); left > 0; left--) number = client.next();
                System.out.println(number);
            } catch (IOException | OutOfMemoryError e) {
                System.out.println("error: " + e.getMessage().replace('\n', ' '));
            }
        }
    }

    private static long takeWhilePoolIsBusy(RingUID client) throws IOException, InterruptedException {
        CountDownLatch busy = new CountDownLatch(POOL), taken = new CountDownLatch(1);
        for (int i = 0; i < POOL; i++) {
            ForkJoinPool.commonPool().execute(() -> {
                busy.countDown();
                try {
                    taken.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
        }
        busy.await();
        try {
            return client.next();
        } finally {
            taken.countDown();
        }
    }

    private static long take(RingUID client) {
        try {
            return client.next();
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
