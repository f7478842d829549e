package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/redistest"
	"github.com/ringuid/ringuid/internal/testkit"
)

// When a server's store hangs, its log has a warning within half of the time that is left of its lease, and its state says so while it is
// ready. It serves UIDs again soon after the store answers.
func TestServeOutage(t *testing.T) {
	testkit.Full(t, "a lease with the defaults ends after 45 s")
	store := redistest.Start(t)
	store.MustCommand("CONFIG", "SET", "maxmemory-policy", "noeviction")
	p := startProcess(t, "--store", "redis://"+store.Address()+"/?new-pool=true", "--listen", "127.0.0.1:0", "--drain", "0s")
	type state struct {
		Ready bool
		UID   struct {
			Low    bool `json:"lease_low"`
			Health struct{ For time.Duration }
		}
	}
	stats := func() (s state) {
		t.Helper()
		resp, err := http.Get("http://" + p.addr + "/v1/stats")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(body, &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	warning := regexp.MustCompile(`level=WARN msg="(uid: failed, trying again|the store of worker IDs does not extend the lease)`)
	store.Pause()
	begin := time.Now()
	var warned, low, ended time.Duration
	for ended == 0 {
		s, took := stats(), time.Since(begin)
		if warned == 0 && warning.MatchString(p.text()) {
			warned = took
		}
		if low == 0 && s.UID.Low {
			low = took
		}
		if !s.Ready {
			ended = took
		}
		if took > 2*time.Minute {
			t.Fatal("the server is still ready")
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Logf("a warning after %v, low after %v, not ready after %v", warned, low, ended)
	if warned == 0 || warned > ended*2/3 || low == 0 || low > ended*2/3 {
		t.Errorf("a warning after %v, low after %v, not ready after %v:\n%s", warned, low, ended, p.text())
	}
	store.Resume()
	testkit.Eventually(t, "the server is ready again", func() bool { s := stats(); return s.Ready && !s.UID.Low })
	if got := status(t, http.DefaultClient, "http://"+p.addr+"/v1/uid"); got != 200 || !strings.Contains(p.text(), "uid: recovered") {
		t.Errorf("afterwards: %d\n%s", got, p.text())
	}
	http.DefaultClient.CloseIdleConnections()
}
