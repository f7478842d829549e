package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringuid/ringuid/bitsalloc"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/fleettest"
	"github.com/ringuid/ringuid/internal/testkit/slottest"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/assigntest"
)

// When clients request more UIDs than the generator has, requests for one UID are answered within three time units, however many lists
// wait.
func TestShortRequestsGoFirst(t *testing.T) {
	layout, err := bitsalloc.New(31, 22, 10) // 1,024 UIDs per second
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"cached", "default"} {
		t.Run(kind, func(t *testing.T) {
			inBubble(t, func(t *testing.T, start func(Config, Options) *testServer) {
				file := workerassign.NewFile(filepath.Join(t.TempDir(), "worker"))
				g, err := fleettest.NewKind(t.Context(), file, kind == "cached", uid.WithLayout(layout), uid.WithMaxBorrow(0), uid.WithRollover(false), uid.WithBoostPower(0),
					uid.WithLogger(slog.New(slog.DiscardHandler)))
				if err != nil {
					t.Fatal(err)
				}
				defer g.Close()
				s := start(testConfig(), Options{UIDs: g})
				var lists sync.WaitGroup
				for range 30 {
					lists.Go(func() {
						if a := s.get("/v1/uid?n=2000"); a.status != 200 {
							t.Errorf("a list: %d %s", a.status, a.body)
						}
					})
				}
				time.Sleep(5 * time.Second)
				for range 20 {
					begin := time.Now()
					if a := s.get("/v1/uid"); a.status != 200 || time.Since(begin) > 3*time.Second {
						t.Errorf("one UID: status %d after %v", a.status, time.Since(begin))
					}
				}
				lists.Wait()
			})
		})
	}
}

// A token with a rate gets that many UIDs and numbers per second, and then status 429 that says when to try again. Others do not notice.
func TestRateOfToken(t *testing.T) {
	inBubble(t, func(t *testing.T, start func(Config, Options) *testServer) {
		cfg, bearer := testTokens()
		cfg.MaxBatch = 100
		cfg.Tokens[0].Rate, cfg.Tokens[0].Tags = 50, []string{"orders"}
		s := start(cfg, Options{})
		for _, tt := range []struct {
			path   string
			status int
			wait   int // Retry-After
		}{
			{"/v1/uid?n=90", 200, 0}, {"/v1/segment/orders?n=5", 200, 0}, {"/v1/segment/orders", 200, 0}, {"/api/snowflake/get/x", 200, 0}, {"/api/segment/get/orders", 200, 0},
			{"/v1/uid?n=2", 200, 0}, {"/v1/uid", 429, 1}, {"/v1/uid?n=100", 429, 2}, {"/v1/segment/orders", 429, 1}, {"/v1/segment/orders?n=60", 429, 2}, {"/api/snowflake/get/x", 429, 1},
			{"/api/segment/get/orders", 429, 1}, {"/v1/uid/5", 200, 0}, {"/v1/uid?n=101", 400, 0},
		} {
			a := s.get(tt.path, "Authorization", bearer("uids"))
			if a.status != tt.status || tt.wait > 0 && a.header.Get("Retry-After") != strconv.Itoa(tt.wait) {
				t.Errorf("%s: %d %v %s, want %d, Retry-After %d", tt.path, a.status, a.header, a.body, tt.status, tt.wait)
			}
		}
		isProblem(t, "the rate", s.get("/v1/uid", "Authorization", bearer("uids")), 429, "50 UIDs and numbers per second; try again in 1 s")
		if a := s.get("/v1/segment/orders", "Authorization", bearer("orders")); a.status != 200 {
			t.Errorf("another token: %+v", a)
		}
		time.Sleep(time.Second)
		if a := s.get("/v1/uid?n=50", "Authorization", bearer("uids")); a.status != 200 {
			t.Errorf("a second later: %+v", a)
		}
		if _, failures := s.metrics.totals(); failures != 0 {
			t.Errorf("%d failures", failures)
		}
	})
}

