package server_test

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
)

// Clients of blocks and servers that fail: the client waits, tries again after a pause, and recovers.
func TestClientFaults(t *testing.T) {
	testkit.Full(t, "it starts dozens of interpreters")
	programs := clientPrograms(t, "faults")
	run := func(name, language string, fault func(*testing.T, startClient)) {
		t.Run(name+"/"+language, func(t *testing.T) {
			t.Parallel()
			fault(t, func(s *blockServer, timeout time.Duration) *blockClient {
				return newBlockClient(t, programs[language], s, timeout)
			})
		})
	}
	for name, fault := range map[string]func(*testing.T, startClient){
		"blocks expire on their way":           expireOnTheirWay,
		"blocks expire in memory":              expireInMemory,
		"the next block is refused":            func(t *testing.T, start startClient) { failNextBlock(t, start, http.StatusNotFound) },
		"the next block is not available":      func(t *testing.T, start startClient) { failNextBlock(t, start, http.StatusServiceUnavailable) },
		"an earlier request was refused":       func(t *testing.T, start startClient) { failEarlier(t, start, http.StatusNotFound) },
		"an earlier request was not available": func(t *testing.T, start startClient) { failEarlier(t, start, http.StatusServiceUnavailable) },
		"refused, then served":                 refuse,
		"the body never comes":                 holdBody,
		"failures of one request":              failOnce,
		"a request that begins late":           beginLate,
		"numbers up to the largest":            sendLargest,
		"a redirect":                           redirect,
		"a tag that is a path":                 takeOfPath,
		"few numbers are used, then many":      useFewThenMany,
		"an outage":                            askInOutage,
		"more numbers than the server allows":  askForTooMany,
	} {
		for language := range programs {
			run(name, language, fault)
		}
	}
	for _, kind := range []string{"fork", "fork in C", "fork again", "fork in a call"} {
		run(kind, "python", func(t *testing.T, start startClient) { fork(t, start, kind) })
	}
	run("connections that are reset", "node", resetFirst)
	run("another protocol", "node", changeProtocol)
	run("no threads", "python", noThreads)
	run("no threads", "java", noThreads)
	run("signals", "python", interrupt)
	run("timer", "java", func(t *testing.T, start startClient) { takeAs(t, start, "timer") })
	run("busy pool", "java", func(t *testing.T, start startClient) { takeAs(t, start, "busy pool") })
	t.Run("proxy/python", func(t *testing.T) {
		t.Parallel()
		useProxy(t, programs["python"])
	})
}

// patient is a timeout that does not pass.
const patient = time.Hour

// A blockServer answers requests for blocks as a test requires.
type blockServer struct {
	url      string
	tag      string // of the client; "": UIDs
	mu       sync.Mutex
	arrivals []time.Time // of the requests
}

