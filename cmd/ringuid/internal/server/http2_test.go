package server

import (
	"bytes"
	"crypto/tls"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Clients of HTTP/2 that accept no byte of their answers, or send a part of a header, of a body, or nothing, keep neither a
// request nor a connection beyond the time limits.
func TestSlowClientsOfHTTP2(t *testing.T) {
	dir := t.TempDir()
	roots := newCertificate(t, dir)
	cfg := testConfig()
	cfg.RequestTimeout, cfg.WriteTimeout, cfg.IdleTimeout = 50*time.Millisecond, 300*time.Millisecond, 200*time.Millisecond
	cfg.HeaderTimeout, cfg.ReadTimeout = 200*time.Millisecond, 300*time.Millisecond
	cfg.TLSCert, cfg.TLSKey = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	s := start(t, cfg, Options{})
	header := func(method, path string) []byte {
		var b bytes.Buffer
		e := hpack.NewEncoder(&b)
		for _, f := range [][2]string{{":method", method}, {":path", path}, {":scheme", "https"}, {":authority", "localhost"}} {
			if err := e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
				t.Fatal(err)
			}
		}
		return b.Bytes()
	}
	for _, tt := range []struct {
		name     string
		send     func(*http2.Framer) error
		requests uint64 // that begin, and must end
	}{
		{"answers that nobody reads", func(fr *http2.Framer) error {
			for i := range 20 {
				if err := fr.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: header("GET", "/v1/uid?n=10000"), EndStream: true, EndHeaders: true}); err != nil {
					return err
				}
			}
			return nil
		}, 20},
		{"a body that does not come", func(fr *http2.Framer) error {
			return fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: header("POST", "/v1/parse"), EndHeaders: true})
		}, 1},
		{"a part of a header", func(fr *http2.Framer) error {
			return fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: header("GET", "/v1/uid")[:3], EndStream: true})
		}, 0},
		{"nothing", func(*http2.Framer) error { return nil }, 0},
	} {
		conn, err := tls.Dial("tcp", s.addr, &tls.Config{RootCAs: roots, NextProtos: []string{http2.NextProtoTLS}})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
			t.Fatal(err)
		}
		fr := http2.NewFramer(conn, conn)
		if err := fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); err != nil {
			t.Fatal(err)
		}
		before := s.httpState().Requests
		if err := tt.send(fr); err != nil {
			t.Fatal(err)
		}
		eventually(t, tt.name+": ended", func() bool { return s.httpState().Requests == before+tt.requests })
		if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		for err = nil; err == nil; {
			_, err = fr.ReadFrame()
		}
		if isTimeout, ok := err.(interface{ Timeout() bool }); ok && isTimeout.Timeout() {
			t.Errorf("%s: the connection was not closed", tt.name)
		}
	}
}
