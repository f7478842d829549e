package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/cli"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/freeport"
	"github.com/ringuid/ringuid/internal/testkit/uniq"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/settings"
	"github.com/ringuid/ringuid/stores/filestore"
)

// asServer, where it is set, makes the test binary run the command ringuid instead of the tests.
const asServer = "TEST_AS_RINGUID_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		os.Exit(cli.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.LookupEnv, os.Environ()))
	}
	os.Exit(m.Run())
}

// A process is a running "ringuid serve".
type process struct {
	*exec.Cmd
	t      testing.TB
	addr   string
	exited chan struct{}

	mu  sync.Mutex
	log strings.Builder
}

var listening = regexp.MustCompile(`msg=listening address=(\S+)`)

// startProcess starts a server process and waits until it listens.
func startProcess(t testing.TB, args ...string) *process {
	t.Helper()
	if runtime.GOOS == "windows" {
		testkit.Missing(t, "Windows cannot send a signal to one process")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute) // it is killed if it does not end
	t.Cleanup(cancel)
	p := &process{Cmd: exec.CommandContext(ctx, os.Args[0], append([]string{"serve"}, args...)...), t: t, exited: make(chan struct{})}
	p.Env = []string{asServer + "=1"}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, settings.Prefix) { // the tests have variables of their own
			p.Env = append(p.Env, v)
		}
	}
	stderr, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	go func() {
		defer close(p.exited)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			p.mu.Lock()
			p.log.WriteString(lines.Text() + "\n")
			p.mu.Unlock()
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				address <- m[1]
			}
		}
		p.Wait()
	}()
	t.Cleanup(func() {
		p.Process.Kill()
		<-p.exited
		if t.Failed() {
			t.Logf("the server wrote:\n%s", p.text())
		}
	})
	select {
	case p.addr = <-address:
	case <-p.exited:
		t.Fatalf("the server has ended:\n%s", p.text())
	}
	return p
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// stop sends SIGTERM, and waits until the process has ended with status 0.
func (p *process) stop() {
	p.t.Helper()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	<-p.exited
	if code := p.ProcessState.ExitCode(); code != 0 {
		p.t.Errorf("the server ended with status %d:\n%s", code, p.text())
	}
}

// newTagFile creates tags in the file that belongs to a worker file.
func newTagFile(t testing.TB, workerFile string, tags ...string) {
	t.Helper()
	source := filestore.New(workerFile)
	for _, tag := range tags {
		if err := source.CreateTag(t.Context(), tag, segment.TagConfig{Step: 1000}); err != nil {
			t.Fatal(err)
		}
	}
}

// A loadClient sends requests one after the other on a connection that it keeps, without trying again.
type loadClient struct {
	addr     string
	conn     net.Conn
	in       *bufio.Reader
	answered time.Time // when the last answer ended
}

var (
	// errRefused is the error of a connection that was not accepted, or that this process has left alone for a while, so that the server
	// has closed it.
	errRefused = errors.New("refused")

	// errWasIdle is the error of a connection that was idle for a moment when the server closed it. The request was on its way.
	errWasIdle = errors.New("the connection was idle")
)

// list requests a list of numbers. An error other than errRefused and errWasIdle is a request that failed although it was
// accepted.
func (c *loadClient) list(path string) ([]int64, error) {
	fresh := c.conn == nil
	if fresh {
		conn, err := net.Dial("tcp", c.addr)
		if err != nil {
			return nil, errRefused
		}
		c.conn, c.in = conn, bufio.NewReader(conn)
	}
	drop := func(err error) ([]int64, error) {
		c.conn.Close()
		c.conn = nil
		return nil, err
	}
	wasSuspended := time.Since(c.answered) > 100*time.Millisecond
	c.conn.SetDeadline(time.Now().Add(10 * time.Minute)) // a virtual machine may stand still for more than a minute
	_, werr := io.WriteString(c.conn, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if _, err := c.in.Peek(1); err != nil {
		switch isClosed := errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF) || errors.Is(werr, syscall.EPIPE); {
		// That no request that was accepted is among these is checked by the server's own count.
		case isClosed && (fresh || wasSuspended): // if it is fresh, the kernel had completed it, and the listener was closed before the server accepted it
			return drop(errRefused)
		case isClosed:
			return drop(errWasIdle)
		}
		return drop(fmt.Errorf("no answer: %w", err))
	}
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return drop(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return drop(fmt.Errorf("a part of an answer: %w", err))
	}
	c.answered = time.Now()
	if resp.Close {
		drop(nil)
		time.Sleep(10 * time.Millisecond) // the server drains: few requests are enough
	}
	var out struct{ IDs []int64 }
	if err := json.Unmarshal(body, &out); err != nil || resp.StatusCode != 200 || len(out.IDs) == 0 {
		return nil, fmt.Errorf("%s: %s: %v", resp.Status, body, err)
	}
	return out.IDs, nil
}

var finished = regexp.MustCompile(`all requests are finished" requests=(\d+) failures=(\d+)`)

