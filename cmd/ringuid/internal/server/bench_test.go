package server

import (
	"net/http"
	"net/url"
	"testing"
)

// discarding is a ResponseWriter that keeps nothing.
type discarding struct{ header http.Header }

func (d discarding) Header() http.Header         { return d.header }
func (d discarding) Write(p []byte) (int, error) { return len(p), nil }
func (d discarding) WriteHeader(int)             {}

// BenchmarkHandler is the cost of the handler, without net/http's reading of requests and writing of answers.
func BenchmarkHandler(b *testing.B) {
	s, err := New(DefaultConfig(), Options{UIDs: newGenerator(b), Sequences: newSequences(b)})
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range []string{"/v1/uid", "/v1/uid?n=1000", "/v1/segment/orders", "/api/snowflake/get/x"} {
		u, err := url.Parse(path)
		if err != nil {
			b.Fatal(err)
		}
		r := (&http.Request{Method: "GET", URL: u, Host: "localhost", Header: http.Header{}}).WithContext(b.Context())
		b.Run(path, func(b *testing.B) {
			w := discarding{http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				clear(w.header)
				s.ServeHTTP(w, r)
			}
		})
	}
}
