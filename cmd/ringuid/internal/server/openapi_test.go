//go:build ringuid_full

package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// description returns the description of the API, checked.
func description(t testing.TB) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(openAPIDescription)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Fatal(err)
	}
	return doc
}

// The description has exactly the routes of the server, with their methods, their need of a token and their bodies.
func TestDescriptionHasAllRoutes(t *testing.T) {
	s, err := New(testConfig(), Options{UIDs: newGenerator(t), Sequences: newSequences(t)})
	if err != nil {
		t.Fatal(err)
	}
	doc := description(t)
	described := map[string]*openapi3.Operation{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			described[method+" "+path] = op
		}
	}
	for _, r := range s.routes {
		name := r.method + " " + strings.TrimSuffix(r.path, "{$}")
		op := described[name]
		if op == nil {
			t.Errorf("%s is not described", name)
			continue
		}
		delete(described, name)
		if needs := (*op.Security)[0]["token"] != nil; needs != (r.needs != open) {
			t.Errorf("%s: needs a token %v, described as %v", name, r.needs != open, needs)
		}
		if (op.RequestBody != nil) != r.body {
			t.Errorf("%s: has a body %v", name, r.body)
		}
	}
	if len(described) > 0 {
		t.Errorf("these are described and do not exist: %v", slices.Collect(maps.Keys(described)))
	}
}

// A describedClient sends requests, and checks that each answer is one that the description has.
type describedClient struct {
	t      *testing.T
	router routers.Router
	seen   map[string]bool // "GET /v1/uid 200"
}

var streamed = regexp.MustCompile(`^/v1/events`)

// RoundTrip implements http.RoundTripper.
func (d *describedClient) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	route, params, err := d.router.FindRoute(req)
	if err != nil {
		return resp, nil // not an operation
	}
	var body []byte
	if streamed.MatchString(req.URL.Path) && resp.StatusCode == 200 {
		body = []byte("event")
	} else if body, err = io.ReadAll(resp.Body); err != nil {
		return nil, err
	}
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	d.seen[route.Method+" "+route.Path+" "+resp.Status[:3]] = true
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route},
		Status:                 resp.StatusCode,
		Header:                 resp.Header,
		Options:                &openapi3filter.Options{IncludeResponseStatus: true},
	}
	if route.Method == "HEAD" {
		return resp, nil
	}
	if err := openapi3filter.ValidateResponse(req.Context(), input.SetBodyBytes(body)); err != nil {
		d.t.Errorf("%s %s: %d %s: %v", req.Method, req.URL, resp.StatusCode, body, err)
	}
	return resp, nil
}

// poolOf is a Pool with a state or an error.
type poolOf struct {
	state recycled.State
	err   error
}

func (p *poolOf) State(context.Context) (recycled.State, error) { return p.state, p.err }

