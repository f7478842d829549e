package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/leaktest"
	"github.com/ringuid/ringuid/uid"
)

// The routes answer, and the metrics count what they have answered. When ctx ends, run ends.
func TestService(t *testing.T) {
	leaktest.Check(t)
	listener, dir := listen(t), t.TempDir()
	if err := createTags(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- run(ctx, listener, dir) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(path string, status int) string {
		t.Helper()
		response, err := client.Get("http://" + listener.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != status {
			t.Errorf("GET %s: status %d, %q, %v; want status %d", path, response.StatusCode, body, err, status)
		}
		return string(body)
	}
	for range 3 {
		if id, err := uid.ParseID(strings.TrimSpace(get("/uid", http.StatusOK))); err != nil || id < 1 {
			t.Errorf("GET /uid = %v, %v", id, err)
		}
	}
	testkit.Retry(t, "the tag has numbers", func() error { // a call waits for the file for three seconds at most
		response, err := client.Get("http://" + listener.Addr().String() + "/numbers/books")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if response.StatusCode == http.StatusServiceUnavailable {
			return fmt.Errorf("GET /numbers/books: %q", body)
		}
		if err != nil || response.StatusCode != http.StatusOK || string(body) != "1\n" {
			t.Fatalf("GET /numbers/books: status %d, %q, %v; want 1", response.StatusCode, body, err)
		}
		return nil
	})
	if n := get("/numbers/books", http.StatusOK); n != "2\n" {
		t.Errorf("GET /numbers/books = %q, want 2", n)
	}
	text := get("/metrics", http.StatusOK)
	for _, line := range []string{`ringuid_uid_issued_total{generator="orders"} 3`, `ringuid_segment_taken_total{sequence="numbers",tag="books"} 2`, `ringuid_uid_ok{generator="orders"} 1`} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("GET /metrics lacks %s:\n%s", line, text)
		}
	}
	if problems, err := promlint.New(strings.NewReader(text)).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v, %v", problems, err)
	}
	get("/numbers/none", http.StatusNotFound)
	stop()
	if err := <-served; err != nil {
		t.Errorf("run() = %v", err)
	}
}

// Without -dir and with a directory that does not exist, run fails and closes the listener.
func TestRunFails(t *testing.T) {
	for _, dir := range []string{"", filepath.Join(t.TempDir(), "none")} {
		listener := listen(t)
		if err := run(t.Context(), listener, dir); err == nil {
			t.Errorf("run() in %q = nil", dir)
		}
		if _, err := listener.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept() after run() = %v, want net.ErrClosed", err)
		}
	}
}

// listen returns a listener on a free port.
func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}