// SIGTERM under load: no request that was accepted fails, and no number comes twice, although the server is started again
// on the same store several times.
func TestRestartsUnderLoad(t *testing.T) {
	rounds, pause := testkit.Size(3, 30), testkit.Size(150*time.Millisecond, time.Second)
	for _, assign := range []string{"disposable", "recycled"} {
		t.Run(assign, func(t *testing.T) {
			port, err := freeport.One()
			if err != nil {
				t.Fatal(err)
			}
			addr := "127.0.0.1:" + strconv.Itoa(port)
			file := filepath.Join(t.TempDir(), "workers")
			newTagFile(t, file, "orders")
			args := []string{"--store", "file:" + file + "?assign=" + assign, "--tag-store", file, "--listen", addr, "--drain", "500ms",
				"--request-timeout", "2m", "--write-timeout", "3m", "--shutdown-timeout", "3m"} // a busy machine may write a file only after seconds
			var uids, numbers uniq.Set
			var answered, refused, idle atomic.Int64
			const loadClients = 8
			var clients sync.WaitGroup
			stopping := make(chan struct{})
			stop := sync.OnceFunc(func() { close(stopping); clients.Wait() })
			defer stop()
			for i := range loadClients {
				clients.Go(func() {
					path, seen := "/v1/uid?n=50&as=number", uids.Writer()
					if i%2 == 1 {
						path, seen = "/v1/segment/orders?n=50&as=number", numbers.Writer()
					}
					c := &loadClient{addr: addr}
					for {
						select {
						case <-stopping:
							return
						default:
						}
						ids, err := c.list(path)
						if errors.Is(err, errRefused) {
							refused.Add(1)
							time.Sleep(5 * time.Millisecond) // no server listens
							continue
						}
						if errors.Is(err, errWasIdle) {
							idle.Add(1)
							continue
						}
						if err != nil {
							t.Errorf("a request failed: %v", err)
							return
						}
						answered.Add(1)
						for _, id := range ids {
							if !seen.Add(id) {
								t.Errorf("%d came twice", id)
								return
							}
						}
					}
				})
			}
			var sum int64
			for range rounds {
				p := startProcess(t, args...)
				before := answered.Load()
				testkit.Eventually(t, "200 requests are answered", func() bool { return answered.Load() >= before+200 || t.Failed() })
				time.Sleep(pause)
				p.stop()
				m := finished.FindStringSubmatch(p.text())
				if m == nil || m[2] != "0" {
					t.Fatalf("the server wrote:\n%s", p.text())
				}
				n, _ := strconv.ParseInt(m[1], 10, 64)
				sum += n
			}
			stop()
			if sum != answered.Load() {
				t.Errorf("the servers have answered %d requests, and the clients have received %d answers", sum, answered.Load())
			}
			// Without draining, each client would lose a request in almost each round. With it, only one that is suspended
			// in the middle of a call.
			if idle.Load() > int64(rounds)*loadClients/2 {
				t.Errorf("%d requests were sent on connections that the server closed", idle.Load())
			}
			t.Logf("%d requests over %d processes, %d UIDs, %d numbers, no duplicate; %d connections were refused, %d were idle at the end of a process",
				answered.Load(), rounds, uids.Len(), numbers.Len(), refused.Load(), idle.Load())
		})
	}
}

// The command refuses a wrong configuration with all its faults and status 2, before it uses a worker ID.
func TestWrongConfiguration(t *testing.T) {
	var out strings.Builder
	file := filepath.Join(t.TempDir(), "workers")
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"RINGUID_MAX_BATCH": "0"}[name]
		return v, ok
	}
	status := cli.Run(t.Context(), []string{"serve", "--store", file, "--drain=x", "--listen=y", "--tag-store=mysql://u:secret@h", "--layout=1-2", "--worker-name=a"}, nil, io.Discard, &out, env,
		[]string{"RINGUID_TOKENFILE=secret", "RINGUID_MAX_BATCH=0"})
	if strings.Contains(out.String(), "secret") || !strings.Contains(out.String(), "7 settings are wrong:\n  ") {
		t.Errorf("%s", out.String())
	}
	for _, want := range []string{`RINGUID_MAX_BATCH is 0; must be 1 to 100000`, `--drain is "x"`, `--listen is "y"`, "RINGUID_TOKENFILE is not a setting; did you mean RINGUID_TOKEN_FILE?",
		`--tag-store is wrong: "mysql://u:xxxxx@h": it names no database`, "--layout: bitsalloc: ", "--store is wrong: "} {
		if !strings.Contains(out.String(), want) || status != 2 {
			t.Errorf("status %d, %s; want %q", status, out.String(), want)
		}
	}
	out.Reset()
	if status := cli.Run(t.Context(), []string{"serve"}, nil, io.Discard, &out, env0, nil); status != 2 || !strings.Contains(out.String(), "nothing to serve") {
		t.Errorf("status %d: %s", status, out.String())
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	out.Reset()
	if status := cli.Run(t.Context(), []string{"serve", "--store", file, "--listen", l.Addr().String()}, nil, io.Discard, &out, env0, nil); status != 1 || !strings.Contains(out.String(), "cannot listen on") {
		t.Errorf("a port in use: status %d: %s", status, out.String())
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the store was used: %v", err)
	}
}

func env0(string) (string, bool) { return "", false }
