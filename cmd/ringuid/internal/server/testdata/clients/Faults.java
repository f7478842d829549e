import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** For each line of its input, takes as many numbers with RingUID, one by one, and prints the last one, or the error. For "timer", a timer takes one. */
public final class Faults {
    public static void main(String[] args) throws Exception {
        RingUID client = new RingUID(args[0], args.length > 2 ? args[2] : null, 8192, "secret", Duration.ofMillis(Long.parseLong(args[1])));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            try {
                long number = 0;
                if (line.equals("timer")) number = new CompletableFuture<Void>().completeOnTimeout(null, 1, TimeUnit.MILLISECONDS).thenApply(none -> take(client)).join();
                else for (int left = Integer.parseInt(line); left > 0; left--) number = client.next();
                System.out.println(number);
            } catch (IOException e) {
                System.out.println("error: " + e.getMessage().replace('\n', ' '));
            }
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
