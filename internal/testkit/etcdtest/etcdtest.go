// Package etcdtest starts private etcd servers for tests. A server has a temporary directory and free
// ports on the loopback interface, and is killed and removed at the end of the test.
package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringuid/ringuid/internal/testkit/testserver"
)

// EndpointsEnv is the name of an environment variable with the endpoints of a cluster, separated by
// commas. If it is set, Endpoints returns those instead of starting a server.
const EndpointsEnv = "RINGUID_ETCD_ENDPOINTS"

// Server is an etcd server. Its methods must not be called concurrently.
type Server struct {
	*testserver.Process
	tb      testing.TB
	name    string // different for each server
	cluster string // all members with their peer URLs
	data    string // the name of the data directory
	flags   []string
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
	testserver.Require(tb, "etcd (Debian's packages etcd-server and etcd-client)", "etcd", "etcdctl")
	var servers []*Server
	var processes []*testserver.Process
	for range n {
		s := &Server{tb: tb, data: "data", flags: flags}
		s.Process = testserver.New(tb, testserver.Kind{Command: s.command, Ping: s.ping, Ports: 2})
		s.name = filepath.Base(s.Directory())
		servers, processes = append(servers, s), append(processes, s.Process)
	}
	testserver.StartOnFreePorts(tb, func() error {
		var members []string
		for _, s := range servers {
			members = append(members, s.name+"="+s.peerURL())
		}
		for _, s := range servers {
			s.cluster = strings.Join(members, ",")
			if err := errors.Join(os.RemoveAll(s.Path(s.data)), s.Launch()); err != nil {
				return err
			}
		}
		for _, s := range servers {
			if err := s.Wait(); err != nil {
				return err
			}
		}
		return nil
	}, processes...)
	return servers
}

// Endpoint returns the address of the server for clients.
func (s *Server) Endpoint() string { return s.Address() }

func (s *Server) peerURL() string { return "http://" + s.AddressOf(1) }

func (s *Server) command() *exec.Cmd {
	args := []string{"--name=" + s.name, "--data-dir=" + s.Path(s.data),
		"--listen-client-urls=http://" + s.Endpoint(), "--advertise-client-urls=http://" + s.Endpoint(),
		"--listen-peer-urls=" + s.peerURL(), "--initial-advertise-peer-urls=" + s.peerURL(),
		"--initial-cluster=" + s.cluster, "--initial-cluster-token=ringuid",
		"--heartbeat-interval=50", "--election-timeout=500", "--logger=zap", "--log-level=warn"}
	return exec.Command("etcd", append(args, s.flags...)...)
}

// ping returns nil if this server, and not another one on its port, is healthy: there is a leader, and a read has succeeded.
func (s *Server) ping(ctx context.Context) error {
	if _, err := s.request(ctx, http.MethodGet, "/health"); err != nil {
		return err
	}
	members, err := s.request(ctx, http.MethodPost, "/v3/cluster/member/list")
	if err == nil && !strings.Contains(members, `"`+s.name+`"`) {
		err = fmt.Errorf("another server has the port: %s", members)
	}
	return err
}

// request sends an HTTP request with an empty JSON object, and returns the response.
func (s *Server) request(ctx context.Context, method, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+s.Endpoint()+path, strings.NewReader("{}"))
	if err != nil {
		return "", err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, body)
	}
	return string(body), err
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
	if err := s.Run("env", append([]string{"ETCDCTL_API=3", "etcdctl"}, args...)...); err != nil {
		s.tb.Fatal(err)
	}
}
