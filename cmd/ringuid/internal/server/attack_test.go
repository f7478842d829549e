package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/uid"
)

// Paths that go up, are doubled, or have characters that no path has, get a clear answer. They reach no file and no
// tag.
func TestPathTricks(t *testing.T) {
	s := start(t, testConfig(), Options{})
	for path, status := range map[string]string{
		"/../etc/passwd": "400", "/v1/../v1/uid": "400", "/./v1/uid": "400", "//v1/uid": "400", "/v1//uid": "400", "/v1/uid/..": "400", "/v1/uid/.": "400",
		"/assets/../server.go": "400", "/assets/%2e%2e%2fserver.go": "404", "/assets/..%2f..%2fserver.go": "404", "/assets/%2e%2e": "404", "/assets/": "404", "/assets": "404",
		"/assets/index.html": "404", "/assets/page.js/": "404", "/assets/page.js%00": "404", "/assets/PAGE.JS": "404", "/v1/uid/%2e%2e": "400", "/v1/segment/%2e%2e": "400",
		"/v1/segment/..%2f..%2fetc%2fpasswd": "404", "/v1/segment/%00": "400", "/v1/segment/%ff": "400", "/v1/segment/": "404", "/v1/uid/": "404", "/V1/UID": "404", "/v1/uid%3fn=5": "404",
		"/%": "400", "/%zz": "400", "/v1/uid\\..\\x": "404", "http://evil.example/v1/uid": "421", "*": "400", "evil": "400", "/v1/uid#x": "404", "/api/segment/get/": "404",
	} {
		back := s.raw("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		if got, _, _ := strings.Cut(strings.TrimPrefix(back, "HTTP/1.1 "), " "); got != status {
			t.Errorf("%s: %.100q, want status %s", path, back, status)
		}
	}
	for method, status := range map[string]int{"POST": 405, "PUT": 405, "DELETE": 405, "TRACE": 405, "OPTIONS": 405, "PATCH": 405, "HEAD": 200, "PROPFIND": 405} {
		if a := s.do(method, "/v1/uid", ""); a.status != status || status == 405 && a.header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %+v", method, a)
		}
	}
	if a := s.get("/v1/parse"); a.status != 405 || a.header.Get("Allow") != "POST" {
		t.Errorf("GET of a path for POST: %+v", a)
	}
}

