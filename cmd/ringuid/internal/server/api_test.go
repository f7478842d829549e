package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/uid"
)

// oneID and listOfIDs are answers with IDs as strings.
type (
	oneID     struct{ ID string }
	listOfIDs struct{ IDs []string }
)

// decode reads an answer as JSON, strictly.
func decode(t *testing.T, a answer, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(a.body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil || a.status != 200 || a.header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d %s %s: %v", a.status, a.header, a.body, err)
	}
}

// UIDs are strings, or numbers where a request asks for them; all are different, positive, and of this generator.
func TestUIDs(t *testing.T) {
	g := newGenerator(t)
	s := start(t, testConfig(), Options{UIDs: g})
	seen := map[string]bool{}
	add := func(text string) {
		t.Helper()
		id, err := uid.ParseID(text)
		if err != nil || id.IsZero() || seen[text] {
			t.Fatalf("the UID %q is wrong or there again: %v", text, err)
		}
		if g.Parse(id).WorkerID != 1 {
			t.Errorf("the UID %v is of another worker ID", g.Parse(id))
		}
		seen[text] = true
	}
	for range 10 {
		var one oneID
		decode(t, s.get("/v1/uid"), &one)
		add(one.ID)
	}
	for _, n := range []int{1, 2, 1000, 10_000} {
		var list listOfIDs
		decode(t, s.get("/v1/uid?n="+strconv.Itoa(n)), &list)
		if len(list.IDs) != n {
			t.Errorf("n=%d: %d UIDs", n, len(list.IDs))
		}
		for _, id := range list.IDs {
			add(id)
		}
	}
	var numbers struct{ IDs []json.Number }
	a := s.get("/v1/uid?n=3&as=number")
	decode(t, a, &numbers)
	for _, id := range numbers.IDs {
		add(id.String())
	}
	if strings.Count(a.body, `"`) != 2 {
		t.Errorf("the numbers are %s", a.body)
	}
	var number struct{ ID json.Number }
	decode(t, s.get("/v1/uid?as=number"), &number)
	add(number.ID.String())
	decode(t, s.get("/v1/uid?as=string"), new(oneID))
	if st := g.Stats(); st.Issued != uint64(len(seen))+1 {
		t.Errorf("%d UIDs were issued, and %d were answered", st.Issued, len(seen)+1)
	}
}

// A parameter that is wrong is refused, with its value and its bounds, and takes no UID.
func TestParameters(t *testing.T) {
	g := newGenerator(t)
	cfg := testConfig()
	cfg.MaxBatch = 500
	s := start(t, cfg, Options{UIDs: g, Sequences: newSequences(t)})
	for query, contains := range map[string]string{
		"n=0": `must be 1 to 500`, "n=501": `must be 1 to 500`, "n=-1": `must be 1 to 500`, "n=": `must be 1 to 500`, "n=01": `must be 1 to 500`,
		"n=%2B5": `must be 1 to 500`, "n=5.0": `must be 1 to 500`, "n=1e2": `must be 1 to 500`, "n=99999999999999999999": `must be 1 to 500`,
		"n=1&n=2": "2 times", "as=text": "must be string or number", "as=number&as=number": "2 times", "count=5": "no parameter", "N=5": "no parameter",
		"n=5;as=number": "malformed", "n=%zz": "malformed", "n=" + strings.Repeat("9", 5000): `must be 1 to 500`,
	} {
		for _, path := range []string{"/v1/uid?", "/v1/segment/orders?"} {
			isProblem(t, path+query, s.get(path+query), 400, contains)
		}
	}
	if n := g.Stats().Issued; n != 0 {
		t.Errorf("%d UIDs were taken", n)
	}
}

// Numbers of a tag are 1, 2, 3 and so on, whatever path hands them out; names are those of the source.
func TestNumbers(t *testing.T) {
	s := start(t, testConfig(), Options{Sequences: newSequences(t)})
	check(t, "one", s.get("/v1/segment/orders"), 200, `{"id":"1"}`+"\n")
	check(t, "as number", s.get("/v1/segment/orders?as=number"), 200, `{"id":2}`+"\n")
	check(t, "list", s.get("/v1/segment/orders?n=3"), 200, `{"ids":["3","4","5"]}`+"\n")
	check(t, "numbers", s.get("/v1/segment/orders?n=2&as=number"), 200, `{"ids":[6,7]}`+"\n")
	check(t, "Leaf", s.get("/api/segment/get/orders"), 200, `8`)
	check(t, "another tag", s.get("/v1/segment/invoices"), 200, `{"id":"1"}`+"\n")
	check(t, "escaped", s.get("/v1/segment/"+url.PathEscape(oddTag)), 200, `{"id":"1"}`+"\n")
	check(t, "Leaf, escaped", s.get("/api/segment/get/"+url.PathEscape(oddTag)), 200, `2`)
	var list listOfIDs
	decode(t, s.get("/v1/segment/orders?n=1000"), &list) // over several ranges
	for i, id := range list.IDs {
		if id != strconv.Itoa(9+i) {
			t.Fatalf("number %d is %s", i, id)
		}
	}
	isProblem(t, "no tag", s.get("/v1/segment/none"), 404, `there is no tag \"none\"`)
	isProblem(t, "invalid tag", s.get("/v1/segment/%20x"), 400, "the tag must have")
	isProblem(t, "too long", s.get("/v1/segment/"+strings.Repeat("x", 129)), 400, "the tag must have")
	isProblem(t, "UIDs are not served", s.get("/v1/uid"), 404, "no store of worker IDs")
	isProblem(t, "nor by Leaf's path", s.get("/api/snowflake/get/x"), 404, "no store of worker IDs")
}

