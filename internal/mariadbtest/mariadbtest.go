// Package mariadbtest starts private MariaDB servers for tests. A server has a temporary directory and a
// free port on the loopback interface, and is stopped and removed at the end of the test. Replica adds
// an asynchronous replica. StartGalera starts a cluster. StartMySQL56 is like Start, for Oracle's MySQL
// 5.6.
package mariadbtest

import (
	"context"
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

	"github.com/go-sql-driver/mysql"

	"github.com/ringuid/ringuid/internal/freeport"
	"github.com/ringuid/ringuid/internal/testkit"
)

// DSNEnv is the name of an environment variable with the data source name of a server. If it is set,
// Connect uses that server instead of starting one.
const DSNEnv = "RINGUID_TEST_DSN"

// startTimeout bounds how long a server may take until it answers.
const startTimeout = 60 * time.Second

// Server is a MariaDB or MySQL server. Its methods must not be called concurrently.
type Server struct {
	tb         testing.TB
	kind       serverKind
	directory  string
	port       int
	account    []string // the flag with the account to run as, if one is required
	flags      []string
	extraFlags []string      // further flags of the current process, see RestartWith
	exited     chan struct{} // closed when the current process has ended
	cmd        *exec.Cmd
}

// serverKind is what differs between MariaDB and MySQL.
type serverKind struct {
	program string              // the path of the server program
	flags   []string            // required flags, which come before all other flags
	env     []string            // required environment variables
	install func(*Server) error // creates the system tables in the directory data
}

// Start starts a server, which is stopped at the end of the test. The flags are appended to the
// package's flags. If the server is not installed, or if -short is set, the test is skipped, unless all
// tests must run, see package testkit.
func Start(tb testing.TB, flags ...string) *Server {
	tb.Helper()
	testkit.Slow(tb, "it starts a server")
	for _, name := range []string{"mariadbd", "mariadb-install-db"} {
		if _, err := findProgram(name); err != nil {
			testkit.Missing(tb, name, " was not found: install MariaDB's server (Debian's package mariadb-server), or run make test, which does")
		}
	}
	program, err := findProgram("mariadbd")
	if err != nil {
		tb.Fatal(err)
	}
	return start(tb, serverKind{program: program, install: newMariaDBData}, flags)
}

// start starts a server of the given kind, which is stopped at the end of the test.
func start(tb testing.TB, k serverKind, flags []string) *Server {
	tb.Helper()
	// This is not the test's own temporary directory, whose name can be too long for a socket.
	directory, err := os.MkdirTemp("", "ringuid-db")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{tb: tb, kind: k, directory: directory, account: rootUserFlag(), flags: flags}
	tb.Cleanup(func() {
		s.Stop()
		if tb.Failed() {
			tb.Logf("the server's log ends with:\n%s", s.Log())
		}
		os.RemoveAll(directory)
	})
	if err := k.install(s); err != nil {
		tb.Fatal(err)
	}
	var failure error
	for range 5 { // another process may take the port before the server listens on it
		var err error
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

// environ returns the environment of the server's processes. Their temporary files are in the server's
// directory.
func (s *Server) environ() []string {
	tmp := s.path("tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		s.tb.Fatal(err)
	}
	return append(append(os.Environ(), "TMPDIR="+tmp), s.kind.env...)
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

// rootUserFlag returns the flag that MariaDB requires to run as root.
func rootUserFlag() []string {
	if os.Geteuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}

// path returns the path of a file in the server's directory.
func (s *Server) path(name string) string { return filepath.Join(s.directory, name) }

// start starts the process and waits until the server answers.
func (s *Server) start() error {
	args := append([]string{"--no-defaults"}, s.account...)
	args = append(args, s.kind.flags...)
	args = append(args,
		"--datadir="+s.path("data"), "--socket="+s.path("sock"), "--pid-file="+s.path("pid"), "--log-error="+s.path("log.err"),
		"--bind-address=127.0.0.1", "--port="+strconv.Itoa(s.port), "--skip-name-resolve",
		"--innodb-buffer-pool-size=16M", logFileSize, "--performance-schema=OFF", "--max-connections=300")
	args = append(args, s.flags...)
	s.cmd = exec.Command(s.kind.program, append(args, s.extraFlags...)...)
	s.cmd.Env = s.environ()
	s.exited = make(chan struct{})
	if err := startProcess(s.cmd, s.exited); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		select {
		case <-s.exited:
			return errors.New("the process ended")
		case <-ctx.Done():
			s.Kill()
			return fmt.Errorf("no answer after %v", startTimeout)
		case <-time.After(20 * time.Millisecond):
		}
		if s.ping(ctx) {
			return nil
		}
	}
}

// ping reports whether this server answers, and not another one on its port.
func (s *Server) ping(ctx context.Context) bool {
	db, err := open(s.DSN("root", "", ""))
	if err != nil {
		return false
	}
	defer db.Close()
	var directory string
	return db.GetContext(ctx, &directory, "SELECT @@datadir") == nil && strings.HasPrefix(directory, s.directory)
}

// DSN returns the data source name of go-sql-driver/mysql for an account and a database.
func (s *Server) DSN(user, password, database string) string {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.DBName = user, password, database
	cfg.Net, cfg.Addr = "tcp", s.Address()
	return cfg.FormatDSN()
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

// Stop shuts the server down. If that takes longer than 20 seconds, it kills the server.
func (s *Server) Stop() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	terminate(s.cmd.Process)
	select {
	case <-s.exited:
	case <-time.After(20 * time.Second):
		s.Kill()
	}
}

// Restart starts the server again after Kill or Stop, with the same data and the same port.
func (s *Server) Restart() {
	s.tb.Helper()
	s.RestartWith()
}

// RestartWith is Restart with further flags, which apply until the next Restart. It tries for up to a
// minute, because a client connection of another process may use the port for a short time.
func (s *Server) RestartWith(flags ...string) {
	s.tb.Helper()
	s.extraFlags = flags
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(200 * time.Millisecond) {
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
	text, err := os.ReadFile(s.path("log.err")) // MySQL appends .err to names without it
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4_000):])
}
