package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// tokens of the tests below, with what each allows.
func testTokens() (cfg Config, bearer func(name string) string) {
	secret := func(name string) string { return strings.Repeat(name, 20)[:20] }
	cfg = testConfig()
	cfg.Tokens = []Token{
		{Name: "uids", Secret: secret("uids"), UIDs: true},
		{Name: "orders", Secret: secret("orders"), Tags: []string{"orders"}},
		{Name: "tags", Secret: secret("tags"), Tags: []string{"*"}},
		{Name: "observe", Secret: secret("observe"), Observe: true},
	}
	return cfg, func(name string) string { return "Bearer " + secret(name) }
}

// A token allows what it is for, and nothing else; without one, only health and the page are there.
func TestTokens(t *testing.T) {
	cfg, bearer := testTokens()
	s := start(t, cfg, Options{})
	may := map[string]string{ // the tokens that a path allows; "any": each of them; "none": also without one
		"/v1/uid": "uids", "/v1/uid?n=2": "uids", "/api/snowflake/get/x": "uids",
		"/v1/segment/orders": "orders tags", "/api/segment/get/orders": "orders tags", "/v1/segment/invoices": "tags", "/api/segment/get/invoices": "tags",
		"/metrics": "observe", "/v1/stats": "observe",
		"/v1/uid/5": "any", "/healthz": "none", "/readyz": "none", "/": "none", "/openapi.json": "none", "/assets/page.js": "none",
	}
	for path, allowed := range may {
		for _, name := range []string{"uids", "orders", "tags", "observe"} {
			want := http.StatusForbidden
			if allowed == "any" || allowed == "none" || strings.Contains(" "+allowed+" ", " "+name+" ") {
				want = http.StatusOK
			}
			if a := s.get(path, "Authorization", bearer(name)); a.status != want {
				t.Errorf("%s with the token %s: %d, want %d", path, name, a.status, want)
			}
		}
		for _, wrong := range []string{"", "Bearer", "Bearer ", "Bearer x", bearer("uids") + "x", strings.TrimPrefix(bearer("uids"), "Bearer "), "Basic " + bearer("uids")[7:], bearer("uids")[:20], "Bearer  " + bearer("uids")[7:]} {
			want := http.StatusUnauthorized
			if allowed == "none" {
				want = http.StatusOK
			}
			a := s.get(path, "Authorization", wrong)
			if a.status != want {
				t.Errorf("%s with %q: %d, want %d", path, wrong, a.status, want)
			}
			if want == http.StatusUnauthorized && !strings.HasPrefix(a.header.Get("Www-Authenticate"), "Bearer ") {
				t.Errorf("%s: %v", path, a.header)
			}
		}
	}
	if a := s.get("/v1/uid", "Authorization", strings.ToLower(bearer("uids")[:6])+bearer("uids")[6:]); a.status != 200 {
		t.Errorf("the scheme in lower case: %d", a.status)
	}
	if log := s.log.String(); strings.Contains(log, bearer("uids")[7:]) {
		t.Error("the log has a token")
	}
}

// Two headers with tokens are refused, even if one of them is right.
func TestTwoTokens(t *testing.T) {
	cfg, bearer := testTokens()
	s := start(t, cfg, Options{})
	back := s.raw("GET /v1/uid HTTP/1.1\r\nHost: localhost\r\nAuthorization: " + bearer("uids") + "\r\nAuthorization: Bearer x\r\nConnection: close\r\n\r\n")
	if !strings.HasPrefix(back, "HTTP/1.1 401 ") {
		t.Errorf("%s", back)
	}
}

// Readiness has details only for those who may observe.
func TestReadinessDetails(t *testing.T) {
	cfg, bearer := testTokens()
	s := start(t, cfg, Options{})
	check(t, "without a token", s.get("/readyz"), 200, `{"ok":true}`+"\n")
	check(t, "with another token", s.get("/readyz", "Authorization", bearer("uids")), 200, `{"ok":true}`+"\n")
	if a := s.get("/readyz", "Authorization", bearer("observe")); !strings.Contains(a.body, `"uid":{"ok":true`) {
		t.Errorf("%+v", a)
	}
}

