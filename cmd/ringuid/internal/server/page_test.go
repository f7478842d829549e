package server

import (
	"regexp"
	"strings"
	"testing"
)

// The policy of the page forbids everything from elsewhere and all inline code, and no file of the page needs more.
func TestPagePolicy(t *testing.T) {
	s := start(t, testConfig(), Options{})
	a := s.get("/")
	policy := a.header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "form-action 'none'", "base-uri 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q has no %q", policy, want)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
		t.Errorf("the policy is %q", policy)
	}
	entries, err := pageFiles.ReadDir("page")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == "index.html" {
			continue
		}
		if got := s.get("/assets/" + e.Name()); got.status != 200 || got.header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %d", e.Name(), got.status)
		}
	}
	if regexp.MustCompile(`(?i)<script(>| [^>]*>[^<])|style=|\bon[a-z]+=|https?://`).MatchString(a.body) {
		t.Error("the page has code, styles or addresses in its text")
	}
}