// newBlockServer starts a server. answer answers request n: 0 is the first.
func newBlockServer(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, n int)) *blockServer {
	s := &blockServer{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		n := len(s.arrivals)
		s.arrivals = append(s.arrivals, time.Now())
		s.mu.Unlock()
		if r.Header.Get("Upgrade") != "" {
			t.Error("the client asks for HTTP/2, whose connections stay in use when they are dead")
		}
		answer(w, r, n)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// requests returns when requests have arrived.
func (s *blockServer) requests() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.arrivals[:len(s.arrivals):len(s.arrivals)]
}

// wantPauses requires that each of the requests from first to last came after a pause: of 50 ms, then of twice as long each time, up to 1 s.
func (s *blockServer) wantPauses(t *testing.T, first, last int) {
	t.Helper()
	arrivals, pause := s.requests(), 50*time.Millisecond
	for n := first; n <= last; n++ {
		if got := arrivals[n].Sub(arrivals[n-1]); got < pause-5*time.Millisecond { // timers of Node are up to 1 ms early
			t.Fatalf("request %d came %v after the failed one before it; want a pause of %v", n, got, pause)
		}
		pause = min(2*pause, time.Second)
	}
}

// perBlock is how many numbers a block of sendBlock has: more than a test takes at one each millisecond.
const perBlock = 100_000

// sendBlock answers request n with a block whose numbers begin at blockStart(n).
func sendBlock(w http.ResponseWriter, n int) {
	fmt.Fprintf(w, `{"first":"%d","count":%d}`, blockStart(n), perBlock)
}

func blockStart(n int) int64 { return int64(n+1) * 1_000_000 }

// wantFrom requires a number of the block of request n.
func wantFrom(t *testing.T, n int, number int64, problem string) {
	t.Helper()
	if problem != "" || number < blockStart(n) || number >= blockStart(n)+perBlock {
		t.Fatalf("the number is %d, %q; want one of the block of request %d", number, problem, n)
	}
}

// A blockClient is a process that takes numbers with a client of examples/blocks.
type blockClient struct {
	t     *testing.T
	in    io.Writer
	lines *bufio.Scanner
}

// startClient starts a client whose calls wait for timeout.
type startClient func(s *blockServer, timeout time.Duration) *blockClient

func newBlockClient(t *testing.T, command []string, s *blockServer, timeout time.Duration) *blockClient {
	args := append(command[1:len(command):len(command)], s.url, strconv.FormatInt(timeout.Milliseconds(), 10))
	if s.tag != "" {
		args = append(args, s.tag)
	}
	cmd := exec.CommandContext(testkit.Patient(t), command[0], args...)
	var failure testkit.Buffer
	cmd.Stderr = &failure
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if s := failure.String(); s != "" {
			t.Errorf("the client has written %.2000s", s)
		}
	})
	return &blockClient{t, in, bufio.NewScanner(out)}
}

// take takes n numbers. It returns the last one, or the client's error.
func (c *blockClient) take(n int) (number int64, problem string) {
	c.t.Helper()
	return c.do(strconv.Itoa(n))
}

// do sends a line to the client, and reads the answer.
func (c *blockClient) do(line string) (number int64, problem string) {
	c.t.Helper()
	fmt.Fprintln(c.in, line)
	if !c.lines.Scan() {
		c.t.Fatalf("the client has ended: %v", c.lines.Err())
	}
	number, err := strconv.ParseInt(c.lines.Text(), 10, 64)
	if err != nil {
		return 0, c.lines.Text()
	}
	return number, ""
}

// takeUntil takes numbers, all in memory, until the server has had n requests. It returns how many it has taken.
func (c *blockClient) takeUntil(s *blockServer, n int) (taken int) {
	c.t.Helper()
	for ; len(s.requests()) < n; time.Sleep(time.Millisecond) {
		if _, problem := c.take(1); problem != "" {
			c.t.Fatalf("%s after %d numbers and %d requests; want %d requests", problem, taken, len(s.requests()), n)
		}
		taken++
	}
	return taken
}

// Without numbers that have not expired, a call ends with an error that says so, after requests with pauses.
func expireOnTheirWay(t *testing.T, start startClient) {
	for timeout := 3 * time.Second; ; timeout *= 2 { // a busy machine may have no answer in that time
		s := newBlockServer(t, func(w http.ResponseWriter, r *http.Request, n int) {
			if n < 200 {
				fmt.Fprint(w, `{"first":"1","count":100,"expires_in":0.000001}`)
				return
			}
			sendBlock(w, n) // ends a call that does not end
		})
		number, problem := start(s, timeout).take(1)
		if problem == "" {
			t.Fatalf("the number is %d; want an error", number)
		}
		if strings.Contains(problem, "expired") {
			s.wantPauses(t, 1, len(s.requests())-1)
			return
		}
		if timeout > time.Minute {
			t.Fatalf("the error is %q; want one with the word expired", problem)
		}
	}
}