// Pages of other sites cannot use the server through a browser; nor can names that are made to lead to this machine.
func TestForeignPages(t *testing.T) {
	s := start(t, testConfig(), Options{})
	for _, site := range []string{"cross-site", "same-site", "x"} {
		isProblem(t, site, s.get("/v1/uid", "Sec-Fetch-Site", site, "Sec-Fetch-Mode", "no-cors"), 403, "another site")
	}
	for _, site := range []string{"same-origin", "none"} {
		if a := s.get("/v1/uid", "Sec-Fetch-Site", site); a.status != 200 {
			t.Errorf("%s: %d", site, a.status)
		}
	}
	if a := s.get("/", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"); a.status != 200 {
		t.Errorf("a link to the page: %d", a.status)
	}
	for _, tt := range []struct {
		path, dest string
		status     int
	}{
		{"/", "document", 200}, {"/metrics", "document", 200}, {"/v1/uid/5", "document", 200}, {"/", "iframe", 403}, {"/v1/events", "iframe", 403}, {"/metrics", "object", 403},
		{"/v1/uid", "document", 403}, {"/v1/uid?n=10000", "iframe", 403}, {"/v1/segment/orders", "document", 403}, {"/api/segment/get/orders", "document", 403},
		{"/api/snowflake/get/x", "", 403},
	} {
		if a := s.get(tt.path, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", tt.dest); a.status != tt.status {
			t.Errorf("another site opens %s as %q: %d, want %d", tt.path, tt.dest, a.status, tt.status)
		}
	}
	// Without Sec-Fetch-Site, as over plain HTTP, Origin or Referer must name this host. Clients that are no browsers send none of them.
	const browser = "Mozilla/5.0 (X11; Linux x86_64)"
	for _, tt := range []struct {
		path, origin, referer, agent string
		status                       int
	}{
		{"/v1/uid", "http://evil.example", "", "", 403}, {"/v1/uid", "null", "", "", 403}, {"/v1/uid", "http://ids.example:81", "", "", 403}, {"/v1/stats", "http://evil.example", "", "", 403},
		{"/v1/uid", "http://evil.example", "http://ids.example:80/", "", 403}, {"/v1/uid", "http://IDS.example:80", "", browser, 200}, {"/v1/uid", "", "http://ids.example:80/a?b", browser, 200},
		{"/v1/uid", "", "", browser, 403}, {"/v1/uid", "", "http://evil.example/", browser, 403}, {"/v1/segment/orders", "", "", browser, 403}, {"/api/snowflake/get/x", "", "", browser, 403},
		{"/metrics", "", "", browser, 200}, {"/", "", "http://evil.example/", browser, 200}, {"/v1/uid/5", "", "", browser, 200}, {"/v1/uid", "", "", "curl/8", 200},
	} {
		cfg := testConfig()
		cfg.Hosts = []string{"ids.example"}
		header := []string{"Host", "ids.example:80"}
		for name, value := range map[string]string{"Origin": tt.origin, "Referer": tt.referer, "User-Agent": tt.agent} {
			if value != "" {
				header = append(header, name, value)
			}
		}
		a := start(t, cfg, Options{}).get(tt.path, header...)
		if a.status != tt.status {
			t.Errorf("%+v: %d", tt, a.status)
		}
		if tt.status == 403 {
			isProblem(t, fmt.Sprintf("%+v", tt), a, 403, "a page of another host")
		}
	}
	for host, status := range map[string]int{"localhost": 200, "LOCALHOST:80": 200, "127.0.0.1:99": 200, "[::1]:5": 200, "evil.example": 421, "evil.example:80": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example": 421} {
		if a := s.get("/v1/uid", "Host", host); a.status != status {
			t.Errorf("host %s: %d, want %d", host, a.status, status)
		}
	}
	for _, tt := range []struct {
		listen string
		hosts  []string
		host   string
		want   bool
	}{
		{"0.0.0.0:80", nil, "any.example", true}, {":80", []string{"ids.example"}, "other.example", false}, {":80", []string{"ids.example"}, "IDS.example:443", true},
		{"127.0.0.1:80", []string{"ids.example"}, "ids.example", true}, {"localhost:80", nil, "ids.example", false},
	} {
		if got := newHostCheck(tt.listen, tt.hosts).allows(tt.host); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// A request ID of a client is used if it is harmless; others are replaced by IDs that differ.
func TestRequestIDs(t *testing.T) {
	s := start(t, testConfig(), Options{})
	seen := map[string]bool{}
	for _, id := range []string{"", "a b", "x\"y", strings.Repeat("x", 65), "ü"} {
		got := s.get("/v1/uid", "X-Request-Id", id).header.Get("X-Request-Id")
		if got == id || !validRequestID(got) || seen[got] {
			t.Errorf("%q becomes %q", id, got)
		}
		seen[got] = true
	}
	for _, id := range []string{"a", "A-z_0.9:", strings.Repeat("x", 64)} {
		if got := s.get("/none", "X-Request-Id", id).header.Get("X-Request-Id"); got != id {
			t.Errorf("%q becomes %q", id, got)
		}
		if !strings.Contains(s.log.String(), fmt.Sprintf("request_id=%s ", id)) {
			t.Errorf("the log has no record of %s", id)
		}
	}
}
