// Package redistest starts private Redis servers for tests. A server has a temporary directory and a free
// port on the loopback interface, and is ended and removed at the end of the test. Replica adds an
// asynchronous replica, and Promote makes it a primary. The package requires no client library.
package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testkit/testserver"
)

// AddressEnv is the name of an environment variable with the address (host:port) of a server. If it is
// set, Address returns it instead of starting a server.
const AddressEnv = "RINGUID_REDIS_ADDR"

// Server is a Redis server. Its methods must not be called concurrently.
type Server struct {
	*testserver.Process
	tb        testing.TB
	flags     []string
	arguments func() []string
}

// Address returns the address of the server that AddressEnv names, or of one that it starts.
func Address(tb testing.TB) string {
	tb.Helper()
	if address := os.Getenv(AddressEnv); address != "" {
		return address
	}
	return Start(tb).Address()
}

// Start starts a server, which is stopped at the end of the test. It keeps its data in an append-only file
// that is synchronized each second; the flags come after the package's and override them. If the server
// is not installed, or if -short is set, the test is skipped, unless all tests must run, see package
// testkit.
func Start(tb testing.TB, flags ...string) *Server {
	tb.Helper()
	s := &Server{tb: tb, flags: flags}
	s.arguments = func() []string {
		return append([]string{
			"--port", strconv.Itoa(s.Port(0)), "--bind", "127.0.0.1", "--dir", s.Directory(),
			"--daemonize", "no", "--save", "", "--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction",
			"--enable-debug-command", "local", "--repl-diskless-sync-delay", "0", "--repl-timeout", "10", "--repl-ping-replica-period", "3",
		}, flags...)
	}
	s.startNew()
	return s
}

// startNew starts a server with its arguments.
func (s *Server) startNew() {
	s.tb.Helper()
	testserver.Require(s.tb, "Redis (Debian's package redis-server)", "redis-server")
	program, err := testserver.FindProgram("redis-server")
	if err != nil {
		s.tb.Fatal(err)
	}
	s.Process = testserver.New(s.tb, testserver.Kind{
		Command: func() *exec.Cmd { return exec.Command(program, s.arguments()...) },
		Ping:    s.ping,
		Ports:   1,
		// Redis ignores a request to shut down while it writes its first append-only file after a synchronization with a primary.
		Terminate: syscall.SIGTERM, Repeat: true,
	})
	s.StartNew()
}

// ping returns nil if this server answers, and not another one on its port, and has loaded its data.
func (s *Server) ping(ctx context.Context) error {
	info, err := s.command(ctx, "INFO")
	if err == nil && (field(info, "process_id") != strconv.Itoa(s.PID()) || field(info, "loading") == "1") {
		err = errors.New("another server has the port, or the server loads its data")
	}
	return err
}

// field returns a field of the reply to INFO.
func field(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return value
		}
	}
	return ""
}

// Info returns a field of the reply to INFO, such as "run_id".
func (s *Server) Info(name string) string {
	s.tb.Helper()
	return field(s.MustCommand("INFO"), name)
}

// Replica starts a server that replicates s asynchronously, and waits until it has all data of s. Its flags
// are those of s, followed by the given ones.
func (s *Server) Replica(flags ...string) *Server {
	s.tb.Helper()
	r := Start(s.tb, append(append([]string(nil), s.flags...), flags...)...)
	r.Follow(s.Address())
	r.WaitSynced(s)
	return r
}

// Follow makes the server s a replica of the server at an address, and does not wait for it.
func (s *Server) Follow(address string) {
	s.tb.Helper()
	host, port, _ := strings.Cut(address, ":")
	s.MustCommand("REPLICAOF", host, port)
}

// WaitSynced waits until the replica s has received everything that the primary has written up to now, and then one more command:
// the primary calls a new replica online up to a second before it sends it anything.
func (s *Server) WaitSynced(primary *Server) {
	s.tb.Helper()
	s.waitOnline(primary)
	primary.MustCommand("DEBUG", "REPLICATE", "replica", "PING")
	s.waitOnline(primary)
}

// waitOnline waits until the replica s has received everything that the primary has written up to now, and the primary calls it online.
func (s *Server) waitOnline(primary *Server) {
	s.tb.Helper()
	offset := func(info string) int64 {
		n, _ := strconv.ParseInt(field(info, "master_repl_offset"), 10, 64)
		return n
	}
	want := offset(primary.MustCommand("INFO", "replication"))
	_, port, _ := net.SplitHostPort(s.Address())
	if _, announced, _ := strings.Cut(s.MustCommand("CONFIG", "GET", "replica-announce-port"), "\n"); strings.TrimSpace(announced) != "0" {
		port = strings.TrimSpace(announced)
	}
	testkit.Retry(s.tb, "the replica receives everything, and is online", func() error {
		info, attached := s.MustCommand("INFO", "replication"), primary.MustCommand("INFO", "replication")
		if field(info, "master_link_status") == "up" && offset(info) >= want && strings.Contains(attached, ",port="+port+",state=online,") {
			return nil
		}
		return fmt.Errorf("it must have received everything up to %d:\n%s\nand be online:\n%s", want, info, attached)
	})
}

// Disconnect makes the replica s lose its primary, as if the network between them was interrupted: what the
// primary writes from now on does not arrive. The replica keeps its data.
func (s *Server) Disconnect() {
	s.tb.Helper()
	s.MustCommand("REPLICAOF", "127.0.0.1", "1") // nobody listens on port 1
}

// Promote makes the replica s a primary.
func (s *Server) Promote() {
	s.tb.Helper()
	s.MustCommand("REPLICAOF", "NO", "ONE")
}

// DocumentedRights returns the rights of a user of its own, as the documentation of package redisstore, a file, lists them.
func DocumentedRights(tb testing.TB, file string) []string {
	tb.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	_, rights, _ := strings.Cut(string(text), "ACL SETUSER ringuid on >password ")
	rights, _, ok := strings.Cut(rights, "A client of Redis Cluster")
	if !ok {
		tb.Fatalf("%s has no rights", file)
	}
	return strings.Fields(strings.ReplaceAll(rights, "//", ""))
}
