package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/leaktest"
	"github.com/ringuid/ringuid/uid"
)

// A request that has begun is finished after the end has begun; streams of events end; no goroutine remains.
func TestShutdown(t *testing.T) {
	leaktest.Check(t)
	release := make(chan struct{})
	g := &fakeGenerator{Generator: newGenerator(t), next: func(context.Context) (uid.ID, error) {
		<-release
		return 7, nil
	}}
	s := start(t, testConfig(), Options{UIDs: g})
	stream, err := http.Get(s.url + "/v1/events")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	answered := make(chan answer, 1)
	go func() { answered <- s.get("/v1/uid") }()
	testkit.Eventually(t, "both in flight", func() bool { return s.inFlight.Load() == 2 })
	stopped := make(chan error, 1)
	go func() { stopped <- s.stop() }()
	testkit.Eventually(t, "the listener closed", func() bool {
		conn, err := net.Dial("tcp", s.addr)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	select {
	case err := <-stopped:
		t.Fatalf("Serve has returned before the request ended: %v", err)
	default:
	}
	close(release)
	check(t, "the request", <-answered, 200, `{"id":"7"}`+"\n")
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if !strings.Contains(s.log.String(), "all requests are finished") {
		t.Errorf("the log is:\n%s", s.log)
	}
	http.DefaultClient.CloseIdleConnections()
}

// While the server drains, it is not ready, still serves, and ends each connection with its answer.
func TestDrain(t *testing.T) {
	inBubble(t, func(t *testing.T, start func(Config, Options) *testServer) {
		cfg := testConfig()
		cfg.Drain = time.Second
		s := start(cfg, Options{})
		if a := s.get("/readyz"); a.status != 200 {
			t.Errorf("before: %+v", a)
		}
		begin := time.Now()
		stopped := make(chan error, 1)
		go func() { stopped <- s.stop() }()
		time.Sleep(cfg.Drain - time.Millisecond)
		if a := s.get("/readyz"); a.status != 503 || !strings.Contains(a.body, `"draining":true`) {
			t.Errorf("readiness: %+v", a)
		}
		back := s.raw("GET /v1/uid HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if !strings.HasPrefix(back, "HTTP/1.1 200") || !strings.Contains(back, "Connection: close") {
			t.Errorf("a request while draining: %q", back)
		}
		if err := <-stopped; err != nil || time.Since(begin) != cfg.Drain {
			t.Errorf("the server ended after %v: %v", time.Since(begin), err)
		}
	})
}

// A request that never ends delays the end only up to the limit, and Serve says so.
func TestShutdownTimeout(t *testing.T) {
	cfg := testConfig()
	cfg.ShutdownTimeout = 50 * time.Millisecond
	release := make(chan struct{})
	g := &fakeGenerator{Generator: newGenerator(t), next: func(context.Context) (uid.ID, error) {
		<-release
		return 7, nil
	}}
	s, err := New(cfg, Options{UIDs: g, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	go http.Get("http://" + l.Addr().String() + "/v1/uid")
	testkit.Eventually(t, "in flight", func() bool { return s.inFlight.Load() == 1 })
	cancel()
	if err := <-served; err == nil || !strings.Contains(err.Error(), "1 requests did not end within 50ms") {
		t.Errorf("%v", err)
	}
	close(release)
}

// newCertificate writes cert.pem and key.pem to a directory, and returns what a client trusts.
func newCertificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return roots
}

// With a certificate the server speaks TLS only, from version 1.2 on, and HTTP/2.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	roots := newCertificate(t, dir)
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte("listen: 127.0.0.1:0\ndrain: 0s\ntls-cert: cert.pem\ntls-key: key.pem\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := ReadConfig(Sources{File: file, LookupEnv: environment(nil)})
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, cfg, Options{})
	get := func(c *tls.Config) (*http.Response, error) {
		tr := &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true}
		t.Cleanup(tr.CloseIdleConnections)
		return (&http.Client{Transport: tr}).Get("https://" + s.addr + "/v1/uid")
	}
	resp, err := get(&tls.Config{RootCAs: roots})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 || resp.ProtoMajor != 2 {
		t.Errorf("%s %s", resp.Proto, resp.Status)
	}
	if _, err := get(&tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 is accepted")
	}
	if a := s.get("/v1/uid"); a.status != 400 {
		t.Errorf("without TLS: %+v", a)
	}
}
