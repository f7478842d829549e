package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/leaktest"
	"github.com/ringuid/ringuid/uid"
)

// asService, where it is set, makes the test binary run the service instead of the tests.
const asService = "RINGUID_TEST_HTTPSERVICE"

func TestMain(m *testing.M) {
	if os.Getenv(asService) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// service is a process that runs the service.
type service struct {
	*exec.Cmd
	url    string
	output chan string // what it wrote to standard error, once that has ended
}

// start starts a service on a free port.
func start(t *testing.T, workerFile string) *service {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // it is killed if it does not end
	t.Cleanup(cancel)
	s := &service{
		Cmd:    exec.CommandContext(ctx, os.Args[0], "-addr", "127.0.0.1:0"),
		output: make(chan string, 1),
	}
	s.Env = append(os.Environ(), asService+"=1", "RINGUID_ASSIGNER=disposable", "RINGUID_STORE=file:"+workerFile)
	stderr, err := s.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.ProcessState == nil { // a test that failed has not waited for it
			s.Process.Kill()
			s.Wait()
		}
	})
	address := make(chan string, 1)
	go func() {
		var all strings.Builder
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			all.WriteString(lines.Text() + "\n")
			if _, a, ok := strings.Cut(lines.Text(), "listening on "); ok {
				address <- a
			}
		}
		close(address)
		s.output <- all.String()
	}()
	a, ok := <-address
	if !ok {
		t.Fatalf("the service has ended: %s", <-s.output)
	}
	s.url = "http://" + a + "/orders"
	return s
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
		t.Skip("Windows cannot send a signal to one process")
	}
	file := filepath.Join(t.TempDir(), "worker")
	var mu sync.Mutex
	seen := map[uid.ID]bool{}
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		s := start(t, file)
		client := &http.Client{Transport: &http.Transport{}, Timeout: 30 * time.Second}
		signalled := make(chan struct{})
		var clients sync.WaitGroup
		for range 8 {
			clients.Go(func() {
				for n := 0; ; n++ {
					id, err := post(client, s.url)
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
		for before, now := count(&mu, seen), 0; now < before+500 && !t.Failed(); now = count(&mu, seen) {
			time.Sleep(time.Millisecond)
		}
		close(signalled)
		if err := s.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		clients.Wait()
		client.CloseIdleConnections()
		output := <-s.output
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
	listener, err := net.Listen("tcp", "127.0.0.1:0") // finds a free port
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	listener.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, addr, workerFile(t)) }()

	client := &http.Client{Transport: &http.Transport{}, Timeout: 30 * time.Second}
	defer client.CloseIdleConnections()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err := post(client, "http://"+addr+"/orders"); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	body, send := io.Pipe()
	answered := make(chan error, 1)
	go func() {
		resp, err := client.Post("http://"+addr+"/orders", "application/json", body)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode != http.StatusCreated {
				err = errors.New(resp.Status)
			}
		}
		answered <- err
	}()
	io.WriteString(send, `{"item": `)  // returns when the client sends it
	time.Sleep(100 * time.Millisecond) // until the handler waits for the rest
	cancel()
	time.Sleep(100 * time.Millisecond)
	io.WriteString(send, `"book"}`)
	send.Close()
	if err := <-answered; err != nil {
		t.Errorf("the request got %v", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestRunLeavesNothingBehind(t *testing.T) {
	leaktest.Check(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, "127.0.0.1:0", workerFile(t)) }()
	time.Sleep(50 * time.Millisecond)
	cancel()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) { // canceled: before it had a worker ID
		t.Error(err)
	}
}

func TestErrors(t *testing.T) {
	leaktest.Check(t)
	ctx := context.Background()
	if err := run(ctx, "127.0.0.1:0", uid.Settings{}); err == nil || !strings.Contains(err.Error(), "assigner: is not set") {
		t.Errorf("without an assigner: %v", err)
	}
	if err := run(ctx, "no address", workerFile(t)); err == nil || !strings.Contains(err.Error(), "no address") {
		t.Errorf("with a bad address: %v", err)
	}
}

// workerFile returns settings with a new file.
func workerFile(t *testing.T) uid.Settings {
	return uid.Settings{Assigner: uid.AssignerDisposable, Store: "file:" + filepath.Join(t.TempDir(), "worker")}
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
	if err != nil || s.WorkerID != "8" || s.Assigner != "static" || s.Generator != "default" {
		t.Errorf("%v, %v", s, err)
	}
	if s, err := readSettings("", lookup); err != nil || s.WorkerID != "8" || s.Assigner != "" {
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
