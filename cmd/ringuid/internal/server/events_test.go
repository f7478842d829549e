package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
)

// The stream of events begins with the history, and has a state each second.
func TestEvents(t *testing.T) {
	s := start(t, testConfig(), Options{})
	testkit.Eventually(t, "a sample taken", func() bool { all, _ := s.history.all(); return len(all) > 0 })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in, out := io.Pipe()
	go func() {
		cmd := s.client()
		resp, err := cmd.Get(s.url + "/v1/events")
		if err != nil {
			out.CloseWithError(err)
			return
		}
		defer resp.Body.Close()
		context.AfterFunc(ctx, func() { resp.Body.Close() })
		_, err = io.Copy(out, resp.Body)
		out.CloseWithError(err)
	}()
	read := func(event string, into any) {
		t.Helper()
		var text []byte
		for b := make([]byte, 1); !strings.HasSuffix(string(text), "\n\n"); {
			if _, err := in.Read(b); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			text = append(text, b[0])
		}
		data, ok := strings.CutPrefix(string(text), "event: "+event+"\ndata: ")
		if err := json.Unmarshal([]byte(data), into); !ok || err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	var history []sample
	read("history", &history)
	if len(history) < 1 {
		t.Fatalf("%d samples", len(history))
	}
	for i := range 2 {
		var state struct {
			Sample sample
			Ready  bool
		}
		read("state", &state)
		if newest := history[len(history)-1]; i == 0 && state.Sample != newest {
			t.Errorf("the first state has the sample %+v, and the newest one is %+v", state.Sample, newest)
		}
		if !state.Ready || state.Sample.Time < history[0].Time || state.Sample.Fill == 0 {
			t.Errorf("%+v", state)
		}
	}
}

// A history has the last samples only.
func TestHistory(t *testing.T) {
	h := newHistory()
	for i := range int64(maxSamples + 5) {
		h.add(sample{Time: i})
	}
	all, _ := h.all()
	if len(all) != maxSamples || all[0].Time != 5 || all[maxSamples-1].Time != maxSamples+4 {
		t.Errorf("%d samples from %d to %d", len(all), all[0].Time, all[len(all)-1].Time)
	}
}

// A stream of events lasts longer than all time limits of requests, over HTTP/1.1 and HTTP/2.
func TestEventsOutliveTimeLimits(t *testing.T) {
	inBubble(t, func(t *testing.T, start func(Config, Options) *testServer) {
		dir := t.TempDir()
		roots := newCertificate(t, dir)
		for _, version := range []int{1, 2} {
			cfg := testConfig()
			const limit = 400 * time.Millisecond
			cfg.RequestTimeout, cfg.HeaderTimeout, cfg.ReadTimeout, cfg.WriteTimeout, cfg.IdleTimeout = limit/8, limit, limit, limit, limit
			cfg.TLSCert, cfg.TLSKey = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
			s := start(cfg, Options{})
			tr := &http.Transport{DialContext: s.dial, TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: version == 2}
			t.Cleanup(tr.CloseIdleConnections)
			resp, err := (&http.Client{Transport: tr}).Get("https://localhost/v1/events")
			if err != nil {
				t.Fatal(err)
			}
			if resp.ProtoMajor != version {
				t.Errorf("%s", resp.Proto)
			}
			begin, states := time.Now(), 0
			lines := bufio.NewScanner(resp.Body)
			for lines.Buffer(nil, 1<<20); states < 60 && lines.Scan(); { // a minute
				if lines.Text() == "event: state" {
					states++
				}
			}
			if took := time.Since(begin); states < 60 || took < 58*time.Second {
				t.Errorf("HTTP/%d: the stream has ended after %d states in %v: %v", version, states, took, lines.Err())
			}
			resp.Body.Close()
		}
	})
}

// HEAD has the header of the stream, and ends at once: the connection is free for the next request.
func TestEventsHead(t *testing.T) {
	s := start(t, testConfig(), Options{})
	c := s.client()
	for range 3 {
		resp, err := c.Head(s.url + "/v1/events")
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%d, %v, %v", resp.StatusCode, resp.Header, err)
		}
	}
	if n := s.streams.count(); n != 0 {
		t.Errorf("%d streams are open", n)
	}
	testkit.Eventually(t, "no request in flight", func() bool { return s.inFlight.Load() == 0 })
}