// Requests whose body or header is too large are refused before they are read, and their connections end.
func TestOversized(t *testing.T) {
	inBubble(t, func(t *testing.T, start func(Config, Options) *testServer) {
		s := start(testConfig(), Options{})
		chunk := fmt.Sprintf("%x\r\n%s\r\n", 1<<15, strings.Repeat("1", 1<<15))
		for name, tt := range map[string]struct{ request, status string }{
			"a body where there is none":    {"GET /v1/uid HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello", "413"},
			"chunks where there is no body": {"GET /v1/uid HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "413"},
			"no chunks":                     {"GET /v1/uid HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "200"},
			"a chunk that is none":          {"GET /v1/uid HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "400"},
			"a length of 1 TB":              {"POST /v1/parse HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1099511627776\r\n\r\n", "413"},
			"a length that is not a number": {"POST /v1/parse HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n", "400"},
			"a long body in chunks":         {"POST /v1/parse HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat(chunk, 3) + "0\r\n\r\n", "413"},
			"a header of 1 MB":              {"GET /v1/uid HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n", "431"},
			"a path of 100 kB":              {"GET /v1/uid/" + strings.Repeat("1", 100_000) + " HTTP/1.1\r\nHost: localhost\r\n\r\n", "431"},
			"an expectation":                {"POST /v1/parse HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 1099511627776\r\n\r\n", "413"},
		} {
			back := s.raw(tt.request)
			if got, _, _ := strings.Cut(strings.TrimPrefix(back, "HTTP/1.1 "), " "); got != tt.status {
				t.Errorf("%s: %.200q, want status %s", name, back, tt.status)
			}
		}
	})
}

// A client that sends a byte now and then is disconnected at the time limits; others are served meanwhile.
func TestSlowClients(t *testing.T) {
	inBubble(t, func(t *testing.T, start func(Config, Options) *testServer) {
		cfg := testConfig()
		cfg.HeaderTimeout, cfg.ReadTimeout = 5*time.Second, 10*time.Second
		s := start(cfg, Options{})
		var slow sync.WaitGroup
		begin := time.Now()
		for name, tt := range map[string]struct {
			begin, drop, answer string
			limit               time.Duration
		}{
			"a slow header":       {"GET /v1/uid HTTP/1.1\r\nHost: localhost\r\nX: ", "x", "", cfg.HeaderTimeout},
			"a slow request line": {"GET /", "x", "400", cfg.HeaderTimeout},
			"a slow body":         {"POST /v1/parse HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\n{\"ids\":[", "1", "408", cfg.ReadTimeout},
			"no body, slowly":     {"GET /v1/uid HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", "0", "408", cfg.ReadTimeout},
			"a body without end":  {"POST /v1/parse HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", "4000\r\n" + strings.Repeat("1", 0x4000) + "\r\n", "413", cfg.ReadTimeout},
		} {
			conn := s.connect()
			slow.Go(func() {
				for text := tt.begin; ; text = tt.drop {
					if _, err := io.WriteString(conn, text); err != nil {
						return
					}
					time.Sleep(time.Second)
				}
			})
			slow.Go(func() {
				back := s.readAll(conn)
				if got, _, _ := strings.Cut(strings.TrimPrefix(back, "HTTP/1.1 "), " "); got != tt.answer {
					t.Errorf("%s: %.200q, want status %q", name, back, tt.answer)
				}
				// net/http waits for half a second before it closes some connections, so that clients can read the answer.
				if took := time.Since(begin); took < tt.limit-time.Second || took > tt.limit+time.Second {
					t.Errorf("%s was disconnected after %v, want %v", name, took, tt.limit)
				}
			})
		}
		for range 20 {
			if a := s.get("/v1/uid"); a.status != 200 {
				t.Errorf("meanwhile: %d", a.status)
			}
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("others were delayed for %v", took)
		}
		slow.Wait()
	})
}

// A client that does not read its answer does not keep it in memory beyond the time limit.
func TestClientThatDoesNotRead(t *testing.T) {
	inBubble(t, func(t *testing.T, start func(Config, Options) *testServer) {
		cfg := testConfig()
		cfg.RequestTimeout, cfg.WriteTimeout = time.Second, 5*time.Second
		s := start(cfg, Options{UIDs: newGenerator(t)})
		for read := range 3 { // before the server closes the connection: nothing, or a part of an answer
			conn := s.connect()
			io.WriteString(conn, "GET /v1/uid?n=10000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
			if _, err := io.ReadFull(conn, make([]byte, 2000*read)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(cfg.WriteTimeout - time.Nanosecond)
			if n := s.inFlight.Load(); n != 1 {
				t.Errorf("%d requests are in flight before the time limit", n)
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			if n := s.inFlight.Load(); n != 0 {
				t.Errorf("%d requests are in flight after the time limit", n)
			}
			if rest := s.readAll(conn); rest != "" {
				t.Errorf("%d bytes came after the time limit", len(rest))
			}
		}
	})
}

// A body that does not arrive in time is answered with a status that says so, and without the text of the connection's error.
func TestSlowBody(t *testing.T) {
	inBubble(t, func(t *testing.T, start func(Config, Options) *testServer) {
		cfg := testConfig()
		cfg.ReadTimeout = 200 * time.Millisecond
		s := start(cfg, Options{})
		back := s.raw("POST /v1/parse HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\n{")
		if !strings.HasPrefix(back, "HTTP/1.1 408 ") || !strings.Contains(back, "within 200ms") || strings.Contains(back, "pipe") || strings.Contains(back, "i/o") {
			t.Errorf("%s", back)
		}
	})
}

// A client cannot make the records of the log long.
func TestLongTexts(t *testing.T) {
	s := start(t, testConfig(), Options{})
	long := strings.Repeat("%01", 5000)
	for _, path := range []string{"/" + long, "/v1/segment/" + long, "/api/segment/get/" + long, "/v1/uid/" + long, "/v1/uid?n=" + long, "/v1/uid?" + long} {
		if a := s.get(path); a.status < 400 {
			t.Errorf("%.20s: %d", path, a.status)
		}
	}
	s.raw(strings.Repeat("M", 10_000) + " /v1/uid HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	testkit.Eventually(t, "7 records", func() bool { return strings.Count(s.log.String(), "\n") >= 7 }) // a record may follow a long answer
	for record := range strings.Lines(s.log.String()) {
		if len(record) > 2500 {
			t.Errorf("a record of %d bytes: %.300s", len(record), record)
		}
	}
}

// heap returns the bytes of the heap in use, and the number of goroutines.
func heap() (bytes uint64, goroutines int) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, runtime.NumGoroutine()
}

// A thousand idle connections cost little, do not keep others from being served, and end at the time limit.
func TestIdleConnections(t *testing.T) {
	for name, limit := range map[string]time.Duration{"the clients end them": patience, "the server ends them": 100 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig()
			cfg.IdleTimeout, cfg.HeaderTimeout = limit, limit
			s := start(t, cfg, Options{})
			before, goroutines := heap()
			const n = 1000
			conns := make([]net.Conn, 0, n)
			defer func() {
				for _, c := range conns {
					c.Close()
				}
			}()
			for i := range n {
				conn, err := net.Dial("tcp", s.addr)
				if err != nil {
					t.Fatal(err)
				}
				conns = append(conns, conn)
				if i%2 == 0 { // half of them after a request
					io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
					if resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 512), nil); limit == patience && (err != nil || resp.StatusCode != 200) {
						t.Fatalf("%v", err)
					}
				}
			}
			if limit == patience {
				if a := s.get("/v1/uid"); a.status != 200 {
					t.Errorf("meanwhile: %+v", a)
				}
				if during, _ := heap(); during > before+n*32<<10 {
					t.Errorf("%d connections use %d KiB each", n, (during-before)/n/1024)
				}
			}
			for _, c := range conns {
				if limit == patience {
					c.Close()
					continue
				}
				c.SetReadDeadline(time.Now().Add(patience))
				if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
					t.Fatal("a connection was not closed")
				}
			}
			testkit.Eventually(t, "all goroutines have ended, and their memory is free", func() bool {
				after, now := heap()
				return now <= goroutines+5 && after <= before+2<<20
			})
		})
	}
}

// More connections than the limit wait; the server does not fail, and serves them when others end.
func TestTooManyConnections(t *testing.T) {
	cfg := testConfig()
	cfg.MaxConnections = 2
	s := start(t, cfg, Options{})
	var held []net.Conn
	for range 2 {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
		io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil {
			t.Fatal(err)
		}
	}
	third := make(chan string, 1)
	go func() {
		defer close(third) // also if it fails the test
		third <- s.raw("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	}()
	select {
	case back := <-third:
		t.Errorf("the third connection was answered: %q", back)
	case <-time.After(50 * time.Millisecond): // the time in which a wrong answer may come
	}
	held[0].Close()
	if back := <-third; !strings.HasPrefix(back, "HTTP/1.1 200") {
		t.Errorf("%q", back)
	}
	held[1].Close()
}

// More concurrent requests than the limit get status 503 at once; probes and metrics still work.
func TestTooManyRequests(t *testing.T) {
	cfg := testConfig()
	cfg.MaxRequests = 3
	release := make(chan struct{})
	g := &fakeGenerator{Generator: newGenerator(t), next: func(ctx context.Context) (uid.ID, error) {
		select {
		case <-release:
			return 1, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}}
	s := start(t, cfg, Options{UIDs: g})
	answers := make(chan int, 3)
	for range 3 {
		go func() {
			resp, err := http.Get(s.url + "/v1/uid")
			if err != nil {
				answers <- 0
				return
			}
			resp.Body.Close()
			answers <- resp.StatusCode
		}()
	}
	testkit.Eventually(t, "3 requests in flight", func() bool { return s.inFlight.Load() == 3 })
	a := s.get("/v1/uid")
	isProblem(t, "the fourth", a, 503, "3 requests")
	if a.header.Get("Retry-After") != "1" {
		t.Errorf("%v", a.header)
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/v1/stats"} {
		if a := s.get(path); a.status != 200 {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	close(release)
	for range 3 {
		if status := <-answers; status != 200 {
			t.Errorf("one of the three: %d", status)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// Open pages and probes do not use up the limit of concurrent requests.
func TestStreamsAreNotLimited(t *testing.T) {
	cfg := testConfig()
	cfg.MaxRequests = 1
	s := start(t, cfg, Options{})
	for range 3 {
		stream, err := http.Get(s.url + "/v1/events")
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Body.Close()
	}
	testkit.Eventually(t, "3 streams", func() bool { return s.streams.count() == 3 })
	for _, path := range []string{"/v1/uid", "/v1/segment/orders", "/healthz"} {
		if a := s.get(path); a.status != 200 {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if n := s.limited.Load(); n != 0 {
		t.Errorf("%d requests count for the limit", n)
	}
}

// Clients without a token cannot use up the limit of concurrent requests by not reading the answers that require none.
func TestAnswersWithoutTokenAreNotLimited(t *testing.T) {
	cfg, bearer := testTokens()
	cfg.MaxRequests = 2
	s := start(t, cfg, Options{})
	for _, path := range []string{"/openapi.json", "/assets/chart.js", "/"} {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.(*net.TCPConn).SetReadBuffer(4096)
		requests := strings.Repeat("GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n", 20_000) // their answers are more than the buffers of the kernel hold
		go io.WriteString(conn, requests)
	}
	testkit.Eventually(t, "3 answers that wait for their clients", func() bool {
		before := s.httpState()
		time.Sleep(20 * time.Millisecond)
		return before.InFlight >= 2 && s.httpState() == before
	})
	if a := s.get("/v1/uid", "Authorization", bearer("uids")); a.status != 200 {
		t.Errorf("%+v", a)
	}
}

// A panic of a handler is status 500 and a record in the log; the server goes on.
func TestPanic(t *testing.T) {
	calls := 0
	g := &fakeGenerator{Generator: newGenerator(t), next: func(context.Context) (uid.ID, error) {
		if calls++; calls == 1 {
			panic("secret detail")
		}
		return 5, nil
	}}
	log := new(testkit.Buffer)
	s := start(t, testConfig(), Options{UIDs: g, Logger: Config{LogLevel: "warn"}.Logger(log)})
	a := s.get("/v1/uid")
	isProblem(t, "a panic", a, 500, "internal error")
	if strings.Contains(a.body, "secret") || !strings.Contains(log.String(), "secret detail") || !strings.Contains(log.String(), "attack_test.go") {
		t.Errorf("%s\n%s", a.body, log)
	}
	if a := s.get("/v1/uid"); a.status != 200 {
		t.Errorf("afterwards: %+v", a)
	}
	if s.inFlight.Load() != 0 {
		t.Errorf("%d requests are in flight", s.inFlight.Load())
	}
}

// FuzzRequest sends arbitrary bytes as requests: the answers, if there are any, are of HTTP, none is a 0, none is a
// failure of the server, and no handler panics.
func FuzzRequest(f *testing.F) {
	for _, text := range []string{
		"GET /v1/uid HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /v1/uid?n=5&as=number HTTP/1.0\r\n\r\n", "POST /v1/parse HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n{\"ids\":[1]}",
		"GET /v1/segment/%2e%2e HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /api/segment/get/orders HTTP/1.1\r\nHost: [::1]\r\nAuthorization: Bearer x\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"POST /v1/parse HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", "GET / HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n\r\n", "\x16\x03\x01",
		"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		f.Add([]byte(text))
	}
	cfg := testConfig()
	cfg.HeaderTimeout, cfg.ReadTimeout, cfg.IdleTimeout = 100*time.Millisecond, 100*time.Millisecond, 50*time.Millisecond
	s := start(f, cfg, Options{})
	f.Fuzz(func(t *testing.T, request []byte) {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(patience))
		conn.Write(request)
		conn.(*net.TCPConn).CloseWrite()
		in := bufio.NewReader(conn)
		for {
			if _, err := in.Peek(1); err != nil {
				if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
					t.Fatalf("%q: the connection was not closed", request)
				}
				break
			}
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatalf("%q: not an answer: %v", request, err)
			}
			if resp.Header.Get("Content-Type") == "text/event-stream" {
				break
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				break // of HEAD, or cut off because the request was
			}
			if text := strings.TrimSpace(string(body)); text == "0" || strings.Contains(text, `"id":"0"}`) && !strings.Contains(text, "worker_id") || resp.StatusCode == 500 && !strings.Contains(text, "Result{id=-") {
				t.Fatalf("%q: %d %s", request, resp.StatusCode, body)
			}
		}
		if strings.Contains(s.log.String(), "panicked") {
			t.Fatalf("%q: a handler has panicked", request)
		}
	})
}
