// Package etcdtest starts private etcd servers for tests. A server has a temporary directory and free
// ports on the loopback interface, and is killed and removed at the end of the test.
package etcdtest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit"
	"github.com/ringuid/ringuid/internal/testserver"
)

// EndpointsEnv is the name of an environment variable with the endpoints of a cluster, separated by
// commas. If it is set, Endpoints returns those instead of starting a server.
const EndpointsEnv = "RINGUID_ETCD_ENDPOINTS"

// Server is an etcd server. Its methods must not be called concurrently.
type Server struct {
	*testserver.Process
	tb                   testing.TB
	name                 string
	clientPort, peerPort int
	cluster              string // all members with their peer URLs
	data                 string // the name of the data directory
	flags                []string
}

// Endpoints returns the endpoints of EndpointsEnv, or of a new server.
func Endpoints(tb testing.TB) []string {
	tb.Helper()
	if list := os.Getenv(EndpointsEnv); list != "" {
		return strings.Split(list, ",")
	}
	return []string{Start(tb).Endpoint()}
}

// Start starts a cluster of one server. If etcd is not installed, or if -short is set, the test is
// skipped, unless all tests must run, see package testkit.
func Start(tb testing.TB, flags ...string) *Server {
	tb.Helper()
	return StartCluster(tb, 1, flags...)[0]
}

// StartCluster starts a cluster of n servers.
func StartCluster(tb testing.TB, n int, flags ...string) []*Server {
	tb.Helper()
	testkit.Slow(tb, "it starts a server")
	for _, name := range []string{"etcd", "etcdctl"} {
		if _, err := exec.LookPath(name); err != nil {
			testkit.Missing(tb, name, " was not found: install etcd (Debian's packages etcd-server and etcd-client), or run make test, which does")
		}
	}
	var servers []*Server
	var members []string
	for i := range n {
		s := &Server{tb: tb, name: fmt.Sprintf("n%d", i), clientPort: testserver.FreePort(tb), peerPort: testserver.FreePort(tb), data: "data", flags: flags}
		s.Process = testserver.New(tb, s.command, s.ping)
		members = append(members, s.name+"="+s.peerURL())
		servers = append(servers, s)
	}
	for _, s := range servers {
		s.cluster = strings.Join(members, ",")
		if err := s.Launch(); err != nil {
			tb.Fatal(err)
		}
	}
	for _, s := range servers {
		if err := s.Wait(); err != nil {
			tb.Fatalf("etcd does not start: %v\n%s", err, s.Log())
		}
	}
	return servers
}

// Endpoint returns the address of the server for clients.
func (s *Server) Endpoint() string { return testserver.Address(s.clientPort) }

func (s *Server) peerURL() string { return "http://" + testserver.Address(s.peerPort) }

func (s *Server) command() *exec.Cmd {
	args := []string{"--name=" + s.name, "--data-dir=" + s.Path(s.data),
		"--listen-client-urls=http://" + s.Endpoint(), "--advertise-client-urls=http://" + s.Endpoint(),
		"--listen-peer-urls=" + s.peerURL(), "--initial-advertise-peer-urls=" + s.peerURL(),
		"--initial-cluster=" + s.cluster, "--initial-cluster-token=ringuid",
		"--heartbeat-interval=50", "--election-timeout=500", "--logger=zap", "--log-level=warn"}
	cmd := exec.Command("etcd", append(args, s.flags...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+s.Directory)
	return cmd
}

// ping returns nil if the server is healthy: there is a leader, and a read has succeeded.
func (s *Server) ping(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Endpoint()+"/health", nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET /health: %s", resp.Status)
	}
	return nil
}

// Snapshot saves a snapshot of the server and returns the path of its file.
func (s *Server) Snapshot() string {
	s.tb.Helper()
	file := s.Path("snapshot-" + fmt.Sprint(len(s.data)))
	s.ctl("--endpoints="+s.Endpoint(), "snapshot", "save", file)
	return file
}

// Restore kills the server and starts it again with a snapshot's data. The cluster ID is a hash of the peer
// URLs and the token. So it is as before if the token is "ringuid".
func (s *Server) Restore(snapshot, token string) {
	s.tb.Helper()
	s.Kill()
	s.data += "x"
	s.ctl("snapshot", "restore", snapshot, "--name="+s.name, "--data-dir="+s.Path(s.data),
		"--initial-cluster="+s.cluster, "--initial-advertise-peer-urls="+s.peerURL(), "--initial-cluster-token="+token)
	s.Restart()
}

// ctl runs etcdctl.
func (s *Server) ctl(args ...string) {
	s.tb.Helper()
	cmd := exec.Command("etcdctl", args...)
	cmd.Env = append(os.Environ(), "ETCDCTL_API=3")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.tb.Fatalf("etcdctl %q: %v\n%s", args, err, out)
	}
}
