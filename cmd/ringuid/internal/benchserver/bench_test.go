package main

import (
	"bufio"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// The load generator counts the requests that the server answers, and reports answers that are not 200.
func TestLoad(t *testing.T) {
	s := httptest.NewServer(constant())
	defer s.Close()
	for _, path := range []string{"/v1/uid", "/v1/uid?n=1000"} {
		r, err := load(t.Context(), strings.TrimPrefix(s.URL, "http://"), path, 2, 20*time.Millisecond)
		if err != nil || len(r.latencies) == 0 || r.rate() <= 0 || r.p99() <= 0 {
			t.Errorf("%s: %d requests, %v", path, len(r.latencies), err)
		}
	}
	for _, answer := range []string{"HTTP/1.1 503 x\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", ""} {
		if err := readAnswer(bufio.NewReader(strings.NewReader(answer))); err == nil {
			t.Errorf("%q is accepted", answer)
		}
	}
}
