package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/ringuid/ringuid"
	"github.com/ringuid/ringuid/cmd/ringuid/internal/connect"
	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/mariadbtest"
	"github.com/ringuid/ringuid/internal/testkit/redistest"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
)

// When a server's store hangs or is down, its log has a warning long before the end of its lease, and its state says so while it is ready. It
// serves UIDs again soon after the store answers.
func TestServeOutage(t *testing.T) {
	testkit.Full(t, "a lease with the defaults ends after 45 s")
	for name, start := range map[string]func(t *testing.T) (url string, down, up func()){
		"Redis hangs": func(t *testing.T) (string, func(), func()) {
			store := redistest.Start(t)
			return createdPool(t, "redis://"+store.Address()), store.Pause, store.Resume
		},
		"MariaDB hangs": func(t *testing.T) (string, func(), func()) {
			store := mariadbtest.Start(t)
			return mariaDBPool(t, store), store.Pause, store.Resume
		},
		"MariaDB is down": func(t *testing.T) (string, func(), func()) {
			store := mariadbtest.Start(t)
			return mariaDBPool(t, store), store.Kill, store.Restart
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testServeOutage(t, start)
		})
	}
}

// mariaDBPool returns the text of a store with the tables of a new pool.
func mariaDBPool(t *testing.T, s *mariadbtest.Server) string {
	t.Helper()
	name, db := s.Database()
	testserver.RunScript(t, db, ringuid.MySQLSchema())
	return createdPool(t, s.DSN("root", "", name)+"?assign=recycled")
}

// createdPool creates the pool in a store, and returns the text of the store.
func createdPool(t *testing.T, text string) string {
	t.Helper()
	s, err := connect.Open(t.Context(), text, connect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.CreatePool(t.Context()); err != nil {
		t.Fatal(err)
	}
	return text
}

func testServeOutage(t *testing.T, start func(t *testing.T) (url string, down, up func())) {
	url, down, up := start(t)
	p := startProcess(t, "--store", url, "--listen", "127.0.0.1:0", "--drain", "0s")
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
	down()
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
	up()
	testkit.Eventually(t, "the server is ready again", func() bool { s := stats(); return s.Ready && !s.UID.Low })
	if got := status(t, http.DefaultClient, "http://"+p.addr+"/v1/uid"); got != 200 {
		t.Errorf("afterwards: %d\n%s", got, p.text())
	}
	http.DefaultClient.CloseIdleConnections()
}
