package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/stores/filestore"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
)

// newGenerator returns a generator with a worker file of its own.
func newGenerator(t testing.TB, opts ...uid.Option) *uid.Cached {
	t.Helper()
	g, err := uid.NewCached(t.Context(), workerassign.NewFile(filepath.Join(t.TempDir(), "worker")), append(opts, uid.WithLogger(slog.New(slog.DiscardHandler)))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

// newSequences returns sequences on a file with the tags orders, invoices and a tag with characters that a URL must escape.
func newSequences(t testing.TB) *segment.Tags {
	t.Helper()
	source := filestore.New(filepath.Join(t.TempDir(), "tags"))
	for _, tag := range []string{"orders", "invoices", oddTag} {
		if err := source.CreateTag(t.Context(), tag, segment.TagConfig{Step: 100}); err != nil {
			t.Fatal(err)
		}
	}
	tags, err := segment.NewTags(source, segment.WithLogger(slog.New(slog.DiscardHandler)), segment.WithMaxWait(patience),
		segment.WithTryTimeout(patience))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tags.Close() })
	return tags
}

const oddTag = "a/b c%ü"

// A testServer is a Server that serves a port of the loopback interface, or in a bubble.
type testServer struct {
	*Server
	t    testing.TB
	url  string
	addr string
	log  *testkit.Buffer

	dial func(ctx context.Context, network, address string) (net.Conn, error)
	stop func() error // ends Serve, and returns its error
}

// patience is longer than anything takes, also on a busy machine.
const patience = 2 * time.Minute

// testConfig returns a configuration for tests: any free port, no drain, and time limits that nothing meets.
func testConfig() Config {
	cfg := DefaultConfig()
	cfg.Listen, cfg.Drain = "127.0.0.1:0", 0
	cfg.RequestTimeout, cfg.HeaderTimeout, cfg.ReadTimeout, cfg.IdleTimeout, cfg.ShutdownTimeout = patience, patience, patience, patience, patience
	cfg.WriteTimeout = 2 * patience
	return cfg
}

// start serves. Without options, it has a generator and sequences.
func start(t testing.TB, cfg Config, opts Options) *testServer {
	t.Helper()
	l, err := Listen(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return startOn(t, l, new(net.Dialer).DialContext, cfg, opts)
}

// A pipeListener accepts connections in memory.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.close()
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

func (l *pipeListener) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, syscall.ECONNREFUSED
	}
}

// inBubble runs a test in a bubble of package synctest, where time passes only when all wait, in the year 2026. It serves with start,
// which connects clients by pipes: they accept a byte only when the other side reads it.
func inBubble(t *testing.T, test func(t *testing.T, start func(cfg Config, opts Options) *testServer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)))
		test(t, func(cfg Config, opts Options) *testServer {
			t.Helper()
			l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
			l.close = sync.OnceFunc(func() { close(l.closed) })
			return startOn(t, l, l.dial, cfg, opts)
		})
	})
}

// startOn serves a listener.
func startOn(t testing.TB, l net.Listener, dial func(ctx context.Context, network, address string) (net.Conn, error), cfg Config, opts Options) *testServer {
	t.Helper()
	if opts.UIDs == nil && opts.Sequences == nil {
		opts.UIDs, opts.Sequences = newGenerator(t), newSequences(t)
	}
	log := new(testkit.Buffer)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	s, err := New(cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	stop := sync.OnceValue(func() error {
		cancel()
		return <-served
	})
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("Serve: %v", err)
		}
		if strings.Contains(log.String(), "panic") && !errors.Is(t.Context().Err(), errPanicExpected) {
			t.Errorf("a handler has panicked:\n%s", log)
		}
	})
	return &testServer{Server: s, t: t, url: "http://" + l.Addr().String(), addr: l.Addr().String(), log: log, dial: dial, stop: stop}
}

var errPanicExpected = errors.New("a panic is expected")

