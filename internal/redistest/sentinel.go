package redistest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ringuid/ringuid/internal/freeport"
)

// StartSentinel starts a Sentinel that knows a primary by a name, and returns its address. It is stopped at the end of the
// test.
func StartSentinel(tb testing.TB, name string, primary *Server) (address string) {
	tb.Helper()
	directory, err := os.MkdirTemp("", "ringuid-sentinel")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{tb: tb, program: primary.program, directory: directory}
	tb.Cleanup(func() {
		s.Kill()
		if tb.Failed() {
			tb.Logf("the Sentinel's log ends with:\n%s", s.Log())
		}
		os.RemoveAll(directory)
	})
	var failure error
	for range 5 { // another process may take the port before the Sentinel listens on it
		if s.port, err = freeport.One(); err != nil {
			tb.Fatal(err)
		}
		file := filepath.Join(directory, "sentinel.conf") // a Sentinel rewrites it
		text := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nlogfile %s\nsentinel monitor %s 127.0.0.1 %d 1\n", s.port, directory, filepath.Join(directory, "log"), name, primary.port)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
		if failure = s.run(file, "--sentinel"); failure == nil {
			return s.Address()
		}
	}
	tb.Fatalf("the Sentinel does not start: %v\n%s", failure, s.Log())
	return ""
}
