import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * UIDs, or numbers of a tag, from a ringuid server, with one request for thousands of them:
 *
 * <pre>
 * RingUID uids = new RingUID("http://127.0.0.1:8080", null, 8192, null, Duration.ofSeconds(5));
 * long uid = uids.next();
 * </pre>
 *
 * It hands out the numbers of blocks, and fetches the next block before it is needed. It is safe for concurrent use. Copy this file. It requires
 * Java 11 and nothing else.
 */
public final class RingUID {
    /** Consecutive numbers: first, first + stride and so on. */
    private static final class Block {
        final long first, count, stride, deadline; // by System.nanoTime
        final AtomicLong used = new AtomicLong(); // more than count: the block is used up

        Block(long first, long count, long stride, long deadline) {
            this.first = first;
            this.count = count;
            this.stride = stride;
            this.deadline = deadline;
        }
    }

    private static final Pattern FIRST = Pattern.compile("\"first\":\"(\\d+)\""), COUNT = Pattern.compile("\"count\":(\\d+)"),
            STRIDE = Pattern.compile("\"stride\":(\\d+)"), EXPIRES_IN = Pattern.compile("\"expires_in\":([\\d.]+)");

    private final HttpClient client = HttpClient.newHttpClient();
    private final HttpRequest request;
    private final Duration timeout;
    private volatile Block block = new Block(0, 0, 1, 0); // in use
    private CompletableFuture<Block> next; // the request for the next block, or null

    /**
     * Returns a client of the server at url. With a tag, numbers are those of the tag; if it is null, UIDs. size is how many numbers a request asks
     * for: the server's setting max-batch at most. token is a token of the server, or null. A call that has no number waits for timeout at most.
     */
    public RingUID(String url, String tag, int size, String token, Duration timeout) {
        String path = tag == null ? "/v1/block" : "/v1/segment/" + URLEncoder.encode(tag, StandardCharsets.UTF_8).replace("+", "%20") + "/block";
        HttpRequest.Builder b = HttpRequest.newBuilder(URI.create(url.replaceAll("/$", "") + path + "?n=" + size)).timeout(timeout);
        if (token != null) b.header("Authorization", "Bearer " + token);
        this.request = b.POST(HttpRequest.BodyPublishers.noBody()).build();
        this.timeout = timeout;
    }

    /** Returns a number that nobody else has or will get. If there is none in memory, it waits, and then throws the last error. */
    public long next() throws IOException, InterruptedException {
        for (long end = 0; ; ) {
            Block b = block;
            if (System.nanoTime() - b.deadline < 0 && b.used.get() < b.count) {
                long n = b.used.getAndIncrement();
                if (n == b.count / 2) fetch();
                if (n < b.count) return b.first + n * b.stride;
            }
            if (end == 0) end = System.nanoTime() + timeout.toNanos();
            replace(b, end);
        }
    }

    /** Requests the next block, unless there is a request. A block whose answer is lost is a gap. */
    private synchronized CompletableFuture<Block> fetch() {
        if (next == null) {
            long sent = System.nanoTime(); // blocks expire by the time of the request: the way of the answer does not matter
            next = client.sendAsync(request, HttpResponse.BodyHandlers.ofString())
                    .orTimeout(timeout.toNanos(), TimeUnit.NANOSECONDS).thenApply(answer -> read(answer, sent));
        }
        return next;
    }

    /** Takes the next block into use instead of an old one, which is used up or has expired, and waits for it. */
    private void replace(Block old, long end) throws IOException, InterruptedException {
        CompletableFuture<Block> request;
        synchronized (this) {
            if (block != old) return;
            request = fetch();
        }
        Block received = null;
        try {
            received = request.get(end - System.nanoTime(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException | TimeoutException e) {
            end(request, null);
            boolean isFinal = e.getCause() instanceof IllegalArgumentException; // another request would get the same
            if (isFinal || end - System.nanoTime() < 200_000_000) throw new IOException("ringuid: no number has arrived: " + e.getMessage(), e);
            Thread.sleep(100);
        }
        if (received != null) end(request, received);
    }

    /** Ends a request for the next block, if it has an answer, and takes the block into use unless it is null. */
    private synchronized void end(CompletableFuture<Block> request, Block received) {
        if (next != request || !request.isDone()) return;
        next = null;
        if (received != null) block = received;
    }

    private static Block read(HttpResponse<String> answer, long sent) {
        String text = answer.body();
        Matcher first = FIRST.matcher(text), count = COUNT.matcher(text), stride = STRIDE.matcher(text), expires = EXPIRES_IN.matcher(text);
        int status = answer.statusCode();
        String problem = "the server has answered " + status + ": " + text;
        if (status >= 400 && status < 500 && status != 429) throw new IllegalArgumentException(problem);
        if (status != 200 || !first.find() || !count.find()) throw new IllegalStateException(problem);
        long life = expires.find() ? (long) (1e9 * Double.parseDouble(expires.group(1))) : Long.MAX_VALUE / 2; // 146 years
        return new Block(Long.parseLong(first.group(1)), Long.parseLong(count.group(1)), stride.find() ? Long.parseLong(stride.group(1)) : 1, sent + life);
    }
}
