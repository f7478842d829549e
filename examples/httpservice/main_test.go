package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/leaktest"
	"github.com/ringuid/ringuid/settings"
	"github.com/ringuid/ringuid/uid"
)

func TestMain(m *testing.M) {
	if testkit.ChildArg() != "" { // the service
		log.SetOutput(os.Stdout)
		for _, variable := range os.Environ() { // the tests have variables with the same prefix
			if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, settings.Prefix) && name != "RINGUID_ASSIGNER" && name != "RINGUID_STORE" {
				os.Unsetenv(name)
			}
		}
		os.Args = append(os.Args, "-addr", "127.0.0.1:0")
		main()
		return
	}
	os.Exit(m.Run())
}

// startService starts a process that runs the service on a free port.
func startService(t *testing.T, workerFile string) (service *testkit.Child, url string) {
	t.Helper()
	service = testkit.StartChild(t, "service", "RINGUID_ASSIGNER=disposable", "RINGUID_STORE=file:"+workerFile)
	for {
		if _, addr, ok := strings.Cut(service.Line(), "listening on "); ok {
			return service, "http://" + addr + "/orders"
		}
	}
}

// startRun calls run, and returns its address. stop ends it, and returns its error.
func startRun(t *testing.T) (addr string, cancel context.CancelFunc, stop func() error) {
	t.Helper()
	s := workerFile(t)
	logged, w := io.Pipe()
	log.SetOutput(w)
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, "127.0.0.1:0", s)
		w.Close()
	}()
	listening := make(chan string, 1)
	go func() {
		defer close(listening)
		for lines := bufio.NewScanner(logged); lines.Scan(); {
			if _, addr, ok := strings.Cut(lines.Text(), "listening on "); ok {
				listening <- addr
			}
		}
	}()
	addr, ok := <-listening
	if !ok {
		t.Fatal(<-ended)
	}
	return addr, cancel, func() error {
		cancel()
		return <-ended
	}
}

// post sends one order, and returns its UID.
func post(client *http.Client, url string) (uid.ID, error) {
	resp, err := client.Post(url, "application/json", strings.NewReader(`{"item": "book"}`))
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var order struct {
		ID   uid.ID
		Item string
	}
	if err := json.NewDecoder(resp.Body).Decode(&order); err != nil {
		return 0, err
	}
	if resp.StatusCode != http.StatusCreated || resp.Header.Get("Location") != "/orders/"+order.ID.String() || order.Item != "book" {
		return 0, fmt.Errorf("status %s, location %s, order %+v", resp.Status, resp.Header.Get("Location"), order)
	}
	return order.ID, nil
}

// Clients take UIDs concurrently until a signal ends the service; then it is started again with the
// same worker file. No UID comes twice, no request fails before the signal, and each exit is clean.
func TestSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		testkit.Missing(t, "Windows cannot send a signal to one process")
	}
	file := filepath.Join(t.TempDir(), "worker")
	var mu sync.Mutex
	seen := map[uid.ID]bool{}
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		s, url := startService(t, file)
		// It keeps all connections: the service closes a new one on which nothing is sent for five seconds.
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}, Timeout: 30 * time.Second}
		signalled := make(chan struct{})
		var clients sync.WaitGroup
		for range 8 {
			clients.Go(func() {
				for n := 0; ; n++ {
					id, err := post(client, url)
					if err != nil {
						select {
						case <-signalled: // the service accepts no more connections
						default:
							t.Errorf("request %d: %v", n, err)
						}
						return
					}
					mu.Lock()
					if seen[id] {
						t.Errorf("%v came twice", id)
					}
					seen[id] = true
					mu.Unlock()
				}
			})
		}
		before := count(&mu, seen)
		testkit.Eventually(t, "500 orders", func() bool { return count(&mu, seen) >= before+500 || t.Failed() })
		close(signalled)
		if err := s.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		clients.Wait()
		client.CloseIdleConnections()
		output := strings.Join(slices.Collect(s.Lines()), "\n")
		if err := s.Wait(); err != nil {
			t.Errorf("after %v: %v\n%s", signal, err, output)
		}
		if strings.Contains(output, "got no UID") {
			t.Errorf("a handler was running when the generator was closed:\n%s", output)
		}
	}
}

