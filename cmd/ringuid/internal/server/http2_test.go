package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/ringuid/ringuid/uid"
)

// requestHeader returns the header of a request of HTTP/2.
func requestHeader(t *testing.T, method, path string) []byte {
	t.Helper()
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, f := range [][2]string{{":method", method}, {":path", path}, {":scheme", "https"}, {":authority", "localhost"}} {
		if err := e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

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
		for _, tt := range []struct {
			name     string
			send     func(*http2.Framer) error
			requests uint64 // that begin, and must end
		}{
			{"answers that nobody reads", func(fr *http2.Framer) error {
				for i := range maxStreamsOfConnection {
					if err := fr.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: requestHeader(t, "GET", "/v1/uid?n=10000"), EndStream: true, EndHeaders: true}); err != nil {
						return err
					}
				}
				return nil
			}, maxStreamsOfConnection},
			{"a body that does not come", func(fr *http2.Framer) error {
				return fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: requestHeader(t, "POST", "/v1/parse"), EndHeaders: true})
			}, 1},
			{"a part of a header", func(fr *http2.Framer) error {
				return fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: requestHeader(t, "GET", "/v1/uid")[:3], EndStream: true})
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

// Streams of HTTP/2 whose clients have no room even for a short answer, or a refusal, are limited in number; further ones are reset soon. Other
// connections are answered meanwhile, and all streams end at the time limit.
func TestClosedWindowsAreLimited(t *testing.T) {
	for path, want := range map[string]int{"/v1/uid": 200, "/healthz": 200, "/v1/uid?n=0": 400, "/none": 404} {
		inBubble(t, func(t *testing.T, start func(Config, Options) *testServer) {
			dir := t.TempDir()
			roots := newCertificate(t, dir)
			cfg := testConfig()
			cfg.RequestTimeout, cfg.WriteTimeout, cfg.MaxRequests = time.Second, 20*time.Second, 12
			cfg.TLSCert, cfg.TLSKey = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
			s := start(cfg, Options{})
			const conns = 4
			frames := make(chan http2.Frame, 1000)
			for range conns {
				conn := tls.Client(s.connect(), &tls.Config{RootCAs: roots, ServerName: "localhost", NextProtos: []string{http2.NextProtoTLS}})
				if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
					t.Fatal(err)
				}
				fr := http2.NewFramer(conn, conn)
				fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
				go func() {
					for {
						f, err := fr.ReadFrame()
						if err != nil {
							return
						}
						switch f.(type) {
						case *http2.MetaHeadersFrame, *http2.RSTStreamFrame:
							frames <- f
						}
					}
				}()
				if err := fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); err != nil {
					t.Fatal(err)
				}
				for i := range maxStreamsOfConnection {
					if err := fr.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: requestHeader(t, "GET", path), EndStream: true, EndHeaders: true}); err != nil {
						t.Fatal(err)
					}
				}
			}
			time.Sleep(2 * crowdedFlush)
			synctest.Wait()
			answered, reset := 0, 0
			for range len(frames) {
				switch f := (<-frames).(type) {
				case *http2.MetaHeadersFrame:
					if got := f.PseudoValue("status"); got != strconv.Itoa(want) && got != "503" { // 503: the limit of requests
						t.Errorf("%s: status %s", path, got)
					}
					answered++
				case *http2.RSTStreamFrame:
					reset++
				}
			}
			kept, sent := cfg.MaxRequests, conns*maxStreamsOfConnection
			if n := s.inFlight.Load(); answered != sent || reset != sent-kept || n != int64(kept) {
				t.Errorf("%s: %d streams are answered, %d reset, %d requests in flight; want %d, %d, %d", path, answered, reset, n, sent, sent-kept, kept)
			}
			tr := &http.Transport{DialContext: s.dial, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "localhost"}, ForceAttemptHTTP2: true}
			defer tr.CloseIdleConnections()
			for range 3 {
				resp, err := (&http.Client{Transport: tr}).Get("https://" + s.addr + "/v1/uid")
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if resp.StatusCode != 200 || resp.ProtoMajor != 2 || resp.ContentLength < 1 {
					t.Errorf("%s: another connection: %s %d, length %d", path, resp.Proto, resp.StatusCode, resp.ContentLength)
				}
			}
			time.Sleep(cfg.WriteTimeout)
			synctest.Wait()
			if n, streamed := s.inFlight.Load(), s.streamed.Load(); n != 0 || streamed != 0 {
				t.Errorf("%s: %d requests in flight at the time limit, and %d answers", path, n, streamed)
			}
		})
	}
}

// A client of Go that has more requests than a connection may have opens more connections. It reads, so all are answered, also if they are
// so many that those who do not read are reset.
func TestManyRequestsOfHTTP2(t *testing.T) {
	inBubble(t, func(t *testing.T, start func(Config, Options) *testServer) {
		dir := t.TempDir()
		roots := newCertificate(t, dir)
		cfg := testConfig()
		cfg.TLSCert, cfg.TLSKey = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
		cfg.MaxRequests = 2 * maxStreamsOfConnection // all are answered at the same time
		goOn := make(chan struct{})
		s := start(cfg, Options{UIDs: &fakeGenerator{Generator: newGenerator(t), next: func(context.Context) (uid.ID, error) {
			<-goOn
			return 5, nil
		}}})
		tr := &http.Transport{DialContext: s.dial, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "localhost"}, ForceAttemptHTTP2: true}
		defer tr.CloseIdleConnections()
		var requests sync.WaitGroup
		for range 2 * maxStreamsOfConnection {
			requests.Go(func() {
				resp, err := (&http.Client{Transport: tr}).Get("https://" + s.addr + "/v1/uid")
				if err != nil {
					t.Error(err)
					return
				}
				resp.Body.Close()
				if resp.StatusCode != 200 || resp.ProtoMajor != 2 {
					t.Errorf("%s %d", resp.Proto, resp.StatusCode)
				}
			})
		}
		time.Sleep(30 * time.Second) // the client sends again what was refused before it knew the limit
		synctest.Wait()
		if n := s.inFlight.Load(); n != 2*maxStreamsOfConnection {
			t.Errorf("%d requests are in flight", n)
		}
		close(goOn)
		requests.Wait()
	})
}