// Only the tags of the setting are served; the others do not reach the source.
func TestTagsOfSetting(t *testing.T) {
	var asked []string
	cfg := testConfig()
	cfg.Tags = []string{"orders"}
	s := start(t, cfg, Options{Sequences: &fakeSequences{claim: func(_ context.Context, tag string, n int64) (segment.Range, error) {
		asked = append(asked, tag)
		return segment.Range{First: 5, Length: n, Stride: 2}, nil
	}}})
	check(t, "served", s.get("/v1/segment/orders?n=3"), 200, `{"ids":["5","7","9"]}`+"\n")
	for _, path := range []string{"/v1/segment/invoices", "/v1/segment/invoices?n=2", "/v1/segment/orders%20"} {
		isProblem(t, path, s.get(path), 404, "there is no tag")
	}
	if a := s.get("/api/segment/get/invoices"); a.status != 500 {
		t.Errorf("Leaf's path: %+v", a)
	}
	if fmt.Sprint(asked) != "[orders]" {
		t.Errorf("the source was asked for %q", asked)
	}
}

// Leaf's paths answer with a decimal number, or with status 500 and Leaf's object; never with 0.
func TestLeafPaths(t *testing.T) {
	s := start(t, testConfig(), Options{})
	for range 3 {
		a := s.get("/api/snowflake/get/any")
		if id, err := uid.ParseID(a.body); err != nil || id.IsZero() || a.status != 200 || !strings.HasPrefix(a.header.Get("Content-Type"), "text/plain") {
			t.Errorf("%+v: %v", a, err)
		}
	}
	a := s.get("/api/segment/get/none")
	var e leafError
	if err := json.Unmarshal([]byte(a.body), &e); err != nil || a.status != 500 || e.Status != 500 || e.Error != "Internal Server Error" ||
		e.Message != "Result{id=-2, status=EXCEPTION}" || e.Path != "/api/segment/get/none" || e.Exception == "" || e.Timestamp == 0 {
		t.Errorf("%+v: %v", a, err)
	}
	if n := len(s.failures.list()); n != 0 {
		t.Errorf("a tag that does not exist is recorded as a failure of the server")
	}
}

// A generator or a sequence that returns 0 or less is never believed, on any path.
func TestNeverZero(t *testing.T) {
	for _, v := range []int64{0, -1} {
		g := &fakeGenerator{Generator: newGenerator(t), next: func(context.Context) (uid.ID, error) { return uid.ID(v), nil }}
		q := &fakeSequences{claim: func(_ context.Context, _ string, n int64) (segment.Range, error) {
			return segment.Range{First: v, Length: n}, nil
		}}
		s := start(t, testConfig(), Options{UIDs: g, Sequences: q})
		for path, status := range map[string]int{
			"/v1/uid": 503, "/v1/uid?n=2": 503, "/v1/uid?as=number": 503, "/v1/segment/a": 503, "/v1/segment/a?n=3": 503,
			"/api/snowflake/get/a": 500, "/api/segment/get/a": 500,
		} {
			if a := s.get(path); a.status != status || strings.TrimSpace(a.body) == "0" {
				t.Errorf("%d: %s: %+v", v, path, a)
			}
		}
	}
}

// A failure says what is wrong without the details of the store; the log has those, with the request's ID.
func TestFailures(t *testing.T) {
	secret := errors.New("dial tcp 10.1.2.3:3306: refused")
	var err error
	g := &fakeGenerator{Generator: newGenerator(t), next: func(context.Context) (uid.ID, error) { return 0, err }}
	q := &fakeSequences{claim: func(context.Context, string, int64) (segment.Range, error) { return segment.Range{}, err }}
	s := start(t, testConfig(), Options{UIDs: g, Sequences: q})
	for _, tt := range []struct {
		path     string
		err      error
		contains string
	}{
		{"/v1/uid", uid.ErrTimeExhausted, "the time bits of the layout are exhausted"},
		{"/v1/uid?n=2", uid.ErrClosed, "shutting down"},
		{"/v1/uid", context.DeadlineExceeded, "in time"},
		{"/v1/uid", uid.ErrEmpty, "no UID is available"},
		{"/v1/segment/a", segment.ErrExhausted, "no numbers left"},
		{"/v1/segment/a?n=2", &segment.SetBackError{Tag: "a"}, "set back"},
		{"/v1/segment/a", segment.ErrTooManyTags, "too many tags"},
		{"/v1/segment/a", segment.ErrClosed, "shutting down"},
		{"/v1/segment/a", &segment.EmptyError{Tag: "a"}, `no number of the tag \"a\" is available`},
	} {
		err = errors.Join(tt.err, secret)
		a := s.get(tt.path, "X-Request-Id", "my-request")
		isProblem(t, tt.path, a, 503, tt.contains)
		if strings.Contains(a.body, "10.1.2.3") || a.header.Get("Retry-After") == "" {
			t.Errorf("%s: %+v", tt.path, a)
		}
	}
	if log := s.log.String(); !strings.Contains(log, "10.1.2.3") || !strings.Contains(log, "request_id=my-request") {
		t.Errorf("the log is:\n%s", log)
	}
	if n := len(s.failures.list()); n != 9 || s.failures.list()[0].RequestID != "my-request" {
		t.Errorf("%d failures: %+v", n, s.failures.list())
	}
}