// Neither what is left of a block nor the next block is used when it has expired.
func expireInMemory(t *testing.T, start startClient) {
	const life = time.Second
	s := newBlockServer(t, func(w http.ResponseWriter, r *http.Request, n int) {
		fmt.Fprintf(w, `{"first":"%d","count":4,"expires_in":%g}`, blockStart(n), life.Seconds())
	})
	c := start(s, patient)
	if _, problem := c.take(3); problem != "" { // and the client requests the next block
		t.Fatal(problem)
	}
	testkit.Eventually(t, "a request for the next block", func() bool { return len(s.requests()) >= 2 })
	time.Sleep(life)
	asked := time.Now()
	number, problem := c.take(1)
	n := int(number/1_000_000) - 1
	if problem != "" || n < 0 || s.requests()[n].Before(asked.Add(-life)) {
		t.Errorf("the number is %d, %q; want one of a block that has not expired", number, problem)
	}
}

// While there are numbers in memory, failed requests for the next block are repeated after pauses, and fail no call.
func failNextBlock(t *testing.T, start startClient, status int) {
	s := newBlockServer(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n >= 1 && n <= 4 {
			http.Error(w, "no block", status)
			return
		}
		sendBlock(w, n)
	})
	c := start(s, patient)
	taken := perBlock/2 + 1
	if _, problem := c.take(taken); problem != "" {
		t.Fatal(problem)
	}
	taken += c.takeUntil(s, 6)
	s.wantPauses(t, 2, 5)
	number, problem := c.take(perBlock - taken + 1)
	wantFrom(t, 5, number, problem)
}

// A call does not get the error of an earlier request.
func failEarlier(t *testing.T, start startClient, status int) {
	var s *blockServer
	var c *blockClient
	taken, timeout := perBlock/2+1, time.Second
	testkit.Eventually(t, "the first block", func() bool { // a busy machine may have no answer within a second
		s = newBlockServer(t, func(w http.ResponseWriter, r *http.Request, n int) {
			switch n {
			case 0:
				sendBlock(w, n)
			case 1:
				http.Error(w, "an earlier outage", status)
			default:
				<-r.Context().Done()
			}
		})
		c = start(s, timeout)
		timeout *= 2
		_, problem := c.take(taken)
		return problem == ""
	})
	taken += c.takeUntil(s, 3) // so the client knows of the outage
	number, problem := c.take(perBlock - taken)
	wantFrom(t, 0, number, problem)
	if number, problem = c.take(1); problem == "" || strings.Contains(problem, "earlier") {
		t.Errorf("the number is %d, %q; want the error that there was no answer", number, problem)
	}
}

// A status that another request would get, too, ends a call at once. Later calls send requests again.
func refuse(t *testing.T, start startClient) {
	s := newBlockServer(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n < 2 {
			http.Error(w, "no such tag", http.StatusNotFound)
			return
		}
		sendBlock(w, n)
	})
	c := start(s, patient)
	for range 2 {
		if number, problem := c.take(1); !strings.Contains(problem, "404") || !strings.Contains(problem, "no such tag") {
			t.Errorf("the number is %d, %q; want the server's error", number, problem)
		}
	}
	number, problem := c.take(1)
	wantFrom(t, 2, number, problem)
	s.wantPauses(t, 1, 2)
}

// An answer whose body does not come ends as a call's timeout says. Later calls send requests again.
func holdBody(t *testing.T, start startClient) {
	s := newBlockServer(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 0 {
			fmt.Fprint(w, `{"first":"1","count":`)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		sendBlock(w, n)
	})
	c := start(s, time.Second)
	if number, problem := c.take(1); problem == "" && number < blockStart(1) {
		t.Errorf("the number is %d; want an error", number)
	}
	testkit.Eventually(t, "a number of another request", func() bool {
		number, _ := c.take(1)
		return number >= blockStart(1)
	})
}

