import java.io.IOException;
import java.net.*;
import java.net.http.*;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.*;

/**
 * UIDs, or numbers of a tag, from a ringuid server, with one request for thousands of them. Safe for concurrent use.
 * Copy this file. It requires Java 11 and nothing else. If a running process is copied (CRaC, CRIU), create another RingUID in each copy.
 * <pre>RingUID uids = new RingUID("http://127.0.0.1:8080", null, 8192, null, Duration.ofSeconds(10));
 * long uid = uids.next();</pre>
 */
public final class RingUID {
    private static final class Block { // of the numbers first, first + stride and so on
        final long first, count, stride, deadline; // by System.nanoTime
        final AtomicLong used = new AtomicLong(); // count or more: the block is used up
        Block(long first, long count, long stride, long deadline) {
            this.first = first; this.count = count; this.stride = stride; this.deadline = deadline;
        }
    }

    private static final CompletableFuture<Block> NONE = CompletableFuture.failedFuture(new IOException("not requested"));
    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build(); // with HTTP/2, a dead connection would stay in use
    private final HttpRequest.Builder request;
    private final String url; // without the number at its end
    private final int size;
    private final Duration timeout;
    private volatile Block block = new Block(0, 0, 1, 0); // in use
    private volatile CompletableFuture<Block> next = NONE; // the next block, which may be on its way
    private volatile long pause, asked = 32; // in milliseconds, before the next request; how many numbers the last one asked for

    /**
     * Returns a client of the server at url: for UIDs, or for numbers of a tag that is not null. A request asks for size numbers at most, which must not
     * be more than the server's setting max-batch, and for fewer if blocks expire in part. token may be null. A call without a number waits for timeout.
     */
    public RingUID(String url, String tag, int size, String token, Duration timeout) {
        this.url = url.replaceAll("/$", "") + "/v1" + (tag == null ? "" : "/segment/" + URLEncoder.encode(tag, StandardCharsets.UTF_8).replace("+", "%20")) + "/block?n=";
        this.request = HttpRequest.newBuilder(URI.create(this.url)).timeout(timeout).POST(HttpRequest.BodyPublishers.noBody());
        if (token != null) request.header("Authorization", "Bearer " + token.strip());
        this.size = size;
        this.timeout = timeout;
    }

    /** Returns a number that nobody else has or will get. If there is none in memory, it waits, and then throws the last error. */
    public long next() throws IOException, InterruptedException {
        Throwable last = null;
        for (long end = 0; ; ) {
            Block b = block;
            if (System.nanoTime() - b.deadline < 0 && b.used.get() < b.count) {
                long n = b.used.getAndIncrement();
                if (n >= b.count / 2 && next.isCompletedExceptionally()) try { fetch(2); } catch (OutOfMemoryError failure) { } // no thread: later calls try again
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
        return block == old ? fetch(old.used.get() < old.count ? 0.5 : 2) : CompletableFuture.completedFuture(block);
    }

    /** Returns the next block. If it is not on its way, it requests factor times as many numbers as last time; after a failure as many, with a pause before. */
    private synchronized CompletableFuture<Block> fetch(double factor) {
        if (!next.isCompletedExceptionally()) return next;
        double f = pause == 0 ? factor : next.handle((none, failure) -> failure.getCause() instanceof RejectedExecutionException).join() ? 0.5 : 1;
        asked = Math.min(Math.max((long) (f * asked), 2), size);
        long wait = pause;
        CompletableFuture<Block> received = new CompletableFuture<>();
        Thread sender = new Thread(null, () -> { // not one of the common pool, whose threads may all be waiting for a number
            try {
                Thread.sleep(wait);
                received.complete(send());
            } catch (Throwable failure) {
                received.completeExceptionally(failure);
            }
        }, "ringuid", 0, false);
        sender.setDaemon(true);
        sender.start();
        return next = received.orTimeout(wait + timeout.toMillis(), TimeUnit.MILLISECONDS).whenComplete((block, failure) -> { // the timeout of the request ends when the body begins
            pause = failure == null ? 0 : Math.min(Math.max(2 * wait, 50), 1000);
            sender.interrupt(); // closes the connection of an answer that does not end (from Java 16 on)
        });
    }

    /** Requests a block. It expires by the time of the request: how long the answer was on its way does not matter. A block whose answer is lost is a gap. */
    private Block send() throws IOException, InterruptedException {
        long sent = System.nanoTime();
        HttpResponse<String> answer = client.send(request.copy().uri(URI.create(url + asked)).build(), HttpResponse.BodyHandlers.ofString());
        int status = answer.statusCode();
        String text = answer.body().strip(), problem = "the server has answered " + status + ": " + text;
        if (status != 200 || !text.endsWith("}")) throw status >= 300 && status < 500 && status != 408 && status != 429 ? new RejectedExecutionException(problem) : new IllegalStateException(problem);
        long first = Long.parseLong(get(text, "first", "0")), count = Long.parseLong(get(text, "count", "0")), stride = Long.parseLong(get(text, "stride", "1"));
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
