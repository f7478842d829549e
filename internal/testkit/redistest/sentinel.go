package redistest

import (
	"fmt"
	"os"
	"testing"
)

// StartSentinel starts a Sentinel that knows a primary by a name, and returns its address. It is ended at the end of the
// test.
func StartSentinel(tb testing.TB, name string, primary *Server) (address string) {
	tb.Helper()
	s := &Server{tb: tb}
	s.arguments = func() []string {
		file := s.Path("sentinel.conf") // a Sentinel rewrites it
		text := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nsentinel monitor %s 127.0.0.1 %d 1\n", s.Port(0), s.Directory(), name, primary.Port(0))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
		return []string{file, "--sentinel"}
	}
	s.startNew()
	return s.Address()
}