func count(mu *sync.Mutex, seen map[uid.ID]bool) int {
	mu.Lock()
	defer mu.Unlock()
	return len(seen)
}

// A request that has begun when the service is told to stop still gets its UID, because the generator
// is closed after the server.
func TestRequestDuringShutdown(t *testing.T) {
	leaktest.Check(t)
	addr, cancel, stop := startRun(t)
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Hour}}
	defer client.CloseIdleConnections()
	reading := make(chan struct{}) // closed when the handler reads the body
	trace := &httptrace.ClientTrace{Got100Continue: func() { close(reading) }}
	body, send := io.Pipe()
	r, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodPost, "http://"+addr+"/orders", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Expect", "100-continue")
	answered := make(chan error, 1)
	go func() {
		resp, err := client.Do(r)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode != http.StatusCreated {
				err = errors.New(resp.Status)
			}
		}
		answered <- err
	}()
	select {
	case <-reading:
	case err := <-answered:
		t.Fatal(err)
	}
	cancel()
	testkit.Eventually(t, "the server accepts no more connections", func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	io.WriteString(send, `{"item": "book"}`)
	send.Close()
	if err := <-answered; err != nil {
		t.Errorf("the request got %v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestRunLeavesNothingBehind(t *testing.T) {
	leaktest.Check(t)
	_, _, stop := startRun(t)
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestErrors(t *testing.T) {
	leaktest.Check(t)
	ctx := context.Background()
	if err := run(ctx, "127.0.0.1:0", settings.Settings{}); err == nil || !strings.Contains(err.Error(), "assigner: is not set") {
		t.Errorf("without an assigner: %v", err)
	}
	if err := run(ctx, "no address", workerFile(t)); err == nil || !strings.Contains(err.Error(), "no address") {
		t.Errorf("with a bad address: %v", err)
	}
}

// workerFile returns settings with a new file.
func workerFile(t *testing.T) settings.Settings {
	return settings.Settings{"assigner": "disposable", "store": "file:" + filepath.Join(t.TempDir(), "worker")}
}

// The environment replaces what is in the file, and what is wrong is reported with the file or the variable.
func TestReadSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	lookup := func(name string) (string, bool) {
		value, ok := map[string]string{"RINGUID_WORKER_ID": "8"}[name]
		return value, ok
	}
	if err := os.WriteFile(file, []byte(`{"assigner": "static", "worker_id": 7, "generator": "default"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := readSettings(file, lookup)
	if err != nil || s["worker_id"] != "8" || s["assigner"] != "static" || s["generator"] != "default" {
		t.Errorf("%v, %v", s, err)
	}
	if s, err := readSettings("", lookup); err != nil || s["worker_id"] != "8" || s["assigner"] != "" {
		t.Errorf("without a file: %v, %v", s, err)
	}
	if err := os.WriteFile(file, []byte(`{"worker": 7}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readSettings(file, lookup); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), `no such setting as "worker"`) {
		t.Errorf("a wrong key: %v", err)
	}
	if _, err := readSettings(file+"x", lookup); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	bad := func(name string) (string, bool) { return "x", name == "RINGUID_ROLLOVER" }
	if _, err := readSettings("", bad); err == nil || !strings.Contains(err.Error(), "RINGUID_ROLLOVER: is \"x\"") {
		t.Errorf("a wrong variable: %v", err)
	}
}

// A generator without UIDs is reported to the client, and so is a body that is not an order.
func TestBadRequests(t *testing.T) {
	var asked context.Context
	h := handler(func(ctx context.Context) (uid.ID, error) {
		asked = ctx
		return 0, errors.New("none")
	})
	for body, want := range map[string]int{`{"item": "book"}`: http.StatusServiceUnavailable, `book`: http.StatusBadRequest} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(body))
		h.ServeHTTP(w, r)
		if w.Code != want || w.Header().Get("Location") != "" {
			t.Errorf("%s: status %d, location %q; want status %d", body, w.Code, w.Header().Get("Location"), want)
		}
		if want == http.StatusServiceUnavailable && asked != r.Context() {
			t.Error("the generator did not get the request's context")
		}
	}
}
