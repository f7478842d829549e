package mariadbtest

import (
	"os"
	"regexp"
)

// recoveredPosition is a line of a node's log.
var recoveredPosition = regexp.MustCompile(`WSREP: Recovered position: ?(\S+:\d+)`)

// RestartRecovered is Restart for a node of a Galera cluster that was killed. As galera_recovery of Debian's service
// does, it first asks InnoDB for the position of the last write, so that the node receives only what it lacks. After
// Restart, it receives all data.
func (s *Server) RestartRecovered() {
	s.tb.Helper()
	before, err := os.ReadFile(s.Path("log"))
	if err != nil {
		s.tb.Fatal(err)
	}
	if err := s.Start("--wsrep-recover"); err == nil {
		s.tb.Fatal("a server with --wsrep-recover did not end")
	}
	text, err := os.ReadFile(s.Path("log"))
	if err != nil {
		s.tb.Fatal(err)
	}
	all := recoveredPosition.FindAllSubmatch(text[min(len(before), len(text)):], -1)
	if len(all) == 0 {
		s.tb.Fatalf("the node's log has no position:\n%s", s.Log())
	}
	s.RestartWith("--wsrep-start-position=" + string(all[len(all)-1][1]))
}
