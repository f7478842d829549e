package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// A writeCounter counts the writes of the connections that it accepts.
type writeCounter struct {
	net.Listener
	mu     sync.Mutex
	writes []int // the length of each
}

func (l *writeCounter) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return countedConn{c, l}, err
}

func (l *writeCounter) reset() (writes []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	writes, l.writes = l.writes, nil
	return writes
}

type countedConn struct {
	net.Conn
	l *writeCounter
}

func (c countedConn) Write(p []byte) (int, error) {
	c.l.mu.Lock()
	c.l.writes = append(c.l.writes, len(p))
	c.l.mu.Unlock()
	return c.Conn.Write(p)
}

// An answer has all its bytes, whatever its length is, and those from minJoined to maxJoined are one write. Several are asked for on one
// connection, so that one that lacks a byte would disturb the next.
func TestJoinedAnswers(t *testing.T) {
	s, err := New(testConfig(), Options{UIDs: newGenerator(t)})
	if err != nil {
		t.Fatal(err)
	}
	body := make([]byte, maxJoined+2)
	for i := range body {
		body[i] = byte('a' + i%23)
	}
	s.handler = s.answer(&route{path: "/length", metrics: s.metrics.route("other"), handler: func(c *call) {
		var n int
		fmt.Sscan(c.r.URL.RawQuery, &n)
		c.send(http.StatusOK, c.s.values.text, body[:n])
	}})
	inner, err := Listen(t.Context(), testConfig())
	if err != nil {
		t.Fatal(err)
	}
	l := &writeCounter{Listener: inner}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Serve(ctx, l); err != nil {
			t.Error(err)
		}
	})
	defer wg.Wait()
	defer stop()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	for _, n := range []int{1, 1999, 2000, 2001, 2048, 4000, 4096, 5000, minJoined - 1, minJoined, minJoined + 1, 22_000, maxJoined - 1, maxJoined, maxJoined + 1} {
		for _, method := range []string{"HEAD", "GET"} {
			l.reset()
			fmt.Fprintf(conn, "%s /length?%d HTTP/1.1\r\nHost: localhost\r\n\r\n", method, n)
			r := must(http.ReadResponse(in, &http.Request{Method: method}))(t)
			got := must(io.ReadAll(r.Body))(t)
			if method == "HEAD" {
				if len(got) != 0 || r.ContentLength != int64(n) {
					t.Errorf("HEAD: %d bytes, length %d; want 0, %d", len(got), r.ContentLength, n)
				}
				continue
			}
			if string(got) != string(body[:n]) {
				t.Errorf("%d bytes: got %d, or other ones", n, len(got))
			}
			writes := l.reset()
			if n >= minJoined && n <= maxJoined && len(writes) != 1 {
				t.Errorf("%d bytes: %d writes, want 1", n, writes)
			}
			if n > maxJoined && len(writes) == 1 {
				t.Errorf("%d bytes were copied", n)
			}
		}
	}
	// A list of 1,000 UIDs is among those lengths.
	fmt.Fprint(conn, "GET /v1/uid?n=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
	r := must(http.ReadResponse(in, nil))(t)
	if got := must(io.ReadAll(r.Body))(t); strings.Count(string(got), ",") != 999 {
		t.Errorf("%.100s", got)
	}
	if writes := l.reset(); len(writes) != 1 {
		t.Errorf("a list: %d writes, want 1", writes)
	}
}

// must returns the value of a call, or ends the test with its error.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// A failingConn accepts some bytes, and then fails. It accepts more afterwards, as a connection whose deadline was moved.
type failingConn struct {
	net.Conn
	accepts int
	got     []byte
}

var errWrite = errors.New("write failed")

func (c *failingConn) Write(p []byte) (int, error) {
	n := min(len(p), c.accepts)
	c.got = append(c.got, p[:n]...)
	if n < len(p) {
		c.accepts = 1000
		return n, errWrite
	}
	c.accepts -= n
	return n, nil
}

