import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.*;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.*;

/**
 * UIDs, or numbers of a tag, from a ringuid server, with one request for thousands of them. Safe for concurrent use.
 * Copy this file. It requires Java 11 and nothing else. If a running process is copied (CRaC, CRIU), create another RingUID in each copy.
 *
 * <pre>
 * RingUID uids = new RingUID("http://127.0.0.1:8080", null, 8192, null, Duration.ofSeconds(10));
 * long uid = uids.next();
 * </pre>
 */
public final class RingUID {
    /** Consecutive numbers: first, first + stride and so on. */
    private static final class Block {
        final long first, count, stride, deadline; // by System.nanoTime
        final AtomicLong used = new AtomicLong(); // count or more: the block is used up

        Block(long first, long count, long stride, long deadline) {
            this.first = first;
            this.count = count;
            this.stride = stride;
            this.deadline = deadline;
        }
    }

    private static final CompletableFuture<Block> NONE = CompletableFuture.failedFuture(new IOException("not requested"));
    private final HttpClient client = HttpClient.newHttpClient();
    private final HttpRequest request;
    private final Duration timeout;
    private volatile Block block = new Block(0, 0, 1, 0); // in use
    private volatile CompletableFuture<Block> next = NONE; // the next block, which may be on its way
    private volatile long pause; // before the next request, in milliseconds

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
        Throwable last = null;
        for (long end = 0; ; ) {
            Block b = block;
            if (System.nanoTime() - b.deadline < 0 && b.used.get() < b.count) {
                long n = b.used.getAndIncrement();
                if (n >= b.count / 2 && next.isCompletedExceptionally()) fetch();
                if (n < b.count) return b.first + n * b.stride;
            }
            if (end == 0) end = System.nanoTime() + timeout.toNanos();
            try {
                replace(b).get(end - System.nanoTime(), TimeUnit.NANOSECONDS);
            } catch (ExecutionException e) {
                last = e.getCause();
                if (last instanceof RejectedExecutionException) throw new IOException("ringuid: " + last.getMessage(), last); // another request would get the same
            } catch (TimeoutException e) {
                throw new IOException("ringuid: no number within " + timeout + (last == null ? "" : ": " + last), last);
            }
        }
    }

    /** Takes the next block into use instead of an old one, which is used up or has expired. Returns the next block instead if it is not there yet. */
    private synchronized CompletableFuture<Block> replace(Block old) {
        if (block == old && next.isDone() && !next.isCompletedExceptionally()) {
            block = next.join();
            next = NONE;
        }
        return block == old ? fetch() : CompletableFuture.completedFuture(block);
    }

    /** Returns the next block, which may be on its way. After a failure it pauses before the request, so that calls do not flood the server. */
    private synchronized CompletableFuture<Block> fetch() {
        if (next.isCompletedExceptionally()) {
            next = CompletableFuture.supplyAsync(this::send, CompletableFuture.delayedExecutor(pause, TimeUnit.MILLISECONDS, Runnable::run))
                    .thenCompose(answer -> answer).whenComplete((received, failure) -> pause = failure == null ? 0 : Math.min(Math.max(2 * pause, 50), 1000));
        }
        return next;
    }

    /** Sends a request. A block whose answer is lost is a gap. */
    private CompletableFuture<Block> send() {
        long sent = System.nanoTime();
        return client.sendAsync(request, HttpResponse.BodyHandlers.ofString())
                .orTimeout(timeout.toNanos(), TimeUnit.NANOSECONDS) // that of the request ends when the body begins
                .thenApply(answer -> read(answer, sent));
    }

    /** Returns the block of an answer. It expires by the time of the request: how long the answer was on its way does not matter. */
    private static Block read(HttpResponse<String> answer, long sent) {
        int status = answer.statusCode();
        String text = answer.body().strip(), problem = "the server has answered " + status + ": " + text;
        if (status >= 300 && status < 500 && status != 429) throw new RejectedExecutionException(problem);
        if (status != 200 || !text.endsWith("}")) throw new IllegalStateException(problem);
        long first = Long.parseLong(get(text, "first", "")), count = Long.parseLong(get(text, "count", "")), stride = Long.parseLong(get(text, "stride", "1"));
        if (first < 1 || count < 1 || stride < 1 || count - 1 > (Long.MAX_VALUE - first) / stride) throw new IllegalStateException(problem);
        long deadline = sent + (long) (1e9 * Math.min(Double.parseDouble(get(text, "expires_in", "1e9")), 1e9)); // or in 31 years
        if (System.nanoTime() - deadline >= 0) throw new IllegalStateException("a block had expired when it arrived: " + text);
        return new Block(first, count, stride, deadline);
    }

    /** Returns a field of a JSON object without objects in it, or absent. */
    private static String get(String json, String name, String absent) {
        Matcher m = Pattern.compile('"' + name + "\"\\s*:\\s*\"?([^\",}\\s]*)").matcher(json);
        return m.find() ? m.group(1) : absent;
    }
}