// A request that gets no number ends at the time limit.
func TestTimeLimit(t *testing.T) {
	cfg := testConfig()
	cfg.RequestTimeout = 20 * time.Millisecond
	g := &fakeGenerator{Generator: newGenerator(t), next: func(ctx context.Context) (uid.ID, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	}}
	q := &fakeSequences{claim: func(ctx context.Context, _ string, _ int64) (segment.Range, error) {
		<-ctx.Done()
		return segment.Range{}, ctx.Err()
	}}
	s := start(t, cfg, Options{UIDs: g, Sequences: q})
	for _, path := range []string{"/v1/uid", "/v1/uid?n=5", "/v1/segment/a", "/v1/segment/a?n=5"} {
		isProblem(t, path, s.get(path), 503, "vailable")
	}
}

// The parts of a UID are those that the generator reads.
func TestParse(t *testing.T) {
	g := newGenerator(t)
	s := start(t, testConfig(), Options{UIDs: g})
	id, err := g.Next()
	if err != nil {
		t.Fatal(err)
	}
	p := g.Parse(id)
	want := fmt.Sprintf(`{"id":"%d","time":%q,"worker_id":%d,"sequence":%d,"delta":%d}`, id, p.Time.Format(time.RFC3339), p.WorkerID, p.Sequence, p.Delta)
	check(t, "one", s.get("/v1/uid/"+id.String()), 200, want+"\n")
	check(t, "list", s.do("POST", "/v1/parse", fmt.Sprintf(`{"ids":["%d",%d]}`, id, id)), 200, `{"parts":[`+want+","+want+"]}\n")
	if a := s.get("/v1/uid/9223372036854775807"); a.status != 200 {
		t.Errorf("the greatest number: %+v", a)
	}
	for _, text := range []string{"-1", "x", "01", "9223372036854775808", "1.5", "%2B1", "0x10", strings.Repeat("9", 3000)} {
		isProblem(t, text, s.get("/v1/uid/"+text), 400, "is not a UID")
	}
	for _, body := range []string{`[]`, `{}`, `{"ids":[]}`, `{"ids":["x"]}`, `{"ids":["1"],"more":1}`, `{"ids":["1"]} {}`, `{"ids":["1"]`, `{"ids":[1.5]}`, "\x00"} {
		if a := s.do("POST", "/v1/parse", body); a.status != 400 {
			t.Errorf("%s: %+v", body, a)
		}
	}
	isProblem(t, "null", s.do("POST", "/v1/parse", `{"ids":["5",null]}`), 400, "null")
	isProblem(t, "too many", s.do("POST", "/v1/parse", `{"ids":[`+strings.Repeat("1,", 10_000)+"1]}"), 400, "must have 1 to 10000")
}

// A server of UIDs stays ready while its tags have no numbers; one that serves only tags is ready while one of them has numbers. The answer
// names the tags that have none.
func TestReadinessWithTags(t *testing.T) {
	empty, ok := segment.Health{Err: segment.ErrEmpty}, segment.Health{Buffered: 5}
	g := newGenerator(t)
	for _, tt := range []struct {
		name     string
		uids     uid.Generator
		health   map[string]segment.Health
		status   int
		contains string
	}{
		{"UIDs, the only tag is empty", g, map[string]segment.Health{"orders": empty}, 200, `"tags":{"orders":{"ok":false`},
		{"UIDs, all tags are empty", g, map[string]segment.Health{"orders": empty, "invoices": empty}, 200, `"invoices":{"ok":false`},
		{"UIDs, no tag is in memory", g, nil, 200, `{"ok":true,"uid":`},
		{"tags, none is in memory", nil, nil, 200, `{"ok":true}`},
		{"tags, one is empty", nil, map[string]segment.Health{"orders": empty, "invoices": ok}, 200, `{"ok":true,"tags":{"orders":{"ok":false`},
		{"tags, all are empty", nil, map[string]segment.Health{"orders": empty, "invoices": empty}, 503, `"orders":{"ok":false`},
	} {
		s := start(t, testConfig(), Options{UIDs: tt.uids, Sequences: &fakeSequences{health: tt.health}})
		if a := s.get("/readyz"); a.status != tt.status || !strings.Contains(a.body, tt.contains) {
			t.Errorf("%s: %d %s, want %d with %s", tt.name, a.status, a.body, tt.status, tt.contains)
		}
	}
}