// After a write that failed, net/http learns how much was written of its part, and nothing more is sent.
func TestJoinedWriteFails(t *testing.T) {
	for _, accepts := range []int{0, 1, 3, 4, 6} {
		inner := &failingConn{accepts: accepts}
		c := &joiningConn{Conn: inner}
		c.hold(new([]byte))
		if n, err := c.Write([]byte("abc")); n != 3 || err != nil {
			t.Errorf("held: %d, %v", n, err)
		}
		n, err := c.Write([]byte("defg"))
		if want := max(accepts-3, 0); n != want || err != errWrite {
			t.Errorf("%d bytes accepted: %d, %v; want %d", accepts, n, err, want)
		}
		c.release()
		if n, err := c.Write([]byte("next")); n != 0 || err != errWrite || len(inner.got) != accepts {
			t.Errorf("the next one: %d, %v; sent %q", n, err, inner.got)
		}
	}
	inner := &failingConn{accepts: 2}
	c := &joiningConn{Conn: inner}
	c.hold(new([]byte))
	c.Write([]byte("abc"))
	c.release()
	if n, err := c.Write([]byte("next")); n != 0 || err != errWrite || string(inner.got) != "ab" {
		t.Errorf("after release: %d, %v; sent %q", n, err, inner.got)
	}
}

// Memory that was used is empty when it is used again, also if its bytes were sent by release.
func TestJoinPool(t *testing.T) {
	var pool joinPool
	for range 100 { // the pool does not always return what was put
		buf := pool.get()
		if len(*buf) > 0 {
			t.Fatalf("%q is sent with another answer", *buf)
		}
		c := &joiningConn{Conn: &failingConn{accepts: 100}}
		c.hold(buf)
		c.Write([]byte("answer"))
		c.release()
		pool.put(buf)
	}
}

// What is held is sent by release, and a third write is not held.
func TestJoinedWrites(t *testing.T) {
	inner := &failingConn{accepts: 100}
	c := &joiningConn{Conn: inner}
	c.Write([]byte("1"))
	c.hold(new([]byte))
	c.Write([]byte("2"))
	if string(inner.got) != "1" {
		t.Errorf("sent %q although it is held", inner.got)
	}
	c.release()
	c.Write([]byte("3"))
	c.hold(new([]byte))
	c.Write([]byte("4"))
	c.Write([]byte("5"))
	c.Write([]byte("6"))
	c.release()
	if string(inner.got) != "123456" {
		t.Errorf("sent %q", inner.got)
	}
}

// A client that reads only a part of an answer gets nothing more after the time limit, and no second answer.
func TestJoinedAnswerOfSlowClient(t *testing.T) {
	inBubble(t, func(t *testing.T, start func(Config, Options) *testServer) {
		cfg := testConfig()
		cfg.RequestTimeout, cfg.WriteTimeout = time.Second, 2*time.Second
		s := start(cfg, Options{UIDs: newGenerator(t)})
		const request = "GET /v1/uid?n=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n"
		length := len(s.raw(strings.Replace(request, "Host", "Connection: close\r\nHost", 1))) - len("Connection: close\r\n")
		for _, read := range []int{0, 1, 100, 2000, 4096, 5000, length - 1} {
			conn := s.connect()
			go io.WriteString(conn, request+request)
			first := make([]byte, read)
			if _, err := io.ReadFull(conn, first); err != nil || strings.HasSuffix(string(first), "]}\n") {
				t.Fatalf("%d bytes of %d: %v: %q", read, length, err, first)
			}
			time.Sleep(cfg.WriteTimeout + time.Millisecond)
			if rest := s.readAll(conn); rest != "" {
				t.Errorf("after %d bytes and the time limit came %d more: %.200q", read, len(rest), rest)
			}
		}
		if a := s.get("/v1/uid?n=1000"); a.status != 200 || strings.Count(a.body, ",") != 999 {
			t.Errorf("another client: %+v", a)
		}
	})
}

// Other http.ResponseWriters have no connection that joins.
func TestJoinedWithoutConn(t *testing.T) {
	s, err := New(testConfig(), Options{UIDs: newGenerator(t)})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/v1/uid?n=1000", nil))
	if strings.Count(w.Body.String(), ",") != 999 {
		t.Errorf("%.100s", w.Body)
	}
}
