package server

import (
	"bytes"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/testkit"
)

// Answers that max-requests does not limit must need little memory while their clients do not read them: no copy of the file, or of the
// metrics.
func TestMemoryOfUnlimitedAnswers(t *testing.T) {
	cfg, bearer := testTokens()
	s := start(t, cfg, Options{UIDs: newGenerator(t), Logger: slog.New(slog.DiscardHandler)})
	for _, path := range []string{"/openapi.json", "/assets/page.js", "/metrics"} {
		before, _ := heap()
		const n = 50
		requests := bytes.Repeat([]byte("GET "+path+" HTTP/1.1\r\nHost: localhost\r\nAuthorization: "+bearer("observe")+"\r\n\r\n"), 1000) // their answers are more than the buffers of the kernel hold
		conns := make([]net.Conn, n)
		for i := range conns {
			var err error
			if conns[i], err = net.Dial("tcp", s.addr); err != nil {
				t.Fatal(err)
			}
			defer conns[i].Close()
			conns[i].(*net.TCPConn).SetReadBuffer(4096)
			go conns[i].Write(requests) // not io.WriteString, which copies
		}
		var during uint64
		testkit.Eventually(t, "all answers wait for their clients", func() bool {
			before := s.httpState()
			time.Sleep(20 * time.Millisecond)
			during, _ = heap() // within the comparison, so that the garbage of requests is not counted
			return before.InFlight == n && s.httpState() == before
		})
		if during > before+n*30<<10 {
			t.Errorf("%s: an answer that is not read needs %d KiB", path, (during-before)/n/1024)
		}
		for _, c := range conns {
			c.Close()
		}
		testkit.Eventually(t, "all answers ended", func() bool { return s.inFlight.Load() == 0 })
	}
}
