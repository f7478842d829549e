package server

import (
	"bytes"
	"crypto/tls"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Clients of HTTP/2 that accept no byte of their answers, or send a part of a header, of a body, or nothing, keep neither a
// request nor a connection beyond the time limits.
func TestSlowClientsOfHTTP2(t *testing.T) {
	inBubble(t, func(t *testing.T, start func(Config, Options) *testServer) {
		dir := t.TempDir()
		roots := newCertificate(t, dir)
		cfg := testConfig()
		cfg.RequestTimeout, cfg.WriteTimeout, cfg.IdleTimeout = time.Second, 6*time.Second, 4*time.Second
		cfg.HeaderTimeout, cfg.ReadTimeout = 4*time.Second, 6*time.Second
		cfg.TLSCert, cfg.TLSKey = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
		s := start(cfg, Options{})
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
			begin, before := time.Now(), s.httpState().Requests
			conn := tls.Client(s.connect(), &tls.Config{RootCAs: roots, ServerName: "localhost", NextProtos: []string{http2.NextProtoTLS}})
			if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
				t.Fatal(err)
			}
			fr := http2.NewFramer(conn, conn)
			ended := make(chan error)
			go func() {
				for {
					if _, err := fr.ReadFrame(); err != nil {
						ended <- err
						return
					}
				}
			}()
			if err := fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); err != nil {
				t.Fatal(err)
			}
			if err := tt.send(fr); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if n := s.inFlight.Load(); n != int64(tt.requests) {
				t.Errorf("%s: %d requests have begun, want %d", tt.name, n, tt.requests)
			}
			time.Sleep(cfg.WriteTimeout + time.Millisecond)
			synctest.Wait()
			if n := s.httpState().Requests - before; n != tt.requests || s.inFlight.Load() != 0 {
				t.Errorf("%s: %d requests have ended at the time limit, want %d", tt.name, n, tt.requests)
			}
			<-ended
			if took := time.Since(begin); took > cfg.WriteTimeout+cfg.IdleTimeout+2*time.Second {
				t.Errorf("%s: the connection was closed after %v", tt.name, took)
			}
		}
	})
}
