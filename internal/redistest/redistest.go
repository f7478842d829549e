// Package redistest starts private Redis servers for tests. A server has a temporary directory and a free
// port on the loopback interface, and is stopped and removed at the end of the test. Replica adds an
// asynchronous replica, and Promote makes it a primary. The package requires no client library.
package redistest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/freeport"
	"github.com/ringuid/ringuid/internal/testkit"
)

// AddressEnv is the name of an environment variable with the address (host:port) of a server. If it is
// set, Address returns it instead of starting a server.
const AddressEnv = "RINGUID_REDIS_ADDR"

// startTimeout bounds how long a server may take until it answers.
const startTimeout = 30 * time.Second

// Server is a Redis server. Its methods must not be called concurrently.
type Server struct {
	tb        testing.TB
	program   string
	directory string
	port      int
	flags     []string
	newEnv    func(directory string) []string // returns further environment variables; may be nil
	env       []string                        // the result of newEnv
	exited    chan struct{}                   // closed when the current process has ended
	cmd       *exec.Cmd
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
	return start(tb, nil, flags)
}

// start starts a server. newEnv, if not nil, returns further environment variables.
func start(tb testing.TB, newEnv func(directory string) []string, flags []string) *Server {
	tb.Helper()
	testkit.Slow(tb, "it starts a server")
	program, err := findProgram("redis-server")
	if err != nil {
		testkit.Missing(tb, "redis-server was not found: install Redis (Debian's package redis-server), or run make test, which does")
	}
	directory, err := os.MkdirTemp("", "ringuid-redis")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{tb: tb, program: program, directory: directory, newEnv: newEnv, flags: flags}
	tb.Cleanup(func() {
		s.Stop()
		if tb.Failed() {
			tb.Logf("the server's log ends with:\n%s", s.Log())
		}
		os.RemoveAll(directory)
	})
	if newEnv != nil {
		s.env = newEnv(directory)
	}
	var failure error
	for range 5 { // another process may take the port before the server listens on it
		if s.port, err = freeport.One(); err != nil {
			tb.Fatal(err)
		}
		if failure = s.start(); failure == nil {
			return s
		}
	}
	tb.Fatalf("the server does not start: %v\n%s", failure, s.Log())
	return nil
}

// findProgram returns the path of a program. It also searches directories that are usually not in the
// PATH of users other than root.
func findProgram(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, directory := range []string{"/usr/sbin", "/usr/local/sbin", "/usr/local/bin"} {
		if path, err := exec.LookPath(filepath.Join(directory, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: %w", name, exec.ErrNotFound)
}

// start starts the process and waits until the server answers and has loaded its data.
func (s *Server) start() error {
	return s.run(append([]string{
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.directory, "--logfile", filepath.Join(s.directory, "log"),
		"--daemonize", "no", "--save", "", "--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction",
		"--enable-debug-command", "local", "--repl-diskless-sync-delay", "0", "--repl-timeout", "10",
	}, s.flags...)...)
}

// run starts the process with arguments, and waits until it answers and has loaded its data.
func (s *Server) run(args ...string) error {
	s.cmd = exec.Command(s.program, args...)
	s.cmd.Env = append(os.Environ(), s.env...)
	s.exited = make(chan struct{})
	if err := startProcess(s.cmd, s.exited); err != nil {
		return err
	}
	for deadline := time.Now().Add(startTimeout); ; {
		select {
		case <-s.exited:
			return errors.New("the process ended")
		case <-time.After(5 * time.Millisecond):
		}
		// Another server may have taken the port.
		if info, err := s.Command("INFO"); err == nil && field(info, "process_id") == strconv.Itoa(s.PID()) && field(info, "loading") != "1" {
			return nil
		}
		if time.Now().After(deadline) {
			s.Kill()
			return fmt.Errorf("no answer after %v", startTimeout)
		}
	}
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
	r := start(s.tb, s.newEnv, append(append([]string(nil), s.flags...), flags...))
	r.MustCommand("REPLICAOF", "127.0.0.1", strconv.Itoa(s.port))
	r.WaitSynced(s)
	return r
}

// WaitSynced waits until the replica s has received everything that the primary has written up to now.
func (s *Server) WaitSynced(primary *Server) {
	s.tb.Helper()
	offset := func(info string) int64 {
		n, _ := strconv.ParseInt(field(info, "master_repl_offset"), 10, 64)
		return n
	}
	want := offset(primary.MustCommand("INFO", "replication"))
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(5 * time.Millisecond) {
		info := s.MustCommand("INFO", "replication")
		if field(info, "master_link_status") == "up" && offset(info) >= want {
			return
		}
		if time.Now().After(deadline) {
			s.tb.Fatalf("the replica has not received everything up to %d:\n%s", want, info)
		}
	}
}

// Disconnect makes the replica s lose its primary, as if the network between them was interrupted: what the
// primary writes from now on does not arrive. The replica keeps its data.
func (s *Server) Disconnect() {
	s.tb.Helper()
	port, err := freeport.One() // nobody listens there
	if err != nil {
		s.tb.Fatal(err)
	}
	s.MustCommand("REPLICAOF", "127.0.0.1", strconv.Itoa(port))
}

// Promote makes the replica s a primary.
func (s *Server) Promote() {
	s.tb.Helper()
	s.MustCommand("REPLICAOF", "NO", "ONE")
}

// Address returns the host and port of the server.
func (s *Server) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// PID returns the process ID of the server.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Directory returns the directory with all files of the server.
func (s *Server) Directory() string { return s.directory }

// Kill kills the server with SIGKILL, which has the same effect as a crash of the process.
func (s *Server) Kill() {
	s.cmd.Process.Kill()
	<-s.exited
}

// Pause stops the process of the server, so that it does not answer until Resume. It fails the test on
// systems other than Linux.
func (s *Server) Pause() {
	s.tb.Helper()
	if err := pause(s.cmd.Process); err != nil {
		s.tb.Fatal(err)
	}
}

// Resume continues the process of the server after Pause.
func (s *Server) Resume() {
	s.tb.Helper()
	if err := resume(s.cmd.Process); err != nil {
		s.tb.Fatal(err)
	}
}

// Stop shuts the server down. If that takes longer than 20 seconds, it kills the server.
func (s *Server) Stop() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	deadline := time.After(20 * time.Second)
	for {
		// Redis ignores a request to shut down while it writes its first append-only file after a
		// synchronization with a primary.
		terminate(s.cmd.Process)
		resume(s.cmd.Process) // a paused process does not shut down
		select {
		case <-s.exited:
			return
		case <-deadline:
			s.Kill()
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Restart starts the server again after Kill or Stop, with the same data, port and flags. It tries for up
// to a minute, because a client connection of another process may use the port for a short time.
func (s *Server) Restart() {
	s.tb.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		err := s.start()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			s.tb.Fatalf("the server does not restart: %v\n%s", err, s.Log())
		}
	}
}

// Log returns the end of the server's log.
func (s *Server) Log() string {
	text, err := os.ReadFile(filepath.Join(s.directory, "log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4_000):])
}
