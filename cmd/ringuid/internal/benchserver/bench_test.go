package main

import (
	"bufio"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
)

// The load generator counts the requests that the server answers, and reports answers that are not 200.
func TestLoad(t *testing.T) {
	s := httptest.NewServer(constant())
	defer s.Close()
	for _, path := range []string{"/v1/uid", "/v1/uid?n=1000"} {
		testkit.Retry(t, path, func() error { // the time can be over before the first request
			r, err := load(t.Context(), strings.TrimPrefix(s.URL, "http://"), path, 2, 20*time.Millisecond)
			if err == nil && (r.rate() <= 0 || r.p99() <= 0) {
				err = fmt.Errorf("%d requests, %v per second", len(r.latencies), r.rate())
			}
			return err
		})
	}
	for _, answer := range []string{"HTTP/1.1 503 x\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", ""} {
		if err := readAnswer(bufio.NewReader(strings.NewReader(answer))); err == nil {
			t.Errorf("%q is accepted", answer)
		}
	}
}