// A token does not pay for numbers that it did not get, except those of a list that were used up before it failed.
func TestRateOfFailures(t *testing.T) {
	inBubble(t, func(t *testing.T, start func(Config, Options) *testServer) {
		down := errors.New("down")
		cfg, bearer := testTokens()
		cfg.Tokens[0].Rate, cfg.Tokens[0].Tags = 1, []string{"orders"}
		do := func(s *testServer, request string) int {
			method, path, _ := strings.Cut(request, " ")
			return s.do(method, path, "", "Authorization", bearer("uids")).status
		}
		cfg.MaxBatch = 1 // so many at once
		s := start(cfg, Options{
			UIDs:      &fakeGenerator{Generator: newGenerator(t), next: func(context.Context) (uid.ID, error) { return 0, down }},
			Sequences: &fakeSequences{claim: func(context.Context, string, int64) (segment.Range, error) { return segment.Range{}, down }},
		})
		for request, want := range map[string]int{
			"GET /v1/uid": 503, "GET /v1/uid?n=1": 503, "POST /v1/block?n=1": 503, "GET /api/snowflake/get/x": 500,
			"GET /v1/segment/orders": 503, "GET /v1/segment/orders?n=1": 503, "POST /v1/segment/orders/block?n=1": 503, "GET /api/segment/get/orders": 500,
		} {
			for range 2 {
				if status := do(s, request); status != want {
					t.Errorf("%s: %d; want %d", request, status, want)
				}
			}
		}

		var claims int
		cfg.MaxBatch = 1000
		s = start(cfg, Options{UIDs: newGenerator(t), Sequences: &fakeSequences{claim: func(context.Context, string, int64) (segment.Range, error) {
			if claims++; claims == 1 {
				return segment.Range{First: 1, Length: 400}, nil
			}
			return segment.Range{}, down
		}}})
		s.lists.requests.Add(s.lists.most) // so there is no memory
		status := []int{do(s, "GET /v1/uid?n=1000")}
		s.lists.requests.Add(-s.lists.most)
		for _, request := range []string{"GET /v1/segment/orders?n=1000", "GET /v1/segment/orders?n=600", "GET /v1/uid?n=600", "GET /v1/uid"} {
			status = append(status, do(s, request))
		}
		if want := []int{503, 503, 503, 200, 429}; !slices.Equal(status, want) {
			t.Errorf("the answers are %v; want %v", status, want)
		}
	})
}

// The path of what is not served says which store is missing.
func TestMissingStore(t *testing.T) {
	uids := start(t, testConfig(), Options{UIDs: newGenerator(t)})
	for _, path := range []string{"/v1/segment/orders", "/v1/segment/orders?n=3", "/api/segment/get/orders"} {
		isProblem(t, path, uids.get(path), 404, "this server has no store of tags, so it serves no numbers of tags; set tag-store")
	}
	tags := start(t, testConfig(), Options{Sequences: newSequences(t)})
	for _, path := range []string{"/v1/uid", "/v1/uid?n=3", "/v1/uid/5", "/api/snowflake/get/x"} {
		isProblem(t, path, tags.get(path), 404, "this server has no store of worker IDs, so it serves no UIDs; set store")
	}
}

// However many streams of events are open, another one is accepted: it ends the oldest one, also if that client does not read. That is no
// failure.
func TestStreamsDoNotLockOut(t *testing.T) {
	inBubble(t, func(t *testing.T, start func(Config, Options) *testServer) {
		s := start(testConfig(), Options{UIDs: newGenerator(t)})
		open := func() *http.Response {
			resp, err := s.client().Get(s.url + "/v1/events")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { resp.Body.Close() })
			return resp
		}
		for range maxStreams { // their clients do not read
			open()
		}
		synctest.Wait()
		if n := s.streams.count(); n != maxStreams {
			t.Fatalf("%d streams are open", n)
		}
		for range 3 {
			resp := open()
			if b := make([]byte, len("event: history")); resp.StatusCode != 200 {
				t.Errorf("another stream: %d", resp.StatusCode)
			} else if _, err := resp.Body.Read(b); err != nil || string(b) != "event: history" {
				t.Errorf("another stream: %q, %v", b, err)
			}
		}
		synctest.Wait()
		if n := s.inFlight.Load(); n != maxStreams {
			t.Errorf("%d streams have not ended", n)
		}
		if state := s.httpState(); state.Failures != 0 || state.InFlight != 0 {
			t.Errorf("%+v", state)
		}
	})
}

// When the store does not extend the lease, the log and the state of the server say so while the generator is still ready, and again when
// it does.
func TestStoreDoesNotExtendLease(t *testing.T) {
	for name, fault := range map[string]assigntest.Fault{"it refuses": assigntest.LoseRequest, "it hangs": assigntest.Block} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, start func(Config, Options) *testServer) {
				store := assigntest.NewMemory(assigntest.WithNoLoss())
				log := new(testkit.Buffer)
				logger := slog.New(slog.NewTextHandler(log, nil))
				g, err := uid.NewCached(t.Context(), slottest.New(t, store), uid.WithLogger(logger))
				if err != nil {
					t.Fatal(err)
				}
				defer g.Close()
				s := start(testConfig(), Options{UIDs: g, Logger: logger})
				const message = "the store of worker IDs does not extend the lease"
				time.Sleep(5 * time.Minute)
				if st := s.snapshot().UID; st.Low || time.Since(st.Extended) > 15*time.Second || strings.Contains(log.String(), message) {
					t.Fatalf("before the outage: %+v\n%s", st.leaseState, log)
				}
				store.SetFaults(func(assigntest.Op) assigntest.Fault { return fault })
				begin := time.Now()
				for !s.snapshot().UID.Low {
					time.Sleep(time.Second)
				}
				synctest.Wait() // for the record
				if took, st := time.Since(begin), s.snapshot(); took > 30*time.Second || !st.Ready || st.UID.Health.For < 10*time.Second {
					t.Errorf("the lease is low after %v: ready %v, %v left", took, st.Ready, st.UID.Health.For)
				}
				if n := strings.Count(log.String(), message); n != 1 {
					t.Errorf("%d warnings:\n%s", n, log)
				}
				store.SetFaults(nil)
				for s.snapshot().UID.Low {
					time.Sleep(time.Second)
				}
				synctest.Wait() // for the record
				if took := time.Since(begin); took > time.Minute || !strings.Contains(log.String(), "the store of worker IDs extends the lease again") {
					t.Errorf("after %v:\n%s", took, log)
				}
			})
		})
	}
}