// Every answer is one that the description has: its status, its type, and each key of its body. Every status of the
// description comes up.
func TestAnswersAreDescribed(t *testing.T) {
	doc := description(t)
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	openapi3filter.RegisterBodyDecoder("text/event-stream", openapi3filter.FileBodyDecoder)
	openapi3filter.RegisterBodyDecoder("text/html", openapi3filter.FileBodyDecoder)
	openapi3filter.RegisterBodyDecoder("text/javascript", openapi3filter.FileBodyDecoder)
	openapi3filter.RegisterBodyDecoder("text/css", openapi3filter.FileBodyDecoder)
	openapi3filter.RegisterBodyDecoder("image/svg+xml", openapi3filter.FileBodyDecoder)
	d := &describedClient{t: t, router: router, seen: map[string]bool{}}
	var failing error
	real, tags := newGenerator(t), newSequences(t)
	pool := &poolOf{}
	pool.state.Slots = []recycled.Slot{{WorkerID: 1, Token: "x"}, {WorkerID: 2}}
	cfg := testConfig()
	secret := strings.Repeat("s", 20)
	cfg.Tokens = []Token{{Name: "all", Secret: secret, UIDs: true, Tags: []string{"*"}, Observe: true}, {Name: "none", Secret: strings.Repeat("n", 20), Tags: []string{"x"}},
		{Name: "limited", Secret: strings.Repeat("r", 20), UIDs: true, Tags: []string{"*"}, Rate: 1}}
	opts := Options{Pool: pool,
		UIDs: &fakeGenerator{Generator: real, next: func(ctx context.Context) (uid.ID, error) {
			if failing != nil {
				return 0, failing
			}
			return real.NextContext(ctx)
		}},
		Sequences: &failingTags{Tags: tags, err: &failing},
	}
	s := start(t, cfg, opts)
	noPool := start(t, cfg, Options{UIDs: real})
	slowCfg := cfg
	slowCfg.ReadTimeout = 100 * time.Millisecond
	slow := start(t, slowCfg, Options{UIDs: real})
	send := func(s *testServer, method, path, body string, header ...string) bool {
		t.Helper()
		req, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if body == "" {
			req.Body, req.ContentLength = nil, 0
		}
		if s == slow { // a body that does not arrive
			in, out := io.Pipe()
			defer out.Close()
			req.Body, req.ContentLength = in, 100
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+secret)
		for i := 0; i < len(header); i += 2 {
			if header[i] == "Host" {
				req.Host = header[i+1]
			}
			req.Header.Set(header[i], header[i+1])
		}
		resp, err := d.RoundTrip(req)
		if s == slow && err != nil { // the connection has ended before the header arrived
			return false
		}
		if err != nil {
			t.Fatal(err)
		}
		return resp.Body.Close() == nil
	}
	method := func(path string) string {
		if strings.Contains(path, "/block") {
			return "POST"
		}
		return "GET"
	}
	paths := []string{"/v1/uid", "/v1/uid?n=3", "/v1/uid?as=number", "/v1/uid?n=3&as=number", "/v1/uid/962392666547429376", "/v1/segment/orders", "/v1/segment/orders?n=200", "/v1/segment/orders?as=number", "/v1/block?n=5", "/v1/segment/orders/block?n=5",
		"/api/snowflake/get/x", "/api/segment/get/orders", "/healthz", "/readyz", "/metrics", "/v1/stats", "/v1/leases", "/v1/events", "/openapi.json", "/", "/assets/chart.js"}
	for _, path := range paths {
		send(s, method(path), path, "")
		send(s, method(path), path, "x")                                                    // 413
		send(s, method(path), path, "", "Authorization", "Bearer wrong")                    // 401
		send(s, method(path), path, "", "Authorization", "Bearer "+strings.Repeat("n", 20)) // 403
		send(s, method(path), path, "", "Sec-Fetch-Site", "cross-site")                     // 403
		send(s, method(path), path, "", "Host", "evil.example")                             // 421
		s.limited.Add(1_000_000)
		send(s, method(path), path, "") // 503
		s.limited.Add(-1_000_000)
	}
	send(s, "POST", "/v1/parse", `{"ids":["962392666547429376",5]}`)
	send(s, "POST", "/v1/parse", `{}`)
	testkit.Eventually(t, "a body that does not arrive is answered", func() bool { return send(slow, "POST", "/v1/parse", "") })
	send(s, "POST", "/v1/parse", strings.Repeat("x", 70_000))
	send(s, "POST", "/v1/parse", `{}`, "Authorization", "")
	send(s, "POST", "/v1/parse", `{}`, "Sec-Fetch-Site", "cross-site")
	send(s, "POST", "/v1/parse", `{}`, "Host", "evil.example")
	s.limited.Add(1_000_000)
	send(s, "POST", "/v1/parse", `{}`)
	s.limited.Add(-1_000_000)
	for _, path := range []string{"/v1/uid?n=0", "/v1/uid/x", "/v1/segment/orders?as=x", "/assets/none", "/v1/segment/none", "/v1/block", "/v1/segment/orders/block?n=x", "/v1/segment/none/block?n=1", "/api/segment/get/none"} {
		send(s, method(path), path, "")
	}
	send(noPool, "GET", "/v1/leases", "")
	send(noPool, "GET", "/v1/stats", "") // without tags and failures
	failing, pool.err = errors.Join(uid.ErrEmpty, segment.ErrEmpty), errors.New("the store is down")
	s.leases = newCache[*poolState](leaseCacheTime)
	for _, path := range paths {
		send(s, method(path), path, "")
	}
	s.draining.Store(true)
	for _, path := range paths {
		send(s, method(path), path, "")
	}
	s.draining.Store(false)
	for range 2 { // which is used up for hours then
		s.auth.tokens[2].limit.ReserveN(time.Now(), cfg.MaxBatch)
	}
	for _, path := range []string{"/v1/uid", "/v1/segment/orders", "/v1/block?n=1", "/v1/segment/orders/block?n=1", "/api/snowflake/get/x", "/api/segment/get/orders"} {
		send(s, method(path), path, "", "Authorization", "Bearer "+strings.Repeat("r", 20)) // 429
	}

	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			for status := range op.Responses.Map() {
				// A path that is not canonical belongs to no route; of these only that of other paths is tested there.
				if status == "400" && !strings.Contains(path, "uid") && !strings.Contains(path, "v1/segment") && path != "/v1/block" {
					continue
				}
				if name := method + " " + path + " " + status; !d.seen[name] {
					t.Errorf("%s is described, and did not come up", name)
				}
			}
		}
	}
}

// failingTags are sequences that fail while err is set.
type failingTags struct {
	*segment.Tags
	err *error
}

func (f *failingTags) NextContext(ctx context.Context, tag string) (int64, error) {
	if *f.err != nil {
		return 0, *f.err
	}
	return f.Tags.NextContext(ctx, tag)
}

func (f *failingTags) Claim(ctx context.Context, tag string, n int64) (segment.Range, error) {
	if *f.err != nil {
		return segment.Range{}, *f.err
	}
	return f.Tags.Claim(ctx, tag, n)
}
