package server_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/server"
	"github.com/ringuid/ringuid/internal/testkit"
)

// peakMemory returns the greatest resident memory of a process, in bytes.
func (p *process) peakMemory() int64 {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Process.Pid))
	if err != nil {
		testkit.Missing(p.t, "this system does not tell the memory of a process: ", err)
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(text)
	kib, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return kib << 10
}

// status returns the status of a request, for which it waits no longer than a request may take.
func status(t *testing.T, c *http.Client, url string) int {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}

// closedWindows opens connections of HTTP/2 whose windows are closed, and sends requests on each.
func closedWindows(t *testing.T, p *process, roots *x509.CertPool, conns, requests int, path string) {
	for range conns {
		conn, err := tls.Dial("tcp", p.addr, &tls.Config{RootCAs: roots, ServerName: "localhost", NextProtos: []string{http2.NextProtoTLS}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
			t.Fatal(err)
		}
		fr := http2.NewFramer(conn, conn)
		if err := fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); err != nil {
			t.Fatal(err)
		}
		go io.Copy(io.Discard, conn)
		for i := range requests {
			var header bytes.Buffer
			e := hpack.NewEncoder(&header)
			for _, f := range [][2]string{{":method", "GET"}, {":path", path}, {":scheme", "https"}, {":authority", "localhost"}} {
				if err := e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
					t.Fatal(err)
				}
			}
			if fr.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: header.Bytes(), EndStream: true, EndHeaders: true}) != nil {
				break // the server has closed the connection
			}
		}
	}
}

// Clients that do not read their answers use little memory of a server, and others are served meanwhile.
func TestClientsThatDoNotRead(t *testing.T) {
	dir := t.TempDir()
	roots := server.NewCertificate(t, dir)
	thousand := func(path string) func(*testing.T, *process) {
		return func(t *testing.T, p *process) {
			testkit.Full(t, "1,000 connections of TLS")
			closedWindows(t, p, roots, 1000, 16, path)
		}
	}
	for name, attack := range map[string]func(t *testing.T, p *process){
		"1000 connections": func(t *testing.T, p *process) {
			body := `{"ids":["1"` + strings.Repeat(`,"1"`, 9999) + `]}`
			request := fmt.Sprintf("POST /v1/parse HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			for range 1000 {
				conn, err := net.Dial("tcp", p.addr)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { conn.Close() })
				if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
					t.Fatal(err)
				}
				go io.WriteString(conn, request)
			}
		},
		"5 connections of HTTP2":                func(t *testing.T, p *process) { closedWindows(t, p, roots, 5, 250, "/v1/uid?n=10000") },
		"1000 connections of HTTP2, long lists": thousand("/v1/uid?n=10000"),
		"1000 connections of HTTP2, one UID":    thousand("/v1/uid"),
		"1000 connections of HTTP2, probes":     thousand("/healthz"),
		"1000 connections of HTTP2, metrics":    thousand("/metrics"),
		"1000 connections of HTTP2, refused":    thousand("/v1/uid?n=0"),
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"--store", filepath.Join(t.TempDir(), "workers"), "--listen", "127.0.0.1:0", "--drain", "0s", "--shutdown-timeout", "1ms",
				"--header-timeout", "1m", "--read-timeout", "1m"} // these also bound handshakes of TLS, and no attack is slow to send
			scheme := "http"
			if strings.Contains(name, "HTTP2") {
				scheme = "https"
				args = append(args, "--tls-cert", filepath.Join(dir, "cert.pem"), "--tls-key", filepath.Join(dir, "key.pem"))
			}
			limit := int64(128 << 20)
			if strings.HasPrefix(name, "1000 connections of HTTP2") { // TLS needs half of it; without limits, the attacks need 700 MiB
				limit = 192 << 20
			}
			p := startProcess(t, args...)
			c := &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "localhost"}}}
			defer c.CloseIdleConnections()
			attack(t, p)
			paths := []string{"/v1/uid", "/v1/uid/5", "/v1/uid?n=1000"}
			if strings.HasSuffix(name, "long lists") {
				paths = paths[:2] // they use up all memory for lists
			}
			begin, served := time.Now(), 0
			for served < 30 || time.Since(begin) < testkit.Size(2*time.Second, 6*time.Second) { // the latter is longer than a request waits
				for _, path := range paths {
					if got := status(t, c, scheme+"://"+p.addr+path); got != 200 {
						t.Errorf("%s after %v: status %d", path, time.Since(begin), got)
					}
					served++
				}
				time.Sleep(50 * time.Millisecond)
			}
			t.Logf("at most %d MiB of memory, others were served %d times", p.peakMemory()>>20, served)
			if peak := p.peakMemory(); peak > limit && !testkit.Race { // the race detector has several bytes for each one
				t.Errorf("the server used %d MiB of memory, want at most %d", peak>>20, limit>>20)
			}
		})
	}
}

// SIGHUP makes the server read its certificate again. It ends no server, also without a certificate, and fails no request.
func TestHangup(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	before := server.NewCertificate(t, dir)
	p := startProcess(t, "--store", filepath.Join(dir, "workers"), "--listen", "127.0.0.1:0", "--drain", "0s", "--tls-cert", cert, "--tls-key", key)
	plain := startProcess(t, "--store", filepath.Join(dir, "workers"), "--listen", "127.0.0.1:0", "--drain", "0s")
	dial := func(trusted *tls.Config) error {
		conn, err := tls.Dial("tcp", p.addr, trusted)
		if err == nil {
			err = conn.Close()
		}
		return err
	}
	if err := dial(&tls.Config{RootCAs: before}); err != nil {
		t.Fatal(err)
	}
	hangup := func(p *process, record string) {
		t.Helper()
		n := strings.Count(p.text(), record)
		if err := p.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, record, func() bool {
			select {
			case <-p.exited:
				t.Fatal("the server has ended")
			default:
			}
			return strings.Count(p.text(), record) > n
		})
	}
	after := server.NewCertificate(t, dir)
	hangup(p, "was read again")
	if err := dial(&tls.Config{RootCAs: after}); err != nil {
		t.Errorf("the new certificate is not in use: %v", err)
	}
	if err := os.WriteFile(key, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	hangup(p, "the former certificate stays in use")
	if err := dial(&tls.Config{RootCAs: after}); err != nil {
		t.Errorf("the former certificate is not in use: %v", err)
	}
	hangup(plain, "was read again")
	if got := status(t, http.DefaultClient, "http://"+plain.addr+"/v1/uid"); got != 200 {
		t.Errorf("after SIGHUP: %d", got)
	}
	http.DefaultClient.CloseIdleConnections()
	p.stop()
	plain.stop()
}