// What a burst has reserved is not usual: after it, a lease that is extended in time is not low.
func TestLeaseAfterBurst(t *testing.T) {
	var w leaseWatch
	now := time.Now()
	st := uid.Stats{LeaseSince: now, LeaseBounded: true, ReserveAhead: 30 * time.Second}
	for _, tt := range []struct {
		left time.Duration
		low  bool
	}{{46 * time.Second, false}, {4 * time.Minute, false}, {34 * time.Second, false}, {22 * time.Second, true}} {
		w.note(slog.New(slog.DiscardHandler), now, st, uid.Health{For: tt.left})
		if got := w.last().Low; got != tt.low {
			t.Errorf("%v left: low is %v", tt.left, got)
		}
	}
}

// Quantiles are those of the last samples, at most a quarter too great.
func TestLatencies(t *testing.T) {
	var l latencies
	if p50, p99 := l.quantiles(); p50 != 0 || p99 != 0 {
		t.Errorf("without requests: %v, %v", p50, p99)
	}
	near := func(what string, got, want time.Duration) {
		t.Helper()
		if got < want || got > want*5/4 {
			t.Errorf("%s is %v, want %v to a quarter more", what, got, want)
		}
	}
	for i := range 1000 {
		l.observe(time.Duration(i+1) * 100 * time.Microsecond)
	}
	for range latencyWindow {
		p50, p99 := l.quantiles()
		near("the median", p50, 50*time.Millisecond)
		near("p99", p99, 99*time.Millisecond)
	}
	if p50, _ := l.quantiles(); p50 != 0 {
		t.Errorf("later: %v", p50)
	}
	for _, d := range []time.Duration{0, time.Microsecond, 3 * time.Microsecond, 999 * time.Microsecond, 7 * time.Second, time.Minute} {
		l.observe(d)
		p50, p99 := l.quantiles()
		near(fmt.Sprint(d), p50, max(d, time.Microsecond))
		near(fmt.Sprint(d), p99, max(d, time.Microsecond))
		for range latencyWindow {
			l.quantiles()
		}
	}
	l.observe(time.Hour) // the last bucket
	if _, p99 := l.quantiles(); p99 < 30*time.Second {
		t.Errorf("an hour is %v", p99)
	}
}

// Long answers that wait for their clients leave room: a short answer is given at once, and a long one that finds no memory in time is
// refused.
func TestBudget(t *testing.T) {
	inBubble(t, func(t *testing.T, start func(Config, Options) *testServer) {
		cfg := testConfig()
		cfg.RequestTimeout, cfg.WriteTimeout, cfg.MaxRequests = time.Second, 20*time.Second, 200
		s := start(cfg, Options{UIDs: newGenerator(t)})
		body := `{"ids":["1"` + strings.Repeat(`,"1"`, 9999) + `]}`
		for range 300 {
			go io.WriteString(s.connect(), "GET /v1/uid?n=10000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
			go io.WriteString(s.connect(), fmt.Sprintf("POST /v1/parse HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
		}
		time.Sleep(2 * time.Second)
		if lists, parses := s.lists.requests.Load(), s.parses.requests.Load(); lists == 0 || parses == 0 || lists*10_000*listMemory > listBudget || parses*10_000*partsMemory > parseBudget {
			t.Errorf("%d lists and %d answers with parts are in flight", lists, parses)
		}
		for _, path := range []string{"/v1/uid", "/v1/uid?n=128", "/v1/uid/5", "/api/snowflake/get/x"} {
			begin := time.Now()
			if a := s.get(path); a.status != 200 || time.Since(begin) > 0 {
				t.Errorf("%s: %d after %v", path, a.status, time.Since(begin))
			}
		}
		if a := s.do("POST", "/v1/parse", `{"ids":["5"]}`); a.status != 200 {
			t.Errorf("a short body: %+v", a)
		}
		isProblem(t, "a long list", s.get("/v1/uid?n=10000"), 503, "too many long answers")
		time.Sleep(cfg.WriteTimeout)
		synctest.Wait()
		a := s.get("/v1/uid?n=10000")
		synctest.Wait() // until its memory is free
		if a.status != 200 || s.lists.requests.Load() != 0 || s.parses.requests.Load() != 0 || s.inFlight.Load() != 0 {
			t.Errorf("afterwards: %d; %d lists, %d answers with parts, %d requests in flight", a.status, s.lists.requests.Load(), s.parses.requests.Load(), s.inFlight.Load())
		}
	})
}