// A call goes on after all kinds of failures, with pauses.
func failOnce(t *testing.T, start startClient) {
	cut := func(linger int) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			conn, buf, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			buf.WriteString("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"first\":\"1\",\"count\":10")
			buf.Flush()
			conn.(*net.TCPConn).SetLinger(linger) // 0: the connection is reset
			conn.Close()
		}
	}
	text := func(status int, body string) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	failures := []func(w http.ResponseWriter){
		cut(0), cut(-1),
		text(503, "no number"), text(429, "too many"), text(408, "too slow"),
		text(200, `{"first":"1","count":0}`), text(200, `{"first":"0","count":10}`), text(200, `{"first":"1","count":1`), text(200, "<html>"),
		text(200, `{"error":"maintenance"}`), text(200, `{"first":"1e3","count":10}`),
	}
	s := newBlockServer(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n < len(failures) {
			failures[n](w)
			return
		}
		sendBlock(w, n)
	})
	number, problem := start(s, patient).take(1)
	wantFrom(t, len(failures), number, problem)
	s.wantPauses(t, 1, len(failures))
}

// A call goes on if the first connection of its process is reset: with the fetch of Node.js 20, most of these calls would never end.
func resetFirst(t *testing.T, start startClient) {
	for delay := range 10 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { sendBlock(w, 0) })}
		t.Cleanup(func() { server.Close() })
		go func() {
			if conn, err := listener.Accept(); err == nil {
				time.Sleep(time.Duration(delay) * 100 * time.Microsecond) // the client's connection is established, and has no request yet
				conn.(*net.TCPConn).SetLinger(0)
				conn.Close()
			}
			server.Serve(listener)
		}()
		number, problem := start(&blockServer{url: "http://" + listener.Addr().String()}, patient).take(1)
		wantFrom(t, 0, number, problem)
	}
}

// A call goes on after an answer that ends its connection without an error.
func changeProtocol(t *testing.T, start startClient) {
	s := newBlockServer(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n > 0 {
			sendBlock(w, n)
			return
		}
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		t.Cleanup(func() { conn.Close() })
	})
	number, problem := start(s, patient).take(1)
	wantFrom(t, 1, number, problem)
}

// A call ends when its timeout has passed, even if a request has begun later. That request's block is used by later calls.
func beginLate(t *testing.T, start startClient) {
	for attempt, timeout := 1, 4*time.Second; ; attempt, timeout = attempt+1, 2*timeout { // a client that is not cured fails always
		ended := make(chan struct{}) // the first call
		s := newBlockServer(t, func(w http.ResponseWriter, r *http.Request, n int) {
			switch n {
			case 0:
				time.Sleep(timeout * 3 / 8)
				http.Error(w, `{"first": null}`, http.StatusServiceUnavailable)
				return
			case 1:
				select {
				case <-ended:
				case <-r.Context().Done():
				}
			}
			sendBlock(w, n)
		})
		c := start(s, timeout)
		_, problem := c.take(1)
		close(ended)
		if number, _ := c.take(1); strings.Contains(problem, "503") && number == blockStart(1) {
			return
		}
		if attempt == 5 {
			t.Fatalf("the error is %q; want the server's, and that the next call gets a number of request 1", problem)
		}
	}
}

// The largest numbers are handed out. The answer may have spaces, and fields in another order.
func sendLargest(t *testing.T, start startClient) {
	const stride = 7
	first := int64(math.MaxInt64 - 2*stride)
	s := newBlockServer(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 0 {
			fmt.Fprintf(w, "{ \"stride\" : %d,\n \"count\": 3, \"expires_in\" : 1e3 , \"first\" : \"%d\" }", stride, first)
			return
		}
		sendBlock(w, n)
	})
	c := start(s, patient)
	for n := range int64(3) {
		if number, problem := c.take(1); number != first+n*stride {
			t.Errorf("number %d is %d, %q; want %d", n, number, problem, first+n*stride)
		}
	}
	number, problem := c.take(1)
	wantFrom(t, 1, number, problem)
}

// A redirect ends a call with an error, and does not lead the token, which ends with a line break as in a file, to another server.
func redirect(t *testing.T, start startClient) {
	other := newBlockServer(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if h := r.Header.Get("Authorization"); h != "" || !strings.HasPrefix(r.UserAgent(), "Python-urllib") { // which follows, without the token
			t.Errorf("%s has followed a redirect with the header %q", r.UserAgent(), h)
		}
		http.Error(w, "must be POST", http.StatusMethodNotAllowed)
	})
	s := newBlockServer(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if h := r.Header.Get("Authorization"); h != "Bearer secret" {
			t.Errorf("the server has got %q; want the token", h)
		}
		http.Redirect(w, r, other.url, http.StatusFound)
	})
	c := start(s, patient)
	if number, problem := c.take(1); !strings.Contains(problem, "302") && !strings.Contains(problem, "405") {
		t.Errorf("the number is %d, %q; want the server's error", number, problem)
	}
}