// An answer is what a server has answered.
type answer struct {
	status int
	header http.Header
	body   string
}

// client returns a client that follows no redirects, and whose connections end with the test.
func (s *testServer) client() *http.Client {
	tr := &http.Transport{DialContext: s.dial}
	s.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// do sends a request with a header of alternating names and values.
func (s *testServer) do(method, path, body string, header ...string) answer {
	s.t.Helper()
	req, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body == "" {
		req.Body, req.ContentLength = nil, 0
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Set(header[i], header[i+1])
	}
	c := s.client()
	defer c.CloseIdleConnections()
	resp, err := c.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(text)}
}

// get sends a GET.
func (s *testServer) get(path string, header ...string) answer {
	s.t.Helper()
	return s.do("GET", path, "", header...)
}

// connect returns a new connection, which ends with the test.
func (s *testServer) connect() net.Conn {
	s.t.Helper()
	conn, err := s.dial(s.t.Context(), "tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	return conn
}

// raw sends bytes on a new connection, and returns everything that comes back until the server closes it.
func (s *testServer) raw(text string) string {
	s.t.Helper()
	conn := s.connect()
	defer conn.Close()
	go io.WriteString(conn, text) // the server may answer before it has read everything, and close the connection
	return s.readAll(conn)
}

// readAll returns everything that comes until the server closes a connection, which it must do before its time limit for idle connections.
func (s *testServer) readAll(conn net.Conn) string {
	s.t.Helper()
	conn.SetReadDeadline(time.Now().Add(s.cfg.IdleTimeout / 2))
	back, err := io.ReadAll(conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.t.Fatalf("the connection was not closed; it has sent %.200q", back)
	}
	return string(back)
}

// A fakeGenerator is a generator whose calls a test decides.
type fakeGenerator struct {
	uid.Generator
	next func(ctx context.Context) (uid.ID, error)
}

func (g *fakeGenerator) NextContext(ctx context.Context) (uid.ID, error) { return g.next(ctx) }

func (g *fakeGenerator) NextNContext(ctx context.Context, dst []uid.ID) (int, error) {
	for i := range dst {
		var err error
		if dst[i], err = g.next(ctx); err != nil {
			return i, err
		}
	}
	return len(dst), nil
}

// fakeSequences are sequences whose calls a test decides.
type fakeSequences struct {
	claim  func(ctx context.Context, tag string, n int64) (segment.Range, error)
	health map[string]segment.Health
}

func (q *fakeSequences) NextContext(ctx context.Context, tag string) (int64, error) {
	r, err := q.claim(ctx, tag, 1)
	return r.First, err
}

func (q *fakeSequences) Claim(ctx context.Context, tag string, n int64) (segment.Range, error) {
	return q.claim(ctx, tag, n)
}

func (q *fakeSequences) Stats() iter.Seq2[string, segment.Stats] {
	return func(func(string, segment.Stats) bool) {}
}

func (q *fakeSequences) Health() iter.Seq2[string, segment.Health] {
	return func(yield func(string, segment.Health) bool) {
		for tag, h := range q.health {
			if !yield(tag, h) {
				return
			}
		}
	}
}

// check compares an answer with a status and a body.
func check(t *testing.T, what string, got answer, status int, body string) {
	t.Helper()
	if got.status != status || got.body != body {
		t.Errorf("%s: status %d, body %q; want %d, %q", what, got.status, got.body, status, body)
	}
}

// isProblem checks that an answer is a problem whose detail contains a text.
func isProblem(t *testing.T, what string, got answer, status int, contains string) {
	t.Helper()
	if got.status != status || got.header.Get("Content-Type") != "application/problem+json" || !strings.Contains(got.body, contains) ||
		!strings.Contains(got.body, fmt.Sprintf(`"request_id":%q`, got.header.Get("X-Request-Id"))) {
		t.Errorf("%s: %d %q %s; want a problem of status %d with %q", what, got.status, got.header, got.body, status, contains)
	}
}
