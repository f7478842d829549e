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
)

// The stream of events begins with the history, and has a state each second.
func TestEvents(t *testing.T) {
	s := start(t, testConfig(), Options{})
	eventually(t, "a sample taken", func() bool { all, _ := s.history.all(); return len(all) > 0 })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in, out := io.Pipe()
	go func() {
		cmd := client(t)
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
	dir := t.TempDir()
	roots := newCertificate(t, dir)
	for _, version := range []int{1, 2} {
		cfg := testConfig()
		cfg.RequestTimeout, cfg.HeaderTimeout, cfg.ReadTimeout, cfg.WriteTimeout, cfg.IdleTimeout = 50*time.Millisecond, 400*time.Millisecond, 400*time.Millisecond, 400*time.Millisecond, 400*time.Millisecond
		cfg.TLSCert, cfg.TLSKey = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
		s := start(t, cfg, Options{})
		tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: version == 2}
		t.Cleanup(tr.CloseIdleConnections)
		resp, err := (&http.Client{Transport: tr}).Get("https://" + s.addr + "/v1/events")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.ProtoMajor != version {
			t.Errorf("%s", resp.Proto)
		}
		states := 0
		lines := bufio.NewScanner(resp.Body)
		for lines.Buffer(nil, 1<<20); states < 3 && lines.Scan(); { // two seconds
			if lines.Text() == "event: state" {
				states++
			}
		}
		if states < 3 {
			t.Errorf("HTTP/%d: the stream has ended after %d states: %v", version, states, lines.Err())
		}
	}
}

// HEAD has the header of the stream, and ends at once: the connection is free for the next request.
func TestEventsHead(t *testing.T) {
	s := start(t, testConfig(), Options{})
	c := client(t)
	for range 3 {
		resp, err := c.Head(s.url + "/v1/events")
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%d, %v, %v", resp.StatusCode, resp.Header, err)
		}
	}
	if n := s.streams.Load(); n != 0 {
		t.Errorf("%d streams are open", n)
	}
	eventually(t, "no request in flight", func() bool { return s.inFlight.Load() == 0 })
}