// A process that was forked in any way, also while a request was on its way, does not hand out the numbers of its parent.
func fork(t *testing.T, start startClient, kind string) {
	ended := make(chan struct{})
	s := newBlockServer(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 2 {
			select {
			case <-ended:
			case <-r.Context().Done():
			}
		}
		sendBlock(w, n)
	})
	c := start(s, time.Minute)
	c.take(1)
	number, problem := c.do(kind)
	wantFrom(t, 1, number, problem)
	taken := 1
	if kind == "fork in a call" { // the parent's call took a number, too. A call that waits for a block when it is forked would end with an error
		taken, kind = 2, "fork"
	}
	if number, problem = c.take(1); number != blockStart(0)+int64(taken) {
		t.Errorf("the parent's number is %d, %q; want the next one of its block", number, problem)
	}
	c.take(perBlock - 1 - taken) // and the client requests the next block
	testkit.Eventually(t, "a request for the next block", func() bool { return len(s.requests()) >= 3 })
	number, problem = c.do(kind)
	wantFrom(t, 3, number, problem)
	close(ended)
	number, problem = c.take(1)
	wantFrom(t, 2, number, problem)
}

// If no thread can begin, numbers in memory are handed out, and then a call ends with an error. Later calls send requests again.
func noThreads(t *testing.T, start startClient) {
	s := newBlockServer(t, func(w http.ResponseWriter, r *http.Request, n int) { sendBlock(w, n) })
	c := start(s, 3*time.Second)
	testkit.Eventually(t, "the first block", func() bool { // a busy machine may have no answer within three seconds
		_, problem := c.take(1)
		return problem == ""
	})
	fmt.Fprintln(c.in, "no threads")
	before := len(s.requests())
	number, problem := c.take(perBlock - 1)
	wantFrom(t, before-1, number, problem)
	if number, problem = c.take(1); !strings.Contains(problem, "thread") {
		t.Errorf("the number is %d, %q; want the error that no thread can begin", number, problem)
	}
	fmt.Fprintln(c.in, "threads")
	testkit.Eventually(t, "a number of another request", func() bool {
		number, _ := c.take(1)
		return number >= blockStart(before)
	})
}

// Handlers of signals that take numbers, or raise, wherever Python calls them: each number is handed out once, and the client goes on.
func interrupt(t *testing.T, start startClient) {
	s := newBlockServer(t, func(w http.ResponseWriter, r *http.Request, n int) {
		fmt.Fprintf(w, `{"first":"%d","count":2}`, blockStart(n))
	})
	c := start(s, time.Minute)
	fmt.Fprintln(c.in, "signals")
	if _, problem := c.take(500); problem != "" {
		t.Errorf("after %d requests: %q", len(s.requests()), problem)
	}
}

// A tag that leads to another path of the server gets no number.
func takeOfPath(t *testing.T, start startClient) {
	s := newBlockServer(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if r.URL.Path == "/v1/block" {
			sendBlock(w, n)
			return
		}
		http.Error(w, "no such tag", http.StatusBadRequest)
	})
	s.tag = ".."
	if number, problem := start(s, patient).take(1); problem == "" {
		t.Errorf("the number is %d; want an error", number)
	}
}

