// Package postgrestest starts private PostgreSQL servers for tests. A server has a temporary directory and
// a free port on the loopback interface, and is stopped and removed at the end of the test. Standby adds a
// standby by streaming replication, which can be promoted.
//
// PostgreSQL refuses to run as root. If the tests run as root, the servers run as the user postgres, which
// Debian's package creates, or as nobody.
//
// The package is a separate module, because its tests use drivers that the library itself must not depend
// on: they test workerassign.Disposable and workerassign.NewSlotTable on PostgreSQL.
package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringuid/ringuid/internal/freeport"
	"github.com/ringuid/ringuid/internal/testkit"
)

// DSNEnv is the name of an environment variable with the data source name of a server, as a URL. If it is
// set, Connect uses that server instead of starting one.
const DSNEnv = "RINGUID_POSTGRES_DSN"

// startTimeout bounds how long a server may take until it answers.
const startTimeout = 60 * time.Second

// Server is a PostgreSQL server. Its methods must not be called concurrently.
type Server struct {
	tb        testing.TB
	directory string
	port      int
	settings  []string      // name=value
	extra     []string      // further settings of the current process, see RestartWith
	exited    chan struct{} // closed when the current process has ended
	cmd       *exec.Cmd
	standbys  int // how many standbys were added
}

// Start starts a server, which is stopped at the end of the test. The settings have the form name=value and
// are appended to the package's settings. If PostgreSQL is not installed, or if -short is set, the test is
// skipped, unless all tests must run, see package testkit.
func Start(tb testing.TB, settings ...string) *Server {
	tb.Helper()
	testkit.Slow(tb, "it starts a server")
	s := newServer(tb, settings)
	if err := s.run("initdb", "--pgdata="+s.path("data"), "--username=postgres", "--auth=trust", "--no-sync",
		"--encoding=UTF8", "--locale=C"); err != nil {
		tb.Fatal(err)
	}
	s.startOnFreePort()
	return s
}

// newServer returns a server without data. It is stopped and removed at the end of the test.
func newServer(tb testing.TB, settings []string) *Server {
	tb.Helper()
	for _, name := range []string{"postgres", "initdb", "pg_basebackup"} {
		if _, err := findProgram(name); err != nil {
			testkit.Missing(tb, name, " was not found: install PostgreSQL's server (Debian's package postgresql), or run make test, which does")
		}
	}
	directory, err := os.MkdirTemp("", "ringuid-pg")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{tb: tb, directory: directory, settings: settings}
	tb.Cleanup(func() {
		s.Stop()
		if tb.Failed() {
			tb.Logf("the server's log ends with:\n%s", s.Log())
		}
		os.RemoveAll(directory)
	})
	if err := giveToAccount(directory); err != nil {
		tb.Fatal(err)
	}
	return s
}

// startOnFreePort starts the process. Another process may take the port before the server listens on it.
func (s *Server) startOnFreePort() {
	s.tb.Helper()
	var failure error
	for range 5 {
		var err error
		if s.port, err = freeport.One(); err != nil {
			s.tb.Fatal(err)
		}
		if failure = s.start(); failure == nil {
			return
		}
	}
	s.tb.Fatalf("the server does not start: %v\n%s", failure, s.Log())
}

// findProgram returns the path of a program of PostgreSQL. Debian does not install them in the PATH. The
// newest version is preferred.
func findProgram(name string) (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err == nil && len(found) > 0 {
		version := func(path string) int {
			n, _ := strconv.Atoi(strings.Split(path, "/")[4])
			return n
		}
		return slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) }), nil
	}
	return exec.LookPath(name)
}

// run runs a program of PostgreSQL with the server's account.
func (s *Server) run(name string, args ...string) error {
	path, err := findProgram(name)
	if err != nil {
		return err
	}
	cmd := exec.Command(path, args...)
	if err := s.prepare(cmd); err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}

// prepare sets account, directory and environment of a process. Its temporary files are in the server's
// directory, and no setting of the user applies.
func (s *Server) prepare(cmd *exec.Cmd) error {
	cmd.Dir = s.directory
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "PG") && !strings.HasPrefix(variable, "LC_") && !strings.HasPrefix(variable, "LANG") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env, "TMPDIR="+s.directory, "LC_ALL=C")
	return setAccount(cmd)
}

// path returns the path of a file in the server's directory.
func (s *Server) path(name string) string { return filepath.Join(s.directory, name) }

// start starts the process and waits until the server answers.
func (s *Server) start() error {
	program, err := findProgram("postgres")
	if err != nil {
		return err
	}
	args := []string{"-D", s.path("data"), "-p", strconv.Itoa(s.port)}
	for _, setting := range slices.Concat([]string{"listen_addresses=127.0.0.1", "unix_socket_directories=", "shared_buffers=16MB",
		"max_connections=300", "max_wal_senders=10", "logging_collector=off", "log_line_prefix=%m [%p] "}, s.settings, s.extra) {
		args = append(args, "-c", setting)
	}
	s.cmd = exec.Command(program, args...)
	if err := s.prepare(s.cmd); err != nil {
		return err
	}
	log, err := os.OpenFile(s.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd.Stdout, s.cmd.Stderr = log, log
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
	db, err := open(s.DSN("postgres", "", "postgres"))
	if err != nil {
		return false
	}
	defer db.Close()
	var directory string
	return db.GetContext(ctx, &directory, "SHOW data_directory") == nil && strings.HasPrefix(directory, s.directory)
}

// DSN returns the data source name for an account and a database, as a URL.
func (s *Server) DSN(user, password, database string) string {
	account := url.User(user)
	if password != "" {
		account = url.UserPassword(user, password)
	}
	u := url.URL{Scheme: "postgres", User: account, Host: s.Address(), Path: "/" + database, RawQuery: "sslmode=disable"}
	return u.String()
}

// Address returns the host and port of the server.
func (s *Server) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// PID returns the process ID of the server's main process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Directory returns the directory with all files of the server.
func (s *Server) Directory() string { return s.directory }

// Kill kills all processes of the server with SIGKILL, which has the same effect as a crash: nothing is
// written that was not written before.
func (s *Server) Kill() {
	killAll(s.cmd.Process)
	<-s.exited
}

// Pause stops all processes of the server with SIGSTOP, until Resume.
func (s *Server) Pause() {
	s.tb.Helper()
	if err := pauseAll(s.cmd.Process); err != nil {
		s.tb.Fatal(err)
	}
}

// Resume continues all processes of the server after Pause.
func (s *Server) Resume() { resumeAll(s.cmd.Process) }

// Stop shuts the server down. If that takes longer than 20 seconds, it kills the server.
func (s *Server) Stop() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	s.Resume()
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

// RestartWith is Restart with further settings, which apply until the next Restart. It tries for up to a
// minute, because a client connection of another process may use the port for a short time.
func (s *Server) RestartWith(settings ...string) {
	s.tb.Helper()
	s.extra = settings
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
	text, err := os.ReadFile(s.path("log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4_000):])
}