// A client asks for as many numbers as it uses: for few while most of them expire, and for size when it uses many.
func useFewThenMany(t *testing.T, start startClient) {
	const life, size = 200 * time.Millisecond, 8192
	var expires atomic.Bool
	expires.Store(true)
	asked := make(chan int, 1000)
	s := newBlockServer(t, func(w http.ResponseWriter, r *http.Request, n int) {
		count, err := strconv.Atoi(r.URL.Query().Get("n"))
		if err != nil || count < 1 || count > size {
			t.Errorf("request %d is for %s; want 1 to %d numbers", n, r.URL, size)
		}
		asked <- count
		if expires.Load() {
			fmt.Fprintf(w, `{"first":"%d","count":%d,"expires_in":%g}`, blockStart(n), count, life.Seconds())
			return
		}
		fmt.Fprintf(w, `{"first":"%d","count":%d}`, blockStart(n), count)
	})
	c := start(s, patient)
	for range 10 {
		if _, problem := c.take(1); problem != "" {
			t.Fatal(problem)
		}
		time.Sleep(life)
	}
	last := 0
	for range len(asked) {
		last = <-asked
	}
	if last > 4 {
		t.Errorf("the last request was for %d numbers, after one number of each block; want 4 at most", last)
	}
	expires.Store(false)
	if _, problem := c.take(3 * size); problem != "" {
		t.Fatal(problem)
	}
	most := 0
	for range len(asked) {
		most = max(most, <-asked)
	}
	if most != size {
		t.Errorf("requests were for %d numbers at most; want %d", most, size)
	}
}

// A client asks for as many numbers after an outage as before it.
func askInOutage(t *testing.T, start startClient) {
	var asked atomic.Value
	s := newBlockServer(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n < 6 {
			http.Error(w, "no number", http.StatusServiceUnavailable)
			return
		}
		asked.CompareAndSwap(nil, r.URL.Query().Get("n"))
		sendBlock(w, n)
	})
	number, problem := start(s, patient).take(1)
	wantFrom(t, 6, number, problem)
	if asked.Load() != "64" {
		t.Errorf("the client asks for %v numbers after an outage at its start; want 64", asked.Load())
	}
}

// A size that the server does not allow costs some calls, and does not end the client.
func askForTooMany(t *testing.T, start startClient) {
	s := newBlockServer(t, func(w http.ResponseWriter, r *http.Request, n int) {
		count, _ := strconv.Atoi(r.URL.Query().Get("n"))
		if count > 1000 {
			http.Error(w, "n is too large", http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, `{"first":"%d","count":%d}`, blockStart(n), count)
	})
	c := start(s, patient)
	failures := 0
	for range 200 {
		if _, problem := c.take(100); problem != "" {
			if failures++; failures == 100 {
				t.Fatalf("100 of 200 calls have failed, the last one with %q", problem)
			}
		}
	}
	t.Logf("%d of 200 calls failed", failures)
}

// A number can be taken by the thread of the timers of CompletableFuture ("timer"), and while all threads of the common pool are busy ("busy pool").
func takeAs(t *testing.T, start startClient, how string) {
	s := newBlockServer(t, func(w http.ResponseWriter, r *http.Request, n int) { sendBlock(w, n) })
	number, problem := start(s, time.Minute).do(how)
	wantFrom(t, 0, number, problem)
}

// All requests by a proxy reach a server with TLS in a tunnel, in which TLS is spoken.
func useProxy(t *testing.T, command []string) {
	proxy := newBlockServer(t, func(w http.ResponseWriter, r *http.Request, n int) {
		conn, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		buf.WriteString("HTTP/1.1 200 OK\r\n\r\n")
		buf.Flush()
		const handshake = 22 // the first byte that TLS sends
		if first, err := buf.ReadByte(); r.Method != http.MethodConnect || err == nil && first != handshake {
			t.Errorf("request %d to the proxy is %s %s, and then %q; want a tunnel, and TLS", n, r.Method, r.URL, first)
		}
	})
	c := newBlockClient(t, append([]string{"env", "no_proxy=", "https_proxy=" + proxy.url}, command...), &blockServer{url: "https://ringuid.test"}, time.Second)
	testkit.Eventually(t, "three requests", func() bool {
		if number, problem := c.take(1); problem == "" {
			t.Fatalf("the number is %d; want an error", number)
		}
		return len(proxy.requests()) >= 3
	})
}
